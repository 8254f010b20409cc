"""Agent: a model that can call tools. It keeps the history, asks its backend, and reads the reply.

Whatever a model sends is taken as it is: arguments that are no JSON object, names that no tool has, ids that repeat.
The history stays valid for every endpoint: each call in it has an id of its own and, once observed, one result.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rollout.task import Definition
from skillweave.llm.backends.backend import Backend, Reply, Request, Sampling
from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, Message, Participant, SpeakerUsage, ToolCall
from skillweave.world.tools import AgentCall, read_call, valid_text

QUESTION = "rollout.agent"
LONGEST_ID = 64


class AgentStep(NamedTuple):
    """One reply of the agent."""

    message: Message
    calls: list[AgentCall]
    reply: Reply

    @property
    def words(self) -> str:
        """What it says to the user."""
        return self.message.content or ""


@dataclass(frozen=True)
class AgentSettings:
    sampling: Sampling = field(default_factory=Sampling)
    replay_reasoning: bool = False
    """Whether the model gets its own earlier reasoning back."""
    calls_first: int = 0
    """How many replies at the beginning must be tool calls, where the endpoint can hold its model to it."""


class Agent:
    """Native tool calls. `ReactAgent` writes them as text."""

    def __init__(
        self,
        backend: Backend,
        instruction: Sequence[Message],
        tools: Sequence[Definition],
        *,
        key: str,
        settings: AgentSettings,
    ) -> None:
        """`key` is the trajectory's id."""
        self.backend = backend
        self.tools = list(tools)
        self.history = list(instruction)
        self.key = key
        self.settings = settings
        self.usage = SpeakerUsage(cost_usd=0.0)
        self.model = ""
        self._requests = 0
        self._ids: set[str] = set()

    @property
    def participant(self) -> Participant:
        """Who this is, for the record."""
        return Participant(
            backend=self.backend.name,
            model=self.model or self.backend.name.partition("/")[2],
            sampling={**self.settings.sampling.settings()},
        )

    async def step(self) -> AgentStep:
        """The next reply. It is added to the history, unless there is nothing in it or it was withheld.

        Raises ProviderError.
        """
        reply = await self.backend.complete(self._request())
        self._requests += 1
        self.usage = added(self.usage, reply)
        self.model = reply.model or self.model
        step = self._read(reply)
        if reply.stop != "content_filter" and (step.calls or step.words.strip()):
            self.history.append(step.message)
        return step

    def observe(self, call: AgentCall, content: str) -> None:
        """Add a call's result to the history."""
        self.history.append(Message(role="tool", tool_call_id=call.id, content=valid_text(content)))

    def hear(self, message: Message) -> None:
        """Add what the user says."""
        self.history.append(message.model_copy(update={"content": valid_text(message.content or "")}))

    def _request(self) -> Request:
        messages = self.history if self.settings.replay_reasoning else [_without_reasoning(m) for m in self.history]
        return Request(
            messages=tuple(messages),
            tools=tuple(self.tools),
            tool_choice="required" if self.tools and self._requests < self.settings.calls_first else "auto",
            sampling=self.settings.sampling,
            question=QUESTION,
            key=self.key,
            attempt=self._requests,
        )

    def _read(self, reply: Reply) -> AgentStep:
        given = [_as_given(call, self._fresh_id(call.id)) for call in reply.tool_calls]
        message = Message.model_validate(
            {
                "role": "assistant",
                "content": valid_text(reply.text) or None,
                "tool_calls": given or None,
                "reasoning_content": reply.reasoning and valid_text(reply.reasoning),
                **_extras(reply),
            }
        )
        return AgentStep(message, [read_call(call) for call in given], reply)

    def _fresh_id(self, given: str) -> str:
        """The id as it was given, or another where it is none or was there before."""
        found = given
        while not found or len(found) > LONGEST_ID or found in self._ids:
            found = f"call_{len(self._ids)}" if found != f"call_{len(self._ids)}" else f"call_{len(self._ids)}_"
        self._ids.add(found)
        return found


def _as_given(call: ToolCall, id: str) -> ToolCall:
    """The call under that id."""
    name, arguments = call.function.name, call.function.arguments
    kept = valid_text(arguments) if isinstance(arguments, str) else arguments
    return ToolCall(id=id, function=FunctionCall(name=valid_text(name), arguments=kept))


def added(usage: SpeakerUsage, reply: Reply) -> SpeakerUsage:
    """The usage with a reply's; an unknown cost makes the sum unknown."""
    known = usage.cost_usd is not None and reply.cost_usd is not None
    return SpeakerUsage(
        input_tokens=usage.input_tokens + reply.input_tokens,
        output_tokens=usage.output_tokens + reply.output_tokens,
        cost_usd=usage.cost_usd + reply.cost_usd if known else None,  # type: ignore[operator]
    )


def _without_reasoning(message: Message) -> Message:
    return message.model_copy(update={"reasoning_content": None}) if message.reasoning_content else message


def _extras(reply: Reply) -> dict[str, Json]:
    """What the record keeps beside the words, where there is any."""
    found: dict[str, Json] = {}
    if reply.tokens is not None:
        found["token_ids"] = list(reply.tokens.token_ids)
        found["prompt_token_ids"] = list(reply.tokens.prompt_token_ids)
        found["logprobs"] = list(reply.tokens.logprobs)
    if reply.blocks:
        found["thinking_blocks"] = [dict(block) for block in reply.blocks]
    if reply.refusal:
        found["refusal"] = reply.refusal
    return found
