"""Scripted agents for the scripts of targets: what `oracle` or `nothing` says next, as a message or as text."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from interop.environments import EpisodeFactory
from rollout.offline.agents import offline_agent
from rollout.react.agent import rendered
from rollout.task import Definition
from skillweave.llm.backends.backend import Request
from skillweave.schema.trajectory import Message
from skillweave.world.dataset import Dataset


class ScriptedPlayer:
    """An agent that knows the tasks. It sees the conversation, as a model would."""

    def __init__(self, dataset: Dataset, agent: str) -> None:
        self._backend = offline_agent(agent, dataset, 7)
        # For scripts that have an event loop of their own.
        self._thread = ThreadPoolExecutor(1)

    def message(self, task_id: str, messages: Sequence[Message], tools: Sequence[Definition]) -> Message:
        """The next message."""
        request = Request(
            messages=tuple(messages),
            tools=tuple(tools),
            question="rollout.agent",
            key=f"{task_id}#0",
            attempt=sum(message.role == "assistant" for message in messages),
        )
        reply = self._thread.submit(asyncio.run, self._backend.complete(request)).result()
        return Message(role="assistant", content=reply.text or None, tool_calls=list(reply.tool_calls) or None)

    def text(self, task_id: str, messages: Sequence[Message], tools: Sequence[Definition]) -> str:
        """The next message as a model without tools writes it; several calls are `<tool_call>` blocks."""
        message = self.message(task_id, messages, tools)
        calls = message.tool_calls or []
        if len(calls) < 2:
            return rendered([(message, "thinking")])[0].content or ""
        blocks = (f"<tool_call>\n{call.function.model_dump_json()}\n</tool_call>" for call in calls)
        return "\n".join([message.content or "", *blocks])


def tasks_of_all_kinds(factory: EpisodeFactory, most: int) -> list[str]:
    """Ids of tasks, of each kind in turn."""
    kinds: dict[str, list[str]] = {}
    for id in factory.ids:
        kinds.setdefault(factory.record(id).kind, []).append(id)
    turns = [ids[turn] for turn in range(len(factory.ids)) for ids in kinds.values() if turn < len(ids)]
    return turns[:most]
