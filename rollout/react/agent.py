"""ReactAgent: an agent whose model has no native tool calls, and reads and writes them as text.

What is recorded is the same as of any other agent: calls with ids, their results, words, and thoughts as reasoning.
"""

from collections.abc import Sequence
from dataclasses import replace

from rollout.agent import Agent, AgentSettings, Step
from rollout.react.text import FORMAT, UNREADABLE, described, read_text, rendered
from rollout.task import Definition
from skillweave.llm.backend import Backend
from skillweave.llm.request import Reply, Request
from skillweave.schema.message import FunctionCall, Message, ToolCall


class ReactAgent(Agent):
    """Thought, Action, Action Input, Observation, Answer. The model is always given its own thoughts back."""

    def __init__(
        self,
        backend: Backend,
        instruction: Sequence[Message],
        tools: Sequence[Definition],
        *,
        key: str,
        settings: AgentSettings,
    ) -> None:
        super().__init__(backend, instruction, tools, key=key, settings=settings)
        self._format = Message(role="system", content=FORMAT.format(tools=described(tools)))
        self._thoughts: dict[int, str] = {}
        self._unreadable = ""

    def _request(self) -> Request:
        said = [(message, self._thoughts.get(number, "")) for number, message in enumerate(self.history)]
        systems = sum(message.role == "system" for message, _ in said[:1])
        said.insert(systems, (self._format, ""))
        messages = (*rendered(said), *_complaint(self._unreadable))
        return replace(super()._request(), messages=messages, tools=(), tool_choice="auto")

    def _read(self, reply: Reply) -> Step:
        read = read_text(reply.text)
        called = (
            ()
            if read.tool is None
            else (ToolCall(id="", function=FunctionCall(name=read.tool, arguments=read.arguments)),)
        )
        reasoning = "\n\n".join(filter(None, [reply.reasoning, read.thought])) or None
        self._thoughts[len(self.history)] = read.thought
        self._unreadable = "" if called or read.words.strip() else reply.text
        return super()._read(replace(reply, text=read.words, tool_calls=called, reasoning=reasoning))


def _complaint(unreadable: str) -> list[Message]:
    """What a model is told that wrote neither form; the reply itself is no part of the record."""
    if not unreadable.strip():
        return []
    return [Message(role="assistant", content=unreadable), Message(role="user", content=f"Observation: {UNREADABLE}")]
