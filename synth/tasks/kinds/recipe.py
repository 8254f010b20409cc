"""The base of all kinds of task on the making side: what a kind decides while tasks are made.

A kind of one's own is a subclass. Its module registers an instance, beside the scoring side of the same name
(`evaluator.kinds`):

    from synth.tasks.kinds import KINDS, KindRecipe

    class CallbackRecipe(KindRecipe):
        def templates(self, goals, source):
            return [goal.model_copy(update={"id": f"{goal.id}_callback", "kind": "callback"}) for goal in goals]

    KINDS.register("callback", CallbackRecipe())

Whatever it does not override holds as for `inform`: reads and writes whose results are told.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar, NamedTuple, Protocol

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Belief, Calculation, CallTerms, Combination, MentionedRow, MentionedValue
from skillweave.schema.contract import DECLINE, CallResult, RowChange
from skillweave.schema.criteria import Criteria, Declined, FactToTell, GoldenCall, RequestForm
from skillweave.schema.task import Split
from skillweave.schema.template import Goal, TaskTemplate, ToolGraph
from skillweave.world.world import World

ASKED = -1
"""The place of the call that is asked for and not made, until it is known how many golden calls come before it."""
UNDONE = -2
"""The place of the first call that is not wanted as things are; the next have -3, -4, ..."""


class AbleToAsk(Protocol):
    """Says which persons have an instance of a template."""

    @property
    def persons(self) -> Sequence[str]:
        """Keys of the persons who may be asked about, the most active first."""
        ...

    def __call__(self, template: TaskTemplate, among: Collection[str]) -> frozenset[str]:
        """Those of some persons who have one."""
        ...


class TemplateSource(NamedTuple):
    """The world that templates follow from."""

    blueprint: Blueprint
    graph: ToolGraph
    referred_by: Mapping[str, Sequence[str]]
    """Read -> columns of its result by which people refer to its rows, best first."""
    bridge_rules: Collection[str] | None = None
    """Of a fused world: the bridge rules by which a request may be declined. None: a world of one domain."""
    able: AbleToAsk | None = None
    """Says who has an instance of a template; None where that is not known."""
    split_of: Callable[[Sequence[TaskTemplate]], Mapping[str, Split]] | None = None
    """Template -> its split, of all templates that are no compounds; None: they are all in one."""


@dataclass
class Instance:
    """An instance of a template for one caller, as far as it has been built."""

    golden: list[GoldenCall] = field(default_factory=list)
    results: list[CallResult] = field(default_factory=list)
    """One for each golden call."""
    steps: list[int] = field(default_factory=list)
    """Which golden calls are the template's own, in its order; the others look something up."""
    rows: list[MentionedRow] = field(default_factory=list)
    values: list[MentionedValue] = field(default_factory=list)
    open_columns: dict[str, list[str]] = field(default_factory=dict)
    """Table -> columns that are not compared: the user has no preference about them."""
    communicate: list[FactToTell] = field(default_factory=list)
    asked: GoldenCall | None = None
    """The call that is asked for and not made; it comes behind the golden calls."""
    forbidden: list[str] = field(default_factory=list)
    """The rules that it would break."""
    fresh_from: int = 0
    """Index of the first golden call since the last write: look-ups from there on still show the present state."""
    asked_after: int | None = None
    """Golden calls before the request for `asked` is judged; None: all."""
    undone: list[GoldenCall] = field(default_factory=list)
    """Calls that are not wanted as things are; the first has the place `UNDONE`, the next one less, and so on."""
    forms: list[RequestForm] = field(default_factory=list)
    terms: list[CallTerms] = field(default_factory=list)
    questions: list[Calculation] = field(default_factory=list)
    beliefs: dict[str, Belief] = field(default_factory=dict)
    any_of: list[list[GoldenCall]] = field(default_factory=list)
    """Other courses that are as right."""
    insists: int = 0


class InstanceSetting(NamedTuple):
    """What an instance was built from."""

    world: World
    template: TaskTemplate
    changes: Sequence[RowChange]
    """What the golden calls have changed."""
    random: Random
    """Drawn from the run's seed, the template and the caller."""


class FailurePoint(NamedTuple):
    """Where a caller who has no instance got stuck, comparable by how far they got."""

    call: int
    """The template's call, counted from 0."""
    guard: int
    """The call's guard at which the nearest arguments fail, counted from 0; -1: there are no arguments at all; the
    number of guards: they pass all of them, and a row cannot be looked up."""
    why: str = ""
    """In words for an author: which row cannot be looked up, which link leads nowhere, why nothing can be told."""
    example: str = ""
    """A value of which that is so."""


class NoInstance(Exception):
    """Why no instance came of a template for a caller; the message is the reason that is counted."""

    def __init__(
        self, reason: str, call: int = 0, stop: FailurePoint | None = None, *, is_unseen: bool = False
    ) -> None:
        super().__init__(reason)
        self.call = call
        """The template's call, counted from 0, beyond which it did not get."""
        self.stop = stop
        """Set where an explanation was asked for."""
        self.is_unseen = is_unseen
        """Whether the call could be made, and a row that it names cannot be looked up."""


class KindRecipe:
    """How tasks of one kind are made. One recipe serves all tasks of the kind; it keeps nothing."""

    limit: ClassVar[str] = ""
    """The parameter of s15 that bounds the instances of one template, for example `per_refusal`. Empty: as for goals,
    `per_template`, or `per_storyline` in a fused world."""
    is_for_fused_worlds: ClassVar[bool] = False
    """Whether templates of this kind also follow from the stories of a fused world."""

    changes_state: ClassVar[bool] = False
    """Whether the golden calls of each task must change something, so that doing nothing fails."""
    withholds: ClassVar[bool] = False
    """Whether the user leaves something out of the request that has to be asked for."""

    def goal_faults(self, goal: Goal, blueprint: Blueprint) -> Iterator[str]:
        """Why a goal that an author gave this kind cannot have it, in words for the author."""
        return iter(())

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> list[TaskTemplate]:
        """The templates of this kind that follow from the goals and rules of a world, without asking anybody.

        Args:
            goals: The templates of what people want there.
        """
        return []

    def finish(self, instance: Instance, setting: InstanceSetting) -> list[str]:
        """Turn an instance whose calls were all made into one of this kind, by changing it.

        Returns:
            Names of the tools that the task does not offer.

        Raises:
            NoInstance: It cannot become one. The message is a fixed text, so that reasons can be counted.
        """
        return []

    def misfit(self, world: World, combination: Combination) -> str | None:
        """Why a combination is no good for this kind, as a text that can be counted; None if it will do.

        Others are then looked for, up to a bound.
        """
        return None

    def criteria(self, world: World, combination: Combination, criteria: Criteria) -> Criteria:
        """The criteria of a task of this kind, given those that follow from what its golden calls change and tell.

        Where something is declined: the rule that decides it, and those that are broken with it.
        """
        if not combination.forbidden:
            return criteria
        first, *others = combination.forbidden
        return criteria.model_copy(update={"declined": Declined(rule=first, also=others)})

    def ending(self, combination: Combination) -> list[GoldenCall]:
        """Golden calls that a task has behind those of its combination: the record of what is declined."""
        if not combination.forbidden:
            return []
        rule = combination.forbidden[0]
        return [GoldenCall(tool=DECLINE, arguments={"rule": rule}, grounding={"rule": f"policy {rule}"})]
