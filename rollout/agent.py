"""Agent: a model that can call tools. It keeps the history, asks its backend, and reads the reply.

The agent accepts whatever a model sends: arguments that are not a JSON object, names of unknown tools, repeated ids.
The history stays valid for every endpoint: each call in it has a unique id and, once observed, one result.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rollout.task import Definition
from skillweave.llm.backends.backend import REASONING_FIELD, Backend, Reply, Request, Sampling
from skillweave.llm.history import CALL_ID
from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message, Participant, SpeakerUsage, ToolCall
from skillweave.text_calls import find_call
from skillweave.world.tools import AgentCall, name_of, read_call, valid_text

QUESTION = "rollout.agent"
LONGEST_ID = 64
"""Characters of a call's id."""
WRITTEN = "written"
"""The field of an assistant's message that holds the whole text in which its model wrote words and thoughts."""
FIELD_REASONING = "field_reasoning"
"""The field that holds what came as reasoning in a field of its own, where thoughts in the text were joined to it."""
USABLE_ID = re.compile(rf"[!-~]{{1,{LONGEST_ID}}}")


class AgentStep(NamedTuple):
    """One reply of the agent."""

    message: Message
    calls: list[AgentCall]
    reply: Reply

    @property
    def words(self) -> str:
        """What the agent says to the user; empty if it says nothing."""
        return self.message.content or ""


@dataclass(frozen=True)
class AgentSettings:
    sampling: Sampling = field(default_factory=Sampling)
    replay_reasoning: bool = False
    """Whether later requests include the model's earlier reasoning. What came in a field of its own beside calls goes
    back in any case: DeepSeek refuses calls without it."""
    noted: Mapping[str, Json] = field(default_factory=dict)
    """What else was set that changes the model's answers, for the record: its effort, and fields of one's own."""
    calls_first: int = 0
    """Number of first replies that must be tool calls, on endpoints that can enforce it."""


class Agent:
    """An agent that makes native tool calls. `ReactAgent` writes them as text."""

    calls_as_text: int | None = 0
    """Replies whose words hold a call of an offered tool, which nobody makes: the server has no parser of tool calls.
    None: calls are meant to be text."""

    def __init__(
        self,
        backend: Backend,
        instruction: Sequence[Message],
        tools: Sequence[Definition],
        *,
        key: str,
        settings: AgentSettings,
    ) -> None:
        """Create an agent for one trajectory.

        Args:
            backend: The model that is asked.
            instruction: The first messages of the history.
            tools: The tools that the model may call.
            key: The trajectory's id.
            settings: Sampling and other settings of the requests.
        """
        self.backend = backend
        self.tools = list(tools)
        self.history = list(instruction)
        self.key = key
        self.settings = settings
        self.usage = SpeakerUsage(cost_usd=0.0)
        self.model = ""
        self._requests = 0
        self._ids: set[str] = set()
        self._names = [*filter(None, map(name_of, self.tools))]

    @property
    def participant(self) -> Participant:
        """The agent's backend, model and sampling, for the record."""
        return Participant(
            backend=self.backend.name,
            model=self.model or self.backend.name.partition("/")[2],
            sampling={**self.settings.sampling.settings(), **self.settings.noted},
        )

    async def step(self) -> AgentStep:
        """Ask the model for the next reply and add it to the history, unless it is empty or was withheld.

        Raises:
            ProviderError: The backend gave no reply.
        """
        reply = await self.backend.complete(self._request())
        self._requests += 1
        self.usage = added(self.usage, reply)
        self.model = reply.model or self.model
        step = self._read(reply)
        if self.calls_as_text is not None and not step.calls and find_call(step.words, self._names) is not None:
            self.calls_as_text += 1
        if reply.stop != "content_filter" and (step.calls or step.words.strip()):
            self.history.append(step.message)
        return step

    def observe(self, call: AgentCall, content: str) -> None:
        """Add a call's result to the history."""
        self.history.append(Message(role="tool", tool_call_id=call.id, content=valid_text(content)))

    def hear(self, message: Message) -> None:
        """Add the user's message to the history."""
        self.history.append(message.model_copy(update={"content": valid_text(message.content or "")}))

    def _request(self) -> Request:
        return Request(
            messages=tuple(self._sent(message) for message in self.history),
            tools=tuple(self.tools),
            tool_choice="required" if self.tools and self._requests < self.settings.calls_first else "auto",
            sampling=self.settings.sampling,
            question=QUESTION,
            key=self.key,
            attempt=self._requests,
        )

    def _sent(self, message: Message) -> Message:
        """A message as later requests have it: with its reasoning in the form in which it came, or without any."""
        extra = message.model_extra or {}
        written, field = extra.get(WRITTEN), extra.get(REASONING_FIELD)
        if written is None and not message.reasoning_content:
            return message
        changes: dict[str, Json] = {}
        if written is not None:
            # What came in a field goes back exactly: thoughts in the text were joined to it for the record alone.
            changes = {WRITTEN: None, FIELD_REASONING: None, "reasoning_content": extra.get(FIELD_REASONING)}
        if self.settings.replay_reasoning and written is not None:
            changes |= {"content": written}
        elif not self.settings.replay_reasoning and not (message.tool_calls and field):
            # DeepSeek refuses a call whose reasoning does not come back beside it.
            changes |= {"reasoning_content": None}
        return message.model_copy(update=changes)

    def _read(self, reply: Reply) -> AgentStep:
        calls = [_with_id(call, self._unique_id(call.id)) for call in reply.tool_calls]
        message = Message.model_validate(
            {
                "role": "assistant",
                "content": valid_text(reply.text) or None,
                "tool_calls": calls or None,
                "reasoning_content": reply.reasoning and valid_text(reply.reasoning),
                **_extras(reply),
            }
        )
        return AgentStep(message, [read_call(call) for call in calls], reply)

    def _unique_id(self, original: str) -> str:
        """The original id, or another one if it is empty, too long, has blanks or is already used."""
        id = original
        number = len(self._ids)
        while not USABLE_ID.fullmatch(id) or id in self._ids:
            id, number = CALL_ID.format(number), number + 1
        self._ids.add(id)
        return id


def _with_id(call: ToolCall, id: str) -> ToolCall:
    """The call under that id, with valid text."""
    name, arguments = call.function.name, call.function.arguments
    valid = valid_text(arguments) if isinstance(arguments, str) else arguments
    function = call.function.model_copy(update={"name": valid_text(name), "arguments": valid})
    return call.model_copy(update={"id": id, "function": function})


def added(usage: SpeakerUsage, reply: Reply) -> SpeakerUsage:
    """Add a reply's usage to the sum. An unknown cost makes the sum's cost unknown."""
    known = usage.cost_usd is not None and reply.cost_usd is not None
    return SpeakerUsage(
        input_tokens=usage.input_tokens + reply.input_tokens,
        output_tokens=usage.output_tokens + reply.output_tokens,
        cost_usd=usage.cost_usd + reply.cost_usd if known else None,  # type: ignore[operator]
    )


def _extras(reply: Reply) -> dict[str, Json]:
    """What the record keeps of a reply besides its words and calls."""
    extras: dict[str, Json] = dict(reply.fields)
    if reply.reasoning_field:
        extras[REASONING_FIELD] = reply.reasoning_field
    if reply.tokens is not None:
        extras["token_ids"] = list(reply.tokens.token_ids)
        extras["prompt_token_ids"] = list(reply.tokens.prompt_token_ids)
        extras["logprobs"] = list(reply.tokens.logprobs)
    if reply.blocks:
        extras["thinking_blocks"] = [dict(block) for block in reply.blocks]
    if reply.refusal:
        extras["refusal"] = reply.refusal
    if reply.written is not None:
        extras[WRITTEN] = valid_text(reply.written)
    if reply.field_reasoning is not None:
        extras[FIELD_REASONING] = valid_text(reply.field_reasoning)
    return extras
