"""Gymnasium: an environment whose observations and actions are text.

An observation is what `interop/prompt.py` says; an action is a model's reply, in the ReAct form or with `<tool_call>`
blocks. The reward is 0 until the episode ends.
"""

from typing import Any

from interop.frameworks.shared import missing, options_from
from interop.in_process import Environment
from skillweave.base.errors import ConfigError

try:
    import gymnasium
    from gymnasium.spaces import Text
except ModuleNotFoundError as error:
    raise missing("Gymnasium", "gymnasium") from error

ENV_ID = "Skillweave-v0"
MOST_CHARACTERS = 2**20
"""Most characters of an observation or an action."""
PRINTABLE = "".join(map(chr, range(32, 127)))


class UnicodeText(Text):  # type: ignore[misc]  # Gymnasium may not be installed
    """Text of any characters; samples are short and printable."""

    def __init__(self) -> None:
        super().__init__(max_length=MOST_CHARACTERS, min_length=0, charset=PRINTABLE)

    def contains(self, x: Any) -> bool:
        """Whether it is text, and not too long."""
        return isinstance(x, str) and len(x) <= MOST_CHARACTERS

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Up to forty printable characters."""
        return "".join(self.np_random.choice([*PRINTABLE], size=int(self.np_random.integers(1, 41))))


class SkillweaveGymnasium(gymnasium.Env):  # type: ignore[misc]  # Gymnasium may not be installed
    """One episode at a time; `reset` begins the next."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # so it is declared in Gymnasium

    def __init__(self, outputs: str = "", **options: Any) -> None:
        """Create the environment.

        Args:
            outputs: The outputs folder of a run; empty: as SKILLWEAVE_OUTPUTS says.
            options: The other options of `DatasetOptions`: user, split, compact, config.

        Raises:
            ArtifactError: There is no dataset, or it has no tasks.
            ConfigError: The user is unknown, or there is no outputs folder.
        """
        self.observation_space = UnicodeText()
        self.action_space = UnicodeText()
        self._environment = Environment(options_from({"outputs": outputs, **options}).factory(), text=True)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Seeds which task is drawn, now and at later resets.
            options: `{"task": id or number, "trial": number}`; without a task one is drawn.

        Raises:
            ArtifactError: There is no such task.
            ConfigError: There is no task of that number, or an option of another name.
        """
        super().reset(seed=seed)
        given = dict(options or {})
        task, trial = given.pop("task", None), given.pop("trial", 0)
        if given:
            raise ConfigError(f"unknown options of reset: {', '.join(given)}; there are task and trial")
        ids = self._environment.task_ids
        begun = self._environment.reset(
            ids[int(self.np_random.integers(len(ids)))] if task is None else task, trial=trial
        )
        return begun.text, {"task_id": begun.task_id, "trial": trial}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take a step; the observation of the last one is empty if nothing is left to say.

        Returns:
            Observation, reward, whether it ended, whether a limit ended it, and info.

        Raises:
            ActionError: The action is no text, or too long.
            EpisodeError: The episode is over, or its user or world failed.
        """
        step = self._environment.step(str(action) if isinstance(action, str) else action)
        heard = self._environment.text_of(step)
        is_cut = bool(step.info.get("truncated", False))
        return heard, step.reward, step.done and not is_cut, step.done and is_cut, step.info

    def close(self) -> None:
        """End the episode."""
        self._environment.close()


def register() -> None:
    """Make `gymnasium.make("Skillweave-v0", outputs=...)` known in this process."""
    if ENV_ID not in gymnasium.registry:
        # Gymnasium's own wrappers would check each text again, and warn of a reward of another type.
        gymnasium.register(id=ENV_ID, entry_point=f"{__name__}:SkillweaveGymnasium")
