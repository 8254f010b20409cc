"""Scripted agents that play episodes, whoever takes the steps: an episode, an environment, or a server."""

import json
from collections.abc import Callable, Coroutine, Generator, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

from interop.episode import Episode
from interop.in_process import Environment
from rollout.offline.agents import offline_agent
from rollout.task import Definition
from skillweave.llm.backends.backend import Backend, Request
from skillweave.schema.trajectory import Message, ToolCall
from skillweave.world.dataset import Dataset

T = TypeVar("T")
MOST_STEPS = 120


class Heard(NamedTuple):
    """What a step brought."""

    messages: Sequence[Message]
    """Results of tools, or the user's words."""
    reward: float
    done: bool


Player = Generator[Message, Sequence[Message], None]
"""Yields the agent's messages; is sent what it hears."""


def player(agent: Backend, task_id: str, opening: Sequence[Message], tools: Sequence[Definition]) -> Player:
    """A scripted agent in one conversation.

    Args:
        agent: `scripted(...)`.
        task_id: The task.
        opening: The system prompt and the user's first message.
        tools: OpenAI definitions.
    """
    history = [*opening]
    for attempt in range(MOST_STEPS):
        request = Request(
            messages=tuple(history), tools=tuple(tools), question="rollout.agent", key=f"{task_id}#0", attempt=attempt
        )
        reply = at_once(agent.complete(request))
        calls = [ToolCall(id=f"c{attempt}_{at}", function=call.function) for at, call in enumerate(reply.tool_calls)]
        message = Message(role="assistant", content=reply.text or None, tool_calls=calls or None)
        heard = yield message
        history += [message, *heard]
    raise AssertionError(f"{task_id} is not over after {MOST_STEPS} steps")


@cache
def scripted(name: str, dataset: Dataset) -> Backend:
    """A scripted agent: `oracle`, `nothing` and the others."""
    return offline_agent(name, dataset, 7)


def converse(
    agent: Backend,
    task_id: str,
    opening: Sequence[Message],
    tools: Sequence[Definition],
    take: Callable[[Message], Heard],
) -> Heard:
    """Play a conversation to its end; `take` makes a step of the agent's message. Returns the last step."""
    talk = player(agent, task_id, opening, tools)
    heard = take(next(talk))
    while not heard.done:
        heard = take(talk.send(heard.messages))
    return heard


async def play_episode(agent: Backend, episode: Episode) -> Heard:
    """Play an episode to its end."""
    talk = player(agent, episode.task.id, episode.messages, episode.tools)
    step = await episode.step(next(talk))
    while not step.done:
        step = await episode.step(talk.send(step.observation))
    return Heard(step.observation, step.reward, step.done)


def play(environment: Environment, task_id: str, agent: str) -> Heard:
    """Play a task in an environment with the scripted agent of a name. Returns the last step."""

    def take(message: Message) -> Heard:
        step = environment.step(message)
        return Heard(step.observation, step.reward, step.done)

    begun = environment.reset(task_id)
    return converse(scripted(agent, environment.factory.dataset), task_id, begun.messages, begun.tools, take)


def results(message: Message, texts: Sequence[str]) -> list[Message]:
    """Results of an agent's calls, from their texts."""
    calls = message.tool_calls or []
    return [Message(role="tool", tool_call_id=call.id, content=text) for call, text in zip(calls, texts, strict=True)]


def react_texts(message: Message) -> list[str]:
    """The agent's message as replies in the ReAct form: one for each call, or one with its words."""
    return [
        f"Thought: go on\nAction: {call.function.name}\nAction Input: {arguments_text(call)}"
        for call in message.tool_calls or ()
    ] or [f"Answer: {message.content or ''}"]


def arguments_text(call: ToolCall) -> str:
    """The arguments of a call as JSON."""
    arguments = call.function.arguments
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    raise AssertionError("a scripted agent waits for nothing")
