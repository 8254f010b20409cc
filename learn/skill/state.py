"""Where a run stands: its current and its best skill, and what the optimizer is told."""

from dataclasses import dataclass, field

from learn.skill.folder import BEST, HISTORY, STATE, RuntimeState, SkillFolder, skill_path
from learn.skill.memory import StepEntry, render_entries
from learn.skill.optimizer import Briefing
from learn.skill.records import StepRecord
from learn.skill.standing import Standing


@dataclass
class TrainingState:
    """Where a run stands."""

    current: str
    """The skill that is edited."""
    standing: Standing
    """Of the current skill, on validation."""
    best: str
    best_standing: Standing
    current_origin: str = "initial"
    best_origin: str = "initial"
    best_step: int = 0
    updates: int = 0
    """Steps that had something to choose from; the schedule counts them."""
    idle: int = 0
    """Steps in a row without an accepted candidate."""
    entries: list[StepEntry] = field(default_factory=list)
    """The steps of this epoch, for the optimizer."""
    meta: str = ""
    """What the optimizer noted for itself."""
    history: list[StepRecord] = field(default_factory=list)
    reached: int = 0
    """Steps that the folder held when the run began: until then its files say more."""

    @property
    def briefing(self) -> Briefing:
        """What the optimizer is told with each question."""
        return Briefing(self.current, render_entries(self.entries), self.meta)

    def accept(self, skill: str, standing: Standing, origin: str) -> None:
        """Make a skill the current one."""
        self.current, self.standing, self.current_origin = skill, standing, origin

    def crown(self, step: int) -> None:
        """Make the current skill the best one."""
        self.best, self.best_standing, self.best_origin = self.current, self.standing, self.current_origin
        self.best_step = step

    def save(self, folder: SkillFolder, *, finished: bool = False) -> None:
        """Write the steps, the best skill and `runtime_state.json`; not while a run does what it had done before."""
        last = self.history[-1].step if self.history else 0
        if last < self.reached and not finished:
            return
        if self.history:
            folder.write_json(HISTORY, [*self.history])
        folder.write_text(BEST, self.best)
        folder.write_json(
            STATE,
            RuntimeState(
                last_completed_step=last,
                current_skill_path=skill_path(last),
                current_score=self.standing.score,
                current_origin=self.current_origin,
                best_skill_path=BEST,
                best_score=self.best_standing.score,
                best_step=self.best_step,
                best_origin=self.best_origin,
                finished=finished,
            ),
        )
