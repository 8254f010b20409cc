"""What a backend is: it takes a request and gives a reply.

Backends that go over a network send messages, tools, schema, model and sampling only. The question's name, key and
variables are for the offline author, and for bookkeeping.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, Protocol

from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message, ToolCall
from skillweave.thoughts import join_thoughts, split_thoughts

Stop = Literal["stop", "length", "tool_calls", "content_filter", "context_window"]
"""Why a reply ended: the model was done, met the token limit, calls tools, was filtered, or the prompt is too long."""


REASONING_FIELD = "reasoning_field"
"""The field of a recorded message that says in which field its reasoning came."""


@dataclass(frozen=True)
class Sampling:
    """How a model samples; None leaves a setting to the provider."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None

    def settings(self) -> dict[str, float | int]:
        """The settings that are not None, by name."""
        return {name: value for name, value in sorted(vars(self).items()) if value is not None}

    def or_else(self, other: "Sampling") -> "Sampling":
        """A copy in which `other` fills the settings that are None."""
        return Sampling(
            self.temperature if self.temperature is not None else other.temperature,
            self.top_p if self.top_p is not None else other.top_p,
            self.max_tokens if self.max_tokens is not None else other.max_tokens,
            self.seed if self.seed is not None else other.seed,
        )


@dataclass
class WireCount:
    """How often a request was sent, and what came of it."""

    sent: int = 0
    """HTTP requests that reached the endpoint, as far as is known."""
    declined: int = 0
    """Those of them that were answered by an error status."""


WIRE_COUNT: ContextVar[WireCount | None] = ContextVar("wire_count", default=None)
"""Where the transport counts what it sends for the current task."""
DEADLINE: ContextVar[asyncio.Timeout | None] = ContextVar("deadline", default=None)
"""The limit on the time of the current exchange; waiting for the endpoint's limiter does not count."""


class UsageSink(Protocol):
    """Where the backends enter what a request took. `skillweave.llm.ledger.Ledger` is one."""

    def record(self, request: "Request", author: str, **amounts: float) -> None:
        """Add amounts, named as in `QuestionMetrics`, to the figures of the request's question and this author."""
        ...


@dataclass(frozen=True)
class Request:
    """What is sent to an author, and what it is about."""

    messages: tuple[Message, ...]
    schema: Mapping[str, Json] | None = None
    """JSON schema of the answer; None if the answer is not JSON."""
    model: str = ""
    sampling: Sampling = Sampling()
    question: str = ""
    key: str = ""
    """The item that the question is about."""
    variables: Mapping[str, object] = field(default_factory=dict)
    """What the prompt was rendered from."""
    attempt: int = 0
    """0 for the first answer, one more for each repair."""
    tools: tuple[Mapping[str, Json], ...] = ()
    """Tool definitions in OpenAI's form."""
    tool_choice: Literal["auto", "required", "none"] = "auto"
    step: str = ""
    """The step of the pipeline that asks."""
    round: int = 0
    """How often the item was rejected and asked about again. An answer of one round never serves in another."""
    ledger: UsageSink | None = field(default=None, compare=False)
    """Where the cost of the request is entered; None leaves it to the backend's own ledger."""

    def conversation_digest(self) -> str:
        """SHA-256 of the words, the item and the attempt, whichever model they are for."""
        return _digest(self._conversation())

    def digest(self) -> str:
        """SHA-256 of all that decides the answer: equal only if one answer may stand for the other."""
        return _digest([self._conversation(), self.model, {**self.sampling.settings()}])

    def _conversation(self) -> Json:
        messages: list[Json] = [message.model_dump(mode="json", exclude_none=True) for message in self.messages]
        schema = None if self.schema is None else dict(self.schema)
        tools: list[Json] = [dict(tool) for tool in self.tools]
        parts: list[Json] = [messages, schema, tools, self.tool_choice, self.key, self.attempt]
        return [*parts, self.round] if self.round else parts


@dataclass(frozen=True)
class Tokens:
    """Tokens as they were sampled, so that training need not tokenise again; empty where an endpoint gives none."""

    token_ids: tuple[int, ...] = ()
    prompt_token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    """One for each sampled token."""


@dataclass(frozen=True)
class Reply:
    """What an author answered, and what it took.

    Every reply becomes one of these, so here a model's thoughts are told from its words.
    """

    text: str
    """The words; thoughts in the given text go to `reasoning`. Empty with tool calls alone, and in replies that are
    refused, withheld, empty or all thought."""
    input_tokens: int = 0
    """All tokens of the prompt, those included that the provider read from its cache or wrote to it."""
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    """Reasoning included."""
    model: str = ""
    """The model that answered, as the endpoint names it."""
    stop: Stop = "stop"
    """`content_filter` if the endpoint withheld the answer, or its model refused."""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    cost_usd: float | None = None
    """None if no price is known."""
    cached: bool = False
    """Whether it comes from the reply cache."""
    refusal: str | None = None
    """The words in which the model refused."""
    withheld: str | None = None
    """The endpoint's words, where it refused to have the content answered."""
    tokens: Tokens | None = None
    """None if they were not asked for."""
    blocks: tuple[Mapping[str, Json], ...] = ()
    """Reasoning in the provider's own signed form. A message carries it as `thinking_blocks`, to be sent back as is."""
    written: str | None = None
    """The text as the model wrote it, where thoughts stood in it: for models that are sent their earlier reasoning."""
    field_reasoning: str | None = None
    """What came in that field alone, where thoughts in the text were joined to it: it has to go back exactly."""
    reasoning_field: str = ""
    """The field in which the endpoint sent the reasoning, and wants it back; empty if it came otherwise."""
    fields: Mapping[str, Json] = field(default_factory=dict)
    """Further fields of the message that the endpoint wants back as they are. A message carries them, too."""

    def __post_init__(self) -> None:
        written: object = self.text
        if not isinstance(written, str):
            return  # a user's own backend made it; whoever takes the reply says what is wrong
        thoughts, words = split_thoughts(self.text)
        if words != self.text:
            given = self.text
            object.__setattr__(self, "text", words)
            if self.reasoning_field:
                object.__setattr__(self, "field_reasoning", self.reasoning)
            object.__setattr__(self, "reasoning", join_thoughts(self.reasoning, thoughts))
            object.__setattr__(self, "written", given)


class Backend(Protocol):
    """Whoever answers requests: an endpoint, a cassette, a Python function, or a wrapper around another backend."""

    @property
    def name(self) -> str:
        """`provider/model`."""
        ...

    async def complete(self, request: Request) -> Reply:
        """Answer a request.

        Returns:
            The reply. A refusal and an empty answer are replies, too.

        Raises:
            ProviderError: Transport failed.
            AuthorError: An author in this process knows no answer.
        """
        ...

    async def close(self) -> None:
        """Release connections and files. A closed backend is not used again."""
        ...


class BackendWrapper:
    """The base of backends around a backend: it has the inner one's name, and is closed with it."""

    def __init__(self, inner: Backend) -> None:
        self.name = inner.name
        self._inner = inner

    async def close(self) -> None:
        await self._inner.close()


OfflineAnswer = Callable[[Request], str | Reply]
"""An author as a function: it gives the text of its answer, or a whole reply if it calls tools."""


class OfflineBackend:
    """An author in this process: a function that answers in the same text that a model would."""

    def __init__(self, answer: OfflineAnswer, model: str = "author") -> None:
        self.name = f"offline/{model}"
        self._answer = answer
        self._model = model

    async def complete(self, request: Request) -> Reply:
        answer = self._answer(request)
        return answer if isinstance(answer, Reply) else Reply(text=answer, model=self._model)

    async def close(self) -> None:
        """There is nothing to release."""


def _digest(value: Json) -> str:
    # Escaped, since a reply may hold lone surrogates, which have no UTF-8 form.
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
