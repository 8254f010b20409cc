"""Inspect: a task whose model has the world's tools and meets its user, scored by the evaluator's checks.

`inspect eval interop/frameworks/inspect_task.py@skillweave -T outputs=outputs --model PROVIDER/MODEL`
"""

import json
from typing import Any

from interop.episode import Episode, EpisodeError, Step
from interop.frameworks.shared import BackgroundEpisode, DatasetOptions, missing, openings
from skillweave.schema.task import Split
from skillweave.schema.trajectory import Message

try:
    from inspect_ai import Task, task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageTool,
        ChatMessageUser,
        get_model,
    )
    from inspect_ai.scorer import Score, Target, accuracy, mean, scorer, stderr
    from inspect_ai.solver import Generate, TaskState, solver
    from inspect_ai.tool import ToolInfo, ToolParams
except ModuleNotFoundError as error:
    raise missing("Inspect", "inspect-ai") from error

_STEP = "skillweave"
"""Key of what a sample's store keeps of the last step."""


@task  # type: ignore[untyped-decorator,unused-ignore]  # Inspect may not be installed
def skillweave(
    outputs: str = "",
    split: Split | None = None,
    limit: int | None = None,
    user: str | None = None,
    compact: bool = False,
    config: str | None = None,
) -> Any:
    """The tasks of a dataset.

    Args:
        outputs: The outputs folder of a run; empty: as SKILLWEAVE_OUTPUTS says.
        split: Only tasks of this split; None: all.
        limit: Only the first so many; None: all.
        user: `provider/model` of the simulated user; None: `offline/user`, which understands scripted agents alone.
        compact: Compact system prompts.
        config: A configuration file, with the settings of the user's endpoint.

    Raises:
        ArtifactError: There is no dataset, or it has no tasks.
        ConfigError: The user is unknown, or there is no outputs folder.
    """
    options = DatasetOptions(str(outputs), user, split, compact, config)
    return Task(dataset=_samples(options, limit), solver=conversation(options), scorer=episode_reward())


@solver  # type: ignore[untyped-decorator,unused-ignore]
def conversation(options: DatasetOptions) -> Any:
    """Let the model act until the conversation ends.

    Args:
        options: The tasks, and who plays their users.
    """

    async def solve(state: TaskState, _: Generate) -> TaskState:
        episode = BackgroundEpisode(options.factory(), str(state.sample_id))
        try:
            begun = await episode.open()
            tools = _tools(begun)
            while not begun.done and not state.completed:
                state.output = await get_model().generate(state.messages, tools=tools)
                state.messages.append(state.output.message)
                step = await episode.step(_said(state.output.message))
                state.messages += _heard(step, state.output.message)
            state.store.set(_STEP, _kept(await episode.finish()))
        finally:
            await episode.close()
        state.completed = True
        return state

    return solve


@scorer(metrics=[mean(), accuracy(), stderr()])  # type: ignore[untyped-decorator,unused-ignore]
def episode_reward() -> Any:
    """The evaluator's reward, with its checks as explanation."""

    async def score(state: TaskState, _: Target) -> Score:
        step = state.store.get(_STEP)
        if step is None:
            raise EpisodeError("over", f"the episode of {state.sample_id!r} was not scored")
        checks = json.dumps(step["checks"])
        return Score(value=step["reward"], answer=state.output.completion, explanation=checks, metadata=step)

    return score


def _samples(options: DatasetOptions, limit: int | None) -> Any:
    factory = options.factory()
    samples = []
    for begun in openings(factory, limit):
        of = factory.record(begun.task_id)
        system, user = (message.content or "" for message in begun.messages)
        samples.append(
            Sample(
                id=of.id,
                input=[ChatMessageSystem(content=system), ChatMessageUser(content=user)],
                metadata={"world": of.world, "kind": of.kind, "split": of.split, "level": of.difficulty.level},
            )
        )
    return MemoryDataset(samples, name="skillweave")


def _tools(episode: Episode) -> list[Any]:
    functions = (tool["function"] for tool in episode.tools)
    return [
        ToolInfo(
            name=str(of["name"]),
            description=str(of.get("description") or ""),
            parameters=ToolParams.model_validate(of["parameters"]),
        )
        for of in functions
        if isinstance(of, dict)
    ]


def _said(message: ChatMessageAssistant) -> dict[str, Any]:
    """The model's message in OpenAI's form. Arguments that Inspect could not read are given as they were written."""
    calls = [
        {
            "id": call.id,
            "function": {
                "name": call.function,
                "arguments": call.arguments if call.parse_error is None else str(call.arguments),
            },
        }
        for call in message.tool_calls or ()
    ]
    return {"role": "assistant", "content": message.text, "tool_calls": calls or None}


def _heard(step: Step, said: ChatMessageAssistant) -> list[Any]:
    functions = {call.id: call.function for call in said.tool_calls or ()}
    return [_message(message, functions) for message in step.observation]


def _message(message: Message, functions: dict[str, str]) -> Any:
    content = message.content or ""
    if message.role != "tool":
        return ChatMessageUser(content=content)
    id = message.tool_call_id or ""
    return ChatMessageTool(content=content, tool_call_id=id, function=functions.get(id))


def _kept(step: Step) -> dict[str, Any]:
    return {"reward": step.reward, **step.info}
