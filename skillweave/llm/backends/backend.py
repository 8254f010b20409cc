"""What a backend is: it takes a request and gives a reply.

Backends that go over a network send messages, tools, schema, model and sampling only. The question's name, key and
variables are for the offline author, and for bookkeeping.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message, ToolCall

if TYPE_CHECKING:
    from skillweave.llm.ledger import Ledger

Stop = Literal["stop", "length", "tool_calls", "content_filter", "context_window"]


@dataclass(frozen=True)
class Sampling:
    """None leaves the choice to the provider."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None

    def given(self) -> dict[str, float | int]:
        """The settings that are set, by name."""
        return {name: value for name, value in sorted(vars(self).items()) if value is not None}

    def or_else(self, other: "Sampling") -> "Sampling":
        """This, with what it leaves open taken from `other`."""
        return Sampling(
            self.temperature if self.temperature is not None else other.temperature,
            self.top_p if self.top_p is not None else other.top_p,
            self.max_tokens if self.max_tokens is not None else other.max_tokens,
            self.seed if self.seed is not None else other.seed,
        )


@dataclass(frozen=True)
class Request:
    messages: tuple[Message, ...]
    schema: Mapping[str, Json] | None = None
    """JSON schema of the answer; None where the answer is not JSON."""
    model: str = ""
    sampling: Sampling = Sampling()
    question: str = ""
    key: str = ""
    """The item that the question is about."""
    variables: Mapping[str, object] = field(default_factory=dict)
    """What the prompt was rendered from."""
    attempt: int = 0
    """0 for the first answer, then one more for each repair."""
    tools: tuple[Mapping[str, Json], ...] = ()
    """OpenAI tool definitions."""
    tool_choice: Literal["auto", "required", "none"] = "auto"
    step: str = ""
    """The step of the pipeline that asks."""
    round: int = 0
    """How often the item was rejected and asked about anew; what was answered in one round is no answer in another."""
    ledger: "Ledger | None" = field(default=None, compare=False)
    """Where it is entered what the request came to; None leaves it to the backend's own."""

    def conversation_digest(self) -> str:
        """Equal for equal words of the same item and attempt, whichever model they are for."""
        return _digest(self._conversation())

    def digest(self) -> str:
        """Equal only where the answer of one may stand for the answer of the other."""
        return _digest([self._conversation(), self.model, {**self.sampling.given()}])

    def _conversation(self) -> Json:
        messages: list[Json] = [message.model_dump(mode="json", exclude_none=True) for message in self.messages]
        schema = None if self.schema is None else dict(self.schema)
        tools: list[Json] = [dict(tool) for tool in self.tools]
        asked: list[Json] = [messages, schema, tools, self.tool_choice, self.key, self.attempt]
        return [*asked, self.round] if self.round else asked


@dataclass(frozen=True)
class Tokens:
    """Tokens as they were sampled, so that training need not tokenise again; empty what an endpoint does not give."""

    token_ids: tuple[int, ...] = ()
    prompt_token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    """One for each sampled token."""


@dataclass(frozen=True)
class Reply:
    text: str
    """Empty where nothing was said: with tool calls, and in refused, withheld and empty replies."""
    input_tokens: int = 0
    """All of the prompt's, those that the provider read from its cache or wrote to it among them."""
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    """Those of the reasoning among them."""
    model: str = ""
    """The model that answered, as the endpoint names it."""
    stop: Stop = "stop"
    """`content_filter` where the endpoint withheld the answer, or its model refused."""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    cost_usd: float | None = None
    """None where no price is known."""
    cached: bool = False
    refusal: str | None = None
    """The words in which the model refused."""
    tokens: Tokens | None = None
    """None where they were not asked for."""
    blocks: tuple[Mapping[str, Json], ...] = ()
    """Reasoning in the provider's own signed form; what a message has as `thinking_blocks` is sent back as it came."""


def _digest(value: Json) -> str:
    # Escaped, since a reply may hold lone surrogates, which have no UTF-8 form.
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class Backend(Protocol):
    @property
    def name(self) -> str:
        """`provider/model`."""
        ...

    async def complete(self, request: Request) -> Reply:
        """The author's reply; a refusal and an empty answer are replies, too. Raises ProviderError (transport), and
        AuthorError where an author of our own knows no answer."""
        ...

    async def close(self) -> None:
        """Let go of connections and files. A closed backend is not used again."""
        ...


OfflineAnswer = Callable[[Request], str | Reply]
"""An author as a function: the text of its answer, or a whole reply where it calls tools."""


class OfflineBackend:
    def __init__(self, answer: OfflineAnswer, model: str = "author") -> None:
        self.name = f"offline/{model}"
        self._answer = answer
        self._model = model

    async def complete(self, request: Request) -> Reply:
        answer = self._answer(request)
        return answer if isinstance(answer, Reply) else Reply(text=answer, model=self._model)

    async def close(self) -> None:
        """There is nothing to let go of."""
