"""SkyRL: the environment class `skillweave` for the rows of `interop export skyrl`.

SkyRL makes an environment for each trajectory from a row's columns, gives it the model's replies as text, and reads the
reward of each step. Registrations hold in one process: register where the trainer's worker begins.
"""

from typing import Any

from interop.frameworks.shared import DatasetOptions, missing, options_from
from interop.in_process import Environment
from interop.prompt import chat_prompt
from skillweave.base.errors import ConfigError

try:
    import skyrl_gym
    from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput
except ModuleNotFoundError as error:
    raise missing("SkyRL-gym", "skyrl-gym") from error

ENV_CLASS = "skillweave"
"""The id, which the column `env_class` of an export has."""
Messages = list[dict[str, str]]


def register(outputs: str = "", **options: Any) -> None:
    """Make `skyrl_gym.make("skillweave", ...)` known in this process; a second time replaces the options.

    Args:
        outputs: The outputs folder of a run; empty: as `env_config`, the row or SKILLWEAVE_OUTPUTS says.
        options: The other options of `DatasetOptions`: user, compact, config.
    """
    skyrl_gym.envs.registration.registry.pop(ENV_CLASS, None)
    defaults = DatasetOptions(outputs=str(outputs), **options)
    skyrl_gym.register(id=ENV_CLASS, entry_point=f"{__name__}:SkillweaveEnv", kwargs={"defaults": defaults})


class SkillweaveEnv(BaseTextEnv):  # type: ignore[misc]  # SkyRL-gym has no types here
    """One trajectory: the model writes text, tools and the user answer."""

    def __init__(self, env_config: Any = None, extras: Any = None, defaults: DatasetOptions | None = None) -> None:
        """Create the environment of a row.

        Args:
            env_config: Settings of the trainer for this class: outputs, user, compact, config.
            extras: The row's columns; `extra_info.task_id` names the task, `max_turns` is the trainer's limit.
            defaults: What `register` was given.

        Raises:
            ArtifactError: There is no dataset.
            ConfigError: The row names no task, or there is no outputs folder.
        """
        super().__init__()
        row = extras or {}
        info = row.get("extra_info") or {}
        self._task = info.get("task_id")
        if not isinstance(self._task, str):
            raise ConfigError("the row names no task; make the data with `python -m interop export skyrl`")
        self.max_turns = int(row.get("max_turns") or 0)
        """Replies after which the episode is scored as it stands; 0: the dataset's own limits alone."""
        self._environment = Environment(options_from(env_config, row, defaults).factory(), text=True)
        self._metrics: dict[str, float] = {}

    def init(self, prompt: Messages) -> tuple[Messages, dict[str, Any]]:
        """Begin the episode.

        Returns:
            The row's prompt, or the environment's own where the row has none; and the task's id.

        Raises:
            ConfigError: The row's prompt ends with another message than the task's user has.
        """
        begun = self._environment.reset(self._task)
        self.turns = 0
        words = begun.messages[-1].content or ""
        if prompt and prompt[-1]["content"] != words:
            raise ConfigError(f"the prompt of {self._task!r} is of another dataset; export it again")
        return [*prompt] or chat_prompt(begun.messages, begun.tools), {"task_id": begun.task_id}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Take the model's reply.

        Raises:
            EpisodeError: The episode is over, or its user or world failed; no reward is made up for it.
        """
        self.turns += 1
        step = self._environment.step(action)
        is_cut = not step.done and 0 < self.max_turns <= self.turns
        if is_cut:
            step = self._environment.finish()
        info = {**step.info, "truncated": True} if is_cut else step.info
        if step.done:
            counted = ("passed", "turns", "calls", "truncated")
            self._metrics = {"reward": step.reward, **{name: float(info[name] or 0) for name in counted}}  # type: ignore[arg-type]
        heard = [] if step.done else [{"role": "user", "content": self._environment.text_of(step)}]
        return BaseTextEnvStepOutput(observations=heard, reward=step.reward, done=step.done, metadata=info)

    def get_metrics(self) -> dict[str, Any]:
        """Reward, passed, turns, calls and truncated of an episode that is over; else nothing."""
        return dict(self._metrics)

    @staticmethod
    def aggregate_metrics(metrics: list[dict[str, Any]]) -> dict[str, Any]:
        """Means over the episodes that were scored, and how many there were."""
        scored = [one for one in metrics if one]
        means = {name: sum(one[name] for one in scored) / len(scored) for name in (scored[0] if scored else ())}
        return {**means, "scored": len(scored)}

    def close(self) -> None:
        """End the episode; a second time does nothing."""
        self._environment.close()
