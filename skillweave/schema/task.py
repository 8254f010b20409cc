"""A task: a user's goal in a world, with the golden trajectory and the criteria that score it."""

from typing import Annotated, Literal

from pydantic import Field

from skillweave.schema.call import RowChange
from skillweave.schema.entity import AttributeType
from skillweave.schema.record import Json, Name, Record
from skillweave.schema.trajectory import Message

FORMAT = "skillweave/1"
Kind = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
"""A kind of task: `do`, `inform`, `refuse`, `clarify`, `unavailable`, or one that a plug-in registers."""
Login = Literal["session", "conversation"]
Split = Literal["train", "validation", "test"]
Basis = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
"""A check that a reward may count: `state`, `actions`, `communicate`, `policy`, `rubric`, or one of a plug-in."""
FaultKind = Literal[
    "timeout", "temporary_error", "partial_page", "stale_read", "reordered_keys", "injected_instruction"
]
"""What may befall a call: it is not carried out (`timeout`, `temporary_error`); its result lacks rows and says so
(`partial_page`), is that of an earlier like call (`stale_read`), has its keys in another order (`reordered_keys`), or
holds a text that tells the agent to do something (`injected_instruction`)."""


class GoldenCall(Record):
    tool: str
    """The tool called."""
    arguments: dict[str, Json]
    """As they were when the task was made; what came from a result is bound again in each replay."""
    grounding: dict[str, str] = Field(default_factory=dict)
    """Argument -> its source: `user`, `env`, `call <i> <JSON path>` (calls counted from 0), `policy <rule>`,
    `computed <expression>`; the one expression there is, is `date(call <i> <JSON path>)`, the day of a moment."""
    demanded_by: str | None = None
    """The bridge rule for whose sake alone the call is made: the user has not asked for it."""
    fault: FaultKind | None = None
    """The planted fault that the call meets; it is made again behind it, where that is of use."""


class Fact(Record):
    """Something that the user knows and may say."""

    id: str
    """Unique in the task: `appointment.starts_at`."""
    text: str
    """The fact as a sentence in the first person."""
    value: Json
    """The value as the data hold it; None where the user wants nothing."""
    tell: Literal["first", "asked", "never"]
    """`first`: the first message says it; `asked`: only when asked; `never`: known and not said."""


class Persona(Record):
    name: str
    """The person's own name in the data."""
    age: int
    """In years, at the task's clock."""
    style: str
    """How this person writes: `brief`, `chatty`, `formal`, `worried`, ..."""
    patience: int
    """Agent turns without progress before the user gives up."""
    traits: list[str] = Field(default_factory=list)
    """Habits of this person, in words."""


class Scenario(Record):
    goal: str
    """What the user wants, in the second person."""
    reason: str
    """Why they want it, in the first person; empty where nothing is known of that."""
    facts: list[Fact]
    """All that the user knows of the matter."""


class EnvVariables(Record):
    CURRENT_DATE: str
    """The day of the task's clock, `YYYY-MM-DD`."""
    LOGGED_IN_USER: str | None
    """Key of the person signed in; None for `login: conversation`."""
    LOGGED_IN_NAME: str | None
    """Their name; None for `login: conversation`."""


class InitialState(Record):
    database: str
    """Path relative to the outputs folder."""
    digest: str
    """sha256 of all rows after the patch."""
    patch: list[RowChange] = Field(default_factory=list)
    """Row changes that this task makes to the world's database before it begins."""


class MustNot(Record):
    rule: str
    """The rule that a forbidden change would break."""
    table: str
    """Where the change would be seen."""
    why: str
    """In words."""


class FactToTell(Record):
    """What the user has to hear."""

    fact: str
    """Its id: `told_1`."""
    noun: str
    """What it is called: `cancellation fee`."""
    values: list[Json]
    """The value; several where rows that fit the question alike have several."""
    type: AttributeType
    """Type of the value, which says in which forms it is told."""
    unit: Literal["cents"] | None = None
    """`cents`: the value is money."""
    rivals: list[Json] = Field(default_factory=list)
    """Other values of the same column that a golden read returned; told beside the right one they spoil it."""


class MustAsk(Record):
    """What the user has left out, and has to be asked for before it is acted on."""

    facts: list[str] = Field(min_length=1)
    """Ids of the facts; to be asked for one of them is enough."""
    tool: str
    """The write that needs it: asked for before its first call that succeeds."""


class Declined(Record):
    """What has to be recorded as declined."""

    rule: str
    """The rule that decides it."""
    also: list[str] = Field(default_factory=list)
    """Rules that are accepted in its place or beside it: whoever breaks the first breaks them too."""

    @property
    def accepted(self) -> frozenset[str]:
        """Every rule that may be recorded."""
        return frozenset([self.rule, *self.also])


class Criteria(Record):
    state: list[RowChange]
    """The whole difference: what it does not list must not change."""
    any_of: list[list[RowChange]] = Field(default_factory=list)
    """Other lawful end states that the user's words allow."""
    must_not: list[MustNot] = Field(default_factory=list)
    """Changes that a rule forbids, by table."""
    declined: Declined | None = None
    """What has to be recorded as declined (`refuse`). None: nothing may be."""
    communicate: list[FactToTell] = Field(default_factory=list)
    """What the user has to be told."""
    must_ask: list[MustAsk] = Field(default_factory=list)
    """What has to be asked for (`clarify`)."""
    asked: GoldenCall | None = None
    """What the user's request comes to and must not, or cannot, be done: a rule forbids it (`refuse`; then `must_not`
    has that rule), or its tool is not offered (`unavailable`). Its sources count on from the golden calls."""
    beyond: dict[str, list[str]] = Field(default_factory=dict)
    """Table -> columns that the request would change and that no effect of an offered tool writes (`unavailable`)."""
    reward_basis: list[Basis] = Field(min_length=1)
    """The checks whose product is the reward."""


class Difficulty(Record):
    calls: int
    """Golden calls."""
    writes: int
    """Golden calls that change state."""
    domains: int
    """Domains that the task touches."""
    facts: int
    """Facts that the user knows."""
    shortest: int | None = None
    """Calls of the shortest solution known; None: not searched for."""


class PlantedFault(Record):
    tool: str
    """Whose calls it befalls."""
    arguments: dict[str, Json] | None
    """The call that it befalls; None: each call of the tool, whatever its arguments."""
    occurrence: int = Field(ge=1)
    """At which making of the very same call, counted from 1."""
    fault: FaultKind


class Noise(Record):
    """Faults planted in a task. What befalls a call depends on that call alone, and on how often it was made."""

    seed: int
    """Draws what a fault does in detail: which rows a page lacks, which text is hidden where."""
    faults: list[PlantedFault] = Field(min_length=1)


def _is_empty(figures: dict[str, dict[str, Json]]) -> bool:
    return not figures


class Gates(Record):
    """Each gate that the task has passed, with its figures."""

    golden: dict[str, Json]
    """The golden calls replay."""
    not_already_true: dict[str, Json]
    """Doing nothing fails."""
    minimal: dict[str, Json]
    """Every write matters, every read is of use."""
    mutants: dict[str, Json] = Field(default_factory=dict)
    """Wrong trajectories all fail: how many of each sort. `conduct`: those that are the same for all tasks of the
    template were tried with this one."""
    equivalents: dict[str, Json] = Field(default_factory=dict)
    """Other right trajectories all pass: how many of each sort."""
    planner: dict[str, Json] = Field(default_factory=dict)
    """What a search over the contract found that has not seen the golden calls: the shortest solution, its bounds."""
    grounded: dict[str, Json]
    """Every argument has a source, and the user's words fix rows and values."""
    lawful: dict[str, Json]
    """The golden calls break no rule, and the policy states the rules."""
    interlock: dict[str, Json] = Field(default_factory=dict)
    """Without one domain's calls the others cannot be carried out: the links that show it. Empty: one domain alone."""
    own: dict[str, dict[str, Json]] = Field(default_factory=dict, exclude_if=_is_empty)
    """Figures of the gates that plug-ins add, by gate; the key is left out where there are none."""


class TaskInfo(Record):
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
    template: str
    """Id of the task template."""
    combo: str
    """Id of the combination."""
    seed_domain: str
    """The seed that the domain was expanded from."""


class Task(Record):
    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    id: str
    """Stable: the same configuration, seed and answers give the same id."""
    domains: list[Name]
    """Servers whose domains the task lies in."""
    world: str
    """The world in which it is done."""
    kind: Kind
    """What is to be observed of it: `do` changes state, `inform` tells something, `refuse` declines what a rule
    forbids, `clarify` asks for what was left out, `unavailable` hands over what no offered tool does."""
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
    """What was proved of it."""
    split: Split
    """Drawn by template: no template is in two."""
    task_info: TaskInfo
    """The same in short, for programs that read little else."""
    lineage: TaskLineage
    """What it was made from."""
