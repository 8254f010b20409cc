"""A task: a user's goal in a world, with the golden trajectory and the criteria that score it."""

import operator
from typing import Annotated, Literal

from pydantic import Field

from skillweave.schema.contract import RowChange
from skillweave.schema.entity import AttributeType
from skillweave.schema.record import Json, Name, Record
from skillweave.schema.trajectory import Message

FORMAT = "skillweave/1"
Kind = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
"""A kind of task: `do`, `inform`, `refuse`, `clarify`, `unavailable`, or one that a plug-in registers."""
FormName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
"""A form of request: `choice`, `condition`, `fallback`, `batch`, `aggregate`, `comparison`, `false_premise`,
`change_of_mind`, `errands`, `pressure`, or one that a plug-in registers."""
Moment = Literal["second_message", "after_report"]
"""When the user comes out with a later wish: in their second message, whatever the agent has said; or once what they
asked for before has been reported or answered."""
Login = Literal["session", "conversation"]
Split = Literal["train", "validation", "test"]
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
    `computed <expression>`; the one expression there is, is `date(call <i> <JSON path>)`, the day of a moment."""
    demanded_by: str | None = None
    """The bridge rule that demands the call; the user has not asked for it."""
    fault: FaultKind | None = None
    """The planted fault that the call meets. If the fault spoils it, the same call follows once more."""


class Fact(Record):
    """Something that the user knows and may say."""

    id: str
    """Unique in the task: `appointment.starts_at`."""
    text: str
    """The fact as a sentence in the first person."""
    value: Json
    """The value as the data hold it; None if the user wants nothing."""
    tell: Literal["first", "asked", "later", "never"]
    """`first`: the first message says it; `asked`: the user says it when asked; `later`: the user says it with a later
    wish, and not before; `never`: the user knows it and does not say it."""


class Persona(Record):
    """Who the user is, and their manner."""

    name: str
    """The person's own name in the data."""
    age: int
    """In years, at the task's clock."""
    style: str
    """How this person writes: `brief`, `chatty`, `formal`, `worried`, ..."""
    patience: int
    """Messages of the agent without progress before the user gives up."""
    traits: list[str] = Field(default_factory=list)
    """Habits of this person, in words."""


class LaterWish(Record):
    """What the user comes out with in the course of the conversation: another wish, or another mind."""

    when: Moment
    """When they say it."""
    says: str
    """What they say, in the first person."""
    facts: list[str] = Field(default_factory=list)
    """Ids of the facts that it says."""


class Scenario(Record):
    """What the user wants and knows."""

    goal: str
    """What the user wants, in the second person."""
    reason: str
    """Why they want it, in the first person; empty if nothing is known about that."""
    facts: list[Fact]
    """Everything that the user knows about the matter."""
    later: LaterWish | None = Field(default=None, exclude_if=operator.not_)
    """What they come out with later; the key is left out if there is nothing."""
    insists: list[str] = Field(default_factory=list, exclude_if=operator.not_)
    """What they say when something is declined, one after the other, before they accept it; the key is left out if they
    accept it at once."""

    @property
    def said_later(self) -> list[str]:
        """All that they say in the course of the conversation: the later wish, and how they insist."""
        return [*([self.later.says] if self.later else []), *self.insists]


class EnvVariables(Record):
    """What the agent is told about the session."""

    CURRENT_DATE: str
    """The day of the task's clock, `YYYY-MM-DD`."""
    LOGGED_IN_USER: str | None
    """Key of the person signed in; None for `login: conversation`."""
    LOGGED_IN_NAME: str | None
    """Their name; None for `login: conversation`."""


class InitialState(Record):
    """The database with which the session opens."""

    database: str
    """Path relative to the outputs folder."""
    digest: str
    """sha256 of all rows after the patch."""
    patch: list[RowChange] = Field(default_factory=list)
    """Row changes that this task makes to the world's database before it begins."""


class MustNot(Record):
    """A change that must not happen."""

    rule: str
    """The rule that a forbidden change would break."""
    table: str
    """The table in which the change would be seen."""
    why: str
    """The reason in words."""


class FactToTell(Record):
    """A fact that the user has to be told."""

    fact: str
    """Its id: `told_1`."""
    noun: str
    """What it is called: `cancellation fee`."""
    values: list[Json]
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

    @property
    def shown(self) -> list[list[Json]]:
        """What results have to show before it can be known: of each list one value."""
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
    asked_after: int | None = Field(default=None, exclude_if=operator.not_)
    """How many golden calls are made before the request for `asked` is judged; all, if the key is left out."""
    beyond: dict[str, list[str]] = Field(default_factory=dict)
    """Table -> columns that the request would change and that no effect of an offered tool writes (`unavailable`)."""
    reward_basis: list[Basis] = Field(min_length=1)
    """The checks whose product is the reward."""


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


class Difficulty(Record):
    """How much there is to do."""

    level: int = Field(default=1, ge=1, le=5)
    """1 to 5, from the figures below and the forms of the request (`synth.tasks.difficulty`)."""

    calls: int
    """Golden calls."""
    writes: int
    """Golden calls that change state."""
    domains: int
    """Domains that the task touches."""
    facts: int
    """Facts that the user knows."""
    shortest: int | None = None
    """Calls of the shortest solution known; None: no search was made."""


class PlantedFault(Record):
    """A fault that certain calls meet."""

    tool: str
    """The tool whose calls meet it."""
    arguments: dict[str, Json] | None
    """Arguments of the call that meets it; None: any arguments."""
    occurrence: int = Field(ge=1)
    """The call meets it when it is made for this time, counted from 1."""
    fault: FaultKind
    """What happens."""


class Noise(Record):
    """Faults planted in a task. Which fault a call meets depends on that call alone, and on how often it was made."""

    seed: int
    """Draws the details of a fault: which rows a page lacks, which text is injected where."""
    faults: list[PlantedFault] = Field(min_length=1)
    """The faults."""


class Gates(Record):
    """Each gate that the task has passed, with its figures."""

    golden: dict[str, Json]
    """The golden calls replay."""
    not_already_true: dict[str, Json]
    """Doing nothing fails."""
    minimal: dict[str, Json]
    """Every write matters, and every read is of use."""
    mutants: dict[str, Json] = Field(default_factory=dict)
    """Wrong trajectories all fail: how many of each sort. `conduct`: mutants that are the same for all tasks of the
    template were tried on this one."""
    equivalents: dict[str, Json] = Field(default_factory=dict)
    """Other right trajectories all pass: how many of each sort."""
    planner: dict[str, Json] = Field(default_factory=dict)
    """What a search over the contract found without seeing the golden calls: the shortest solution and its bounds."""
    grounded: dict[str, Json]
    """Every argument has a source, and the user's words determine rows and values."""
    lawful: dict[str, Json]
    """The golden calls break no rule, and the policy states the rules."""
    interlock: dict[str, Json] = Field(default_factory=dict)
    """Without one domain's calls the others cannot be carried out: the links that show it. Empty for a single
    domain."""
    forms: dict[str, Json] = Field(default_factory=dict, exclude_if=operator.not_)
    """What the form of the request turns on, by form. The key is left out for a plain request."""
    own: dict[str, dict[str, Json]] = Field(default_factory=dict, exclude_if=operator.not_)
    """Figures of the gates that plug-ins add, by gate; the key is left out if there are none."""


class TaskInfo(Record):
    """The task in short, for programs that read little else."""

    trajectory: list[str]
    """Names of the golden calls' tools, in order."""
    instruction: str
    """The goal, in the second person."""
    reason_for_call: str
    """Why the user calls."""
    known_info: str
    """The user's facts in their words, one after the other."""
    trajectory_hash: str
    """sha256 of the golden calls with their arguments."""
    combo_id: str
    """The combination that it was made from."""


class TaskLineage(Record):
    """What a task was made from."""

    template: str
    """Id of the task template."""
    combo: str
    """Id of the combination."""
    seed_domain: str
    """The seed that the domain was derived from."""


class Task(Record):
    """A user's goal in a world, with the golden calls and the criteria that score it."""

    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    id: str
    """Stable: the same configuration, seed and answers give the same id."""
    domains: list[Name]
    """Servers whose domains the task needs."""
    world: str
    """The world in which it is done."""
    kind: Kind
    """What is to be observed of it: `do` changes state, `inform` tells something, `refuse` declines what a rule
    forbids, `clarify` asks for what was left out, `unavailable` hands over what no offered tool does."""
    forms: list[RequestForm] = Field(default_factory=list, exclude_if=operator.not_)
    """The forms in which the request is put; the key is left out if it is a plain one."""
    login: Login
    """`session`: the channel has signed the user in; `conversation`: the agent has to."""
    messages: list[Message]
    """How the conversation begins: the user's first message."""
    user_system_prompt: str
    """How to play this user, in prose."""
    persona: Persona
    """Who the user is."""
    scenario: Scenario
    """What the user wants and knows."""
    now: str
    """The session's clock, `YYYY-MM-DD HH:MM:SS`."""
    namespaces: dict[str, str] = Field(default_factory=dict)
    """Server -> namespace of its tools; empty in a single-domain world."""
    noise: Noise | None = None
    """None: tools answer without planted faults."""
    env_variables: EnvVariables
    """What the agent is told about the session."""
    tools: str
    """Path of the tool list, relative to the outputs folder."""
    tools_hidden: list[str] = Field(default_factory=list)
    """Tools of that list that this task does not offer."""
    policy: str
    """Path of the policy, relative to the outputs folder."""
    initial_state: InitialState
    """The database with which the session opens."""
    golden: list[GoldenCall]
    """The reference calls."""
    criteria: Criteria
    """What a session is scored against."""
    difficulty: Difficulty
    """How much there is to do."""
    gates: Gates
    """What was proved about the task."""
    split: Split
    """Drawn by template: no template is in two splits."""
    task_info: TaskInfo
    """The task in short, for programs that read little else."""
    lineage: TaskLineage
    """What it was made from."""
