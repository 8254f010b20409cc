"""The figures of a trace analysis: what `traces.json` holds.

Everything is over the compared tasks: those with scored trajectories before and after. Counts are of scored
trajectories; a trajectory without a score says nothing of the agent, and is counted under the side that holds it.
"""

from typing import Literal

from pydantic import Field

from skillweave.schema.record import Record
from skillweave.schema.result import AgentComparison, FailureClass, GroupComparison, ResultErrorKind

PASSED: Literal["passed"] = "passed"
UNKNOWN_TOOL = "(no such tool)"
"""Stands for every tool that the world does not have, by whatever name it was called."""

TraceOutcome = FailureClass | Literal["passed"]
"""How a trajectory ended."""
TaskMove = Literal["gained", "lost"]


class CallFigures(Record):
    """What the agent of one side did, over its trajectories of the compared tasks. Calls are as they replay."""

    trajectories: int = 0
    """Scored trajectories of the compared tasks."""
    turns: int = 0
    """Messages of the agent."""
    calls: int = 0
    """Calls made."""
    failed: int = 0
    """Calls that ended in an error."""
    malformed: int = 0
    """Failed calls that nobody can carry out: unreadable or invalid arguments, or no such tool."""
    repeated: int = 0
    """Calls that are equal to an earlier one of the same trajectory, with nothing written between."""
    writes: int = 0
    """Calls that changed a row."""
    asking: int = 0
    """Writes for which the policy wants the user's agreement, where the trajectory records what the user agreed to."""
    unconfirmed: int = 0
    """Those of them that were made without it."""
    transfers: int = 0
    """Trajectories that were handed over to a human."""


class ToolFigures(Record):
    """How often a tool was called."""

    tool: str
    """Its name without a namespace; `(no such tool)` stands for all that the world does not have."""
    calls_before: int
    """Calls before."""
    calls_after: int
    """Calls after."""
    failed_before: int
    """Those of them that ended in an error."""
    failed_after: int
    """Those of them that ended in an error."""
    before: float
    """Calls a trajectory before."""
    after: float
    """Calls a trajectory after."""

    @property
    def difference(self) -> float:
        """Calls a trajectory more than before."""
        return self.after - self.before


class TraceSide(Record):
    """The trajectories of one side."""

    title: str
    """What the side is called."""
    agent: str
    """`provider/model` of the agent; `unnamed` if the trajectories do not say."""
    user: str
    """`provider/model` of the simulated user; `unnamed` if the trajectories do not say."""
    trajectories: int
    """Trajectories in the folder."""
    scored: int
    """Those with a score."""
    not_scored: dict[ResultErrorKind | Literal["no_reward"], int] = Field(default_factory=dict)
    """Why others have none -> how many."""
    unreadable: list[str] = Field(default_factory=list)
    """Lines that are no trajectories, by file and number, and why: the first ones."""
    unreadable_lines: int = 0
    """Number of such lines."""
    calls: CallFigures = CallFigures()
    """What the agent did in the compared tasks."""


class TaskMoves(Record):
    """The compared tasks by what became of them."""

    gained: list[str]
    """Tasks with a higher pass rate after."""
    lost: list[str]
    """Tasks with a lower pass rate after."""
    kept: int
    """Tasks with the same pass rate, above 0."""
    failing: int
    """Tasks that no trial passes, before or after."""


class OutcomeMove(Record):
    """Trajectories that ended in one way before, and in one way after; trials of a task are paired in their order."""

    before: TraceOutcome
    """`passed`, or the class of failure."""
    after: TraceOutcome
    """`passed`, or the class of failure."""
    trajectories: int
    """Pairs of trajectories."""


class TraceExample(Record):
    """Two trajectories of one task that the page shows side by side."""

    move: TaskMove
    """Whether the task was gained or lost."""
    task_id: str
    """The task."""
    before: str
    """Id of the trajectory before."""
    after: str
    """Id of the trajectory after."""
    failure: FailureClass
    """How the one that failed did."""


class TraceFigures(Record):
    """`traces.json`: what changed between the trajectories of two agents, or of one agent before and after."""

    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    dataset: str
    """Digest of the dataset."""
    before: TraceSide
    """The first side."""
    after: TraceSide
    """The second side."""
    passes: AgentComparison
    """The passes, task by task; `a` is before, `b` after."""
    groups: dict[str, dict[str, GroupComparison]]
    """`world`, `split` -> value -> its tasks; kinds, forms and levels are in `passes`."""
    tasks: TaskMoves
    """What became of each task."""
    outcomes: list[OutcomeMove]
    """Failure classes before and after, the most frequent first."""
    tools: list[ToolFigures]
    """Each tool that was called, the largest changes first."""
    examples: list[TraceExample]
    """The examples of the page."""
