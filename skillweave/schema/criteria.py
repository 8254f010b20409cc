"""What a session is scored against: the reference calls, the criteria, and the courses that prove a form of request."""

import operator
from typing import Annotated, Literal

from pydantic import Field

from skillweave.schema.contract import RowChange
from skillweave.schema.entity import AttributeType
from skillweave.schema.record import Json, Record

FormName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
"""A form of request: `choice`, `condition`, `fallback`, `batch`, `aggregate`, `comparison`, `false_premise`,
`change_of_mind`, `errands`, `pressure`, `what_if`, or one that a plug-in registers."""


Basis = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
"""A check that a reward may count: `state`, `actions`, `communicate`, `policy`, `rubric`, or one of a plug-in."""


FaultKind = Literal[
    "timeout", "temporary_error", "partial_page", "stale_read", "reordered_keys", "injected_instruction"
]
"""What a fault does: the call is not carried out (`timeout`, `temporary_error`); its result lacks rows and says so
(`partial_page`), is that of an earlier equal call (`stale_read`), has its keys in another order (`reordered_keys`), or
contains a text that tells the agent to do something (`injected_instruction`)."""


class GoldenCall(Record):
    """One call of the reference solution."""

    tool: str
    """The tool called."""
    arguments: dict[str, Json]
    """Arguments at the time when the task was made. A replay takes those that came from results from its own
    results."""
    grounding: dict[str, str] = Field(default_factory=dict)
    """Argument -> its source: `user`, `env`, `call <i> <JSON path>` (calls counted from 0), `policy <rule>`,
    `computed <expression>`: `date(call <i> <JSON path>)`, the day of a moment, or `next page`, of the list that an
    earlier call began."""
    demanded_by: str | None = None
    """The bridge rule that demands the call; the user has not asked for it."""
    fault: FaultKind | None = None
    """The planted fault that the call meets. If the fault spoils it, the same call follows once more."""
    asked_later: bool = Field(default=False, exclude_if=operator.not_)
    """Whether the user asks for it with what they come out with later. The key is left out if they ask at once."""


class MustNot(Record):
    """A change that must not happen."""

    rule: str
    """The rule that a forbidden change would break."""
    table: str
    """The table in which the change would be seen."""
    why: str
    """The reason in words."""


class Foreseen(Record):
    """What calls would result in that nobody makes: a fee before it falls due."""

    calls: list[GoldenCall] = Field(min_length=1)
    """The calls, each to be thought of as made alone, with its arguments as they stand."""
    column: str
    """The column of their results that counts; over several calls it is added up."""


class FactToTell(Record):
    """A fact that the user has to be told."""

    fact: str
    """Its id: `told_1`."""
    noun: str
    """What it is called: `cancellation fee`."""
    values: list[Json] = Field(min_length=1)
    """The value; several if rows that fit the question equally well have different ones."""
    type: AttributeType
    """Type of the value; it decides in which forms the value may be told."""
    unit: Literal["cents"] | None = None
    """`cents`: the value is money."""
    rivals: list[Json] = Field(default_factory=list)
    """Other values of the same column that a golden read returned. Telling one of them as well is an error."""
    parts: list[Json] = Field(default_factory=list, exclude_if=operator.not_)
    """The values of results from which it is computed: a sum, a difference. It can be known once calls have returned
    all of them. The key is left out if a result holds the value itself."""
    foreseen: Foreseen | None = Field(default=None, exclude_if=operator.not_)
    """Set if no result shows the value, since it follows from the policy: what calls would result in that are not made.
    The key is left out otherwise."""
    asked_later: bool = Field(default=False, exclude_if=operator.not_)
    """Whether the user asks for it with what they come out with later. The key is left out if they ask at once."""

    @property
    def shown(self) -> list[list[Json]]:
        """What results have to show before it can be known: of each list one value.

        Nothing where it is foreseen: the policy may give it away by itself.
        """
        if self.foreseen:
            return []
        return [[part] for part in self.parts] if self.parts else [self.values]


class MustAsk(Record):
    """Something that the user has left out, and that the agent has to ask for before it acts."""

    facts: list[str] = Field(min_length=1)
    """Ids of the facts; asking for one of them is enough."""
    tool: str
    """The write that needs it: the agent has to ask before its first successful call."""


class Declined(Record):
    """A request that has to be recorded as declined."""

    rule: str
    """The rule that decides it."""
    also: list[str] = Field(default_factory=list)
    """Rules that are accepted too: whoever breaks the first rule breaks them as well."""

    @property
    def accepted(self) -> frozenset[str]:
        """Every rule that may be recorded for it."""
        return frozenset([self.rule, *self.also])


class Criteria(Record):
    """What a session is scored against."""

    state: list[RowChange]
    """The whole difference: what it does not list must not change."""
    any_of: list[list[RowChange]] = Field(default_factory=list)
    """Other lawful end states that the user's words allow."""
    must_not: list[MustNot] = Field(default_factory=list)
    """Changes that a rule forbids, by table."""
    declined: Declined | None = None
    """What has to be recorded as declined (`refuse`). None: nothing may be declined."""
    communicate: list[FactToTell] = Field(default_factory=list)
    """What the user has to be told."""
    must_ask: list[MustAsk] = Field(default_factory=list)
    """What the agent has to ask for (`clarify`)."""
    asked: GoldenCall | None = None
    """The call that the user asks for and that must not, or cannot, be made: a rule forbids it (`refuse`; then
    `must_not` has that rule), or its tool is not offered (`unavailable`). Its grounding counts on from the golden
    calls."""
    undone: list[GoldenCall] = Field(default_factory=list, exclude_if=operator.not_)
    """Calls that the user would want if things were otherwise. The key is left out if there are none."""
    thought_better_of: list[int] = Field(default_factory=list, exclude_if=operator.not_)
    """Golden calls in whose place the user wants later ones; no trace of them need be left. The key is left out if
    there are none."""
    asked_after: int | None = Field(default=None, exclude_if=operator.not_)
    """How many golden calls are made before the request for `asked` is judged; all, if the key is left out."""
    beyond: dict[str, list[str]] = Field(default_factory=dict)
    """Table -> columns that the request would change and that no effect of an offered tool writes (`unavailable`)."""
    reward_basis: list[Basis] = Field(min_length=1)
    """The checks whose product is the reward."""

    @property
    def is_declined_later(self) -> bool:
        """Whether what is to be declined is asked for with what the user comes out with later."""
        return self.declined is not None and self.asked is not None and self.asked.asked_later


class Course(Record):
    """Calls that an agent may make in place of the golden ones, by which a form of request is proven."""

    name: str
    """What it does: `runner_up`, `other_branch`, `exception_included`."""
    calls: list[GoldenCall]
    """All calls, sign-in included. Their grounding is empty: the arguments are meant as they stand."""
    told: bool = True
    """Whether the user is then told all that is to be told."""


class RequestForm(Record):
    """A form in which the request is put: people rarely name a deed and each detail of it."""

    name: FormName
    """Its name."""
    figures: dict[str, Json] = Field(default_factory=dict)
    """What its proof has shown."""
    wrong: list[Course] = Field(default_factory=list)
    """Courses that the form invites and that must fail."""
    right: list[Course] = Field(default_factory=list)
    """Other courses that do what is wanted, and must pass."""
    foreseen: list[str] = Field(default_factory=list, exclude_if=operator.not_)
    """Writes whose outcome has to be worked out before they are made, if they are. The key is left out if there are
    none."""
