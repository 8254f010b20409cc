"""verifiers 0.3, the last with `load_environment`: tools as tools, and the simulated user inside.

`vf-eval interop.frameworks.verifiers_v0 -a '{"outputs": "outputs"}'`, with the project on Python's path.
"""

import json
from typing import Any

from interop.actions import ActionError
from interop.episode import EpisodeError, Step
from interop.frameworks.shared import BackgroundEpisode, DatasetOptions, missing, openings
from skillweave.base.errors import SkillweaveError
from skillweave.schema.trajectory import Message

try:
    import verifiers as vf
    from datasets import Dataset

    vf.MultiTurnEnv  # noqa: B018  # which later releases do not have
except (ModuleNotFoundError, AttributeError) as error:
    raise missing("verifiers 0.3", "'verifiers<0.4' (of later ones, use skillweave-tasks)") from error

_REWARD, _FIGURES = "skillweave_reward", ("passed", "turns", "calls", "truncated")
"""Keys of a rollout's state."""


def load_environment(outputs: str = "", **options: Any) -> "SkillweaveMultiTurnEnv":
    """The environment, as verifiers asks for it.

    Args:
        outputs: The outputs folder of a run; empty: as SKILLWEAVE_OUTPUTS says.
        options: The other options of `DatasetOptions`: user, split, compact, config.

    Raises:
        ArtifactError: There is no dataset, or it has no tasks.
        ConfigError: The user is unknown, or there is no outputs folder.
    """
    return SkillweaveMultiTurnEnv(DatasetOptions(outputs=outputs, **options))


class SkillweaveMultiTurnEnv(vf.MultiTurnEnv):  # type: ignore[misc]  # verifiers may not be installed
    """A conversation: the model's words go to the user, its calls to the world."""

    def __init__(self, options: DatasetOptions) -> None:
        """Create the environment.

        Args:
            options: The tasks, and who plays their users.
        """
        self._factory = options.factory()
        self._episodes: dict[str, BackgroundEpisode] = {}
        rubric = vf.Rubric(funcs=[episode_reward], weights=[1.0])
        for name in _FIGURES:
            rubric.add_metric(_figure(name))
        super().__init__(dataset=self._rows, eval_dataset=self._rows, rubric=rubric)

    def _rows(self) -> Any:
        rows = []
        for begun in openings(self._factory):
            task = self._factory.record(begun.task_id)
            prompt = [{"role": message.role, "content": message.content or ""} for message in begun.messages]
            info = {"task_id": task.id, "world": task.world, "kind": task.kind, "split": task.split}
            rows.append({"prompt": prompt, "answer": "", "info": json.dumps(info)})
        return Dataset.from_list(rows)

    async def setup_state(self, state: Any) -> Any:
        """Begin the episode of a rollout."""
        episode = BackgroundEpisode(self._factory, state["info"]["task_id"])
        try:
            begun = await episode.open()
        except SkillweaveError as error:
            raise vf.InfraError(str(error)) from error
        self._episodes[state["trajectory_id"]] = episode
        state["tool_defs"] = [
            vf.Tool(name=of["name"], description=of.get("description") or "", parameters=of["parameters"])
            for of in (tool["function"] for tool in begun.tools)
            if isinstance(of, dict)
        ]
        return state

    async def env_response(self, messages: Any, state: Any, **_: Any) -> list[Any]:
        """What tools and the user answer to the model's last message."""
        said = messages[-1]
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in said.tool_calls or ()
        ]
        action = {"role": "assistant", "content": said.content, "tool_calls": calls or None}
        try:
            step = await self._episodes[state["trajectory_id"]].step(action)
        except (EpisodeError, ActionError) as error:
            raise vf.InfraError(str(error)) from error
        heard = [_message(message) for message in step.observation]
        if step.done:
            state["final_env_response"] = heard
        return heard

    @vf.cleanup  # type: ignore[untyped-decorator]
    async def score_episode(self, state: Any) -> None:
        """End the episode, before the rubric is asked; one that the model left is scored as it stands."""
        episode = self._episodes.pop(state["trajectory_id"], None)
        if episode is None:
            return
        try:
            _note(state, await episode.finish())
        except EpisodeError as error:
            state["error"] = state.get("error") or vf.InfraError(str(error))
        finally:
            await episode.close()


def _note(state: Any, step: Step) -> None:
    state[_REWARD] = step.reward
    for name in _FIGURES:
        state[f"skillweave_{name}"] = float(step.info.get(name) or 0)  # type: ignore[arg-type]


def _message(message: Message) -> Any:
    if message.role == "tool":
        return vf.ToolMessage(tool_call_id=message.tool_call_id or "", content=message.content or "")
    return vf.UserMessage(content=message.content or "")


async def episode_reward(state: Any) -> float:
    """The evaluator's reward; 0 of a rollout that failed, whose error the results show."""
    return float(state.get(_REWARD) or 0.0)


def _figure(name: str) -> Any:
    async def figure(state: Any) -> float:
        return float(state.get(f"skillweave_{name}") or 0.0)

    figure.__name__ = name
    return figure


__all__ = ["SkillweaveMultiTurnEnv", "load_environment"]
