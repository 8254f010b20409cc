"""The folder of a skill run: its files have SkillOpt's names.

All but `.cache/`, `rollouts/`, `usage.json` and the page that shows it are the same bytes however often the run was
killed, and with any number of workers.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ValidationError

from rollout.folder import compare_settings
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.store import CACHE, Store
from skillweave.schema.record import Json, Record

CONFIG, HISTORY, STATE, SUMMARY = "config.json", "history.json", "runtime_state.json", "summary.json"
BEST, USAGE = "best_skill.md", "usage.json"
EVALUATION, PAGE = "eval_summary.json", "report.html"
REPLIES = f"{CACHE}/replies.sqlite"
ROLLOUTS = "rollouts"
"""Below it, a rollouts folder for each skill that was tried, named by the skill's digest."""


NAMES = frozenset((CONFIG, HISTORY, STATE, SUMMARY, BEST, USAGE, EVALUATION, ROLLOUTS, PAGE)) | frozenset(
    ("skills", "steps", "slow_update", "meta_skill", "test_eval", "traces", "logs")
)
"""All that stands in the folder of a run."""


class RuntimeState(Record):
    """`runtime_state.json`: how far a run is."""

    last_completed_step: int
    current_skill_path: str
    current_score: float
    current_origin: str
    """Where the current skill comes from: `initial`, `step 3`, `slow update 2`."""
    best_skill_path: str
    best_score: float
    best_step: int
    best_origin: str
    finished: bool = False
    """Whether all steps are done, and the test."""


class SkillFolder:
    """Writes the files of a run."""

    def __init__(self, root: Path) -> None:
        self.store = Store(root, "run", option="--out")

    def refuse_others(self) -> None:
        """Raise ConfigError if there is something in the folder that no skill run writes."""
        root = self.store.root
        self.store.refuse_other_than_folder()
        names = sorted(path.name for path in root.iterdir() if not path.name.startswith(".")) if root.is_dir() else []
        others = [name for name in names if name not in NAMES]
        if others:
            raise ConfigError(
                f"{str(root)!r} holds {others[0]!r}, which no skill run writes; give a new or empty folder with --out"
            )

    def fix(self, config: dict[str, Json]) -> None:
        """Write `config.json`, or check that it is the same.

        Raises:
            ConfigError: The folder holds a run with other settings.
            ArtifactError: Its `config.json` cannot be read.
        """
        if self.store.exists(CONFIG):
            try:
                earlier = json.loads(self.store.read(CONFIG))
            except ValueError as error:
                raise ArtifactError(f"{CONFIG} of {str(self.store.root)!r} is not JSON: {error}") from error
            change, _ = compare_settings(earlier if isinstance(earlier, dict) else {"format": None}, config)
            if change is not None:
                raise ConfigError(
                    f"{str(self.store.root)!r} holds a run with other settings: {change}; "
                    "give another folder with --out"
                )
        self.write_json(CONFIG, config)

    def reached(self) -> int:
        """How many steps the run had made when it was last stopped; 0 if that cannot be read."""
        try:
            state = RuntimeState.model_validate_json(self.store.read(STATE))
        except (ArtifactError, ValidationError):
            return 0
        return state.last_completed_step if self.store.exists(BEST) and self.store.exists(HISTORY) else 0

    def write_json(self, path: str, content: Json | BaseModel | Sequence[BaseModel]) -> None:
        """Write a value or records as indented JSON."""
        self.store.write(path, (json.dumps(_plain(content), indent=2, ensure_ascii=False) + "\n").encode())

    def write_rows(self, path: str, rows: Sequence[BaseModel]) -> None:
        """Write records, one a line."""
        self.store.write(path, "".join(row.model_dump_json() + "\n" for row in rows).encode())

    def write_text(self, path: str, text: str) -> None:
        """Write a text."""
        self.store.write(path, text.encode("utf-8", "replace"))


def _plain(content: object) -> object:
    if isinstance(content, BaseModel):
        return content.model_dump(mode="json")
    if isinstance(content, list | tuple):
        return [_plain(part) for part in content]
    return content


def step_path(step: int) -> str:
    """The folder of a step."""
    return f"steps/step_{step:04}"


def skill_path(step: int) -> str:
    """The current skill after a step."""
    return f"skills/skill_v{step:04}.md"
