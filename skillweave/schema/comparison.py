"""Results beside each other: one agent's against another's, or before and after a change of the checks."""

from fractions import Fraction
from typing import Literal

from skillweave.schema.record import Record
from skillweave.schema.result import FailureClass


class Flip(Record):
    """A task that one side does better than the other."""

    task_id: str
    """The task."""
    a_passed: int
    """Trials of the first that passed."""
    a_scored: int
    """Trials of the first that were scored."""
    b_passed: int
    """Trials of the second that passed."""
    b_scored: int
    """Trials of the second that were scored."""
    failure: FailureClass | None
    """The most frequent class of failure of the worse one."""

    @property
    def gain(self) -> Fraction:
        """Rate of the second less rate of the first."""
        return Fraction(self.b_passed, self.b_scored) - Fraction(self.a_passed, self.a_scored)


class Comparison(Record):
    """One agent's results against another's, or its own from before, task by task. Each task counts the same."""

    agent_a: str
    """The first agent."""
    user_a: str
    """Its simulated user."""
    agent_b: str
    """The second agent."""
    user_b: str
    """Its simulated user."""
    tasks: int
    """Tasks that both have scored trials of."""
    rate_a: float | None
    """Mean over them of the first's pass rate; None where there are none."""
    rate_b: float | None
    """The same of the second."""
    difference: float | None
    """`rate_b` less `rate_a`."""
    low: float | None
    """Lower end of its interval, by bootstrap over tasks."""
    high: float | None
    """Upper end."""
    p: float | None
    """Two-sided, of the sign-flip test over tasks; with one trial a task that is McNemar's exact test."""
    is_exact: bool
    """Whether `p` is exact, or of a seeded sample."""
    flipped: list[Flip]
    """Tasks with different rates: those that the second does worse first, the largest differences before the others."""
    only_a: int
    """Tasks of which the first alone has scored trials."""
    only_b: int
    """Tasks of which the second alone has."""
    changed: int
    """Tasks that are not the same on both sides, by the digests of their records; they are not compared."""
    unscored_a: int
    """Results of the first without a score."""
    unscored_b: int
    """Results of the second without a score."""
    checks_versions: list[str]
    """Versions of the checks of both; with more than one the scores may differ by the checks alone."""


class Comparisons(Record):
    """What `compare --output` writes."""

    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    comparisons: list[Comparison]
    """One for each pair of agents."""


class Rescored(Record):
    """A result that another version of the checks scores otherwise."""

    id: str
    """Of the trajectory."""
    agent: str
    """`provider/model`; `unnamed` where the trajectory does not say."""
    user: str
    """The same of the simulated user."""
    before: bool | None
    """Whether it passed; None: not scored."""
    after: bool | None
    """Whether it passes now; None: not scored."""
    class_before: FailureClass | None
    """How it failed before."""
    class_after: FailureClass | None
    """How it fails now."""
    version_before: str
    """Version of the checks before."""
    version_after: str
    """Version of the checks now."""
