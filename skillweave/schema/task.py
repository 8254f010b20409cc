"""A task: a user's goal in a world, with the golden trajectory and the criteria that score it."""

import operator
import re
from typing import Annotated, Literal

from pydantic import Field

from skillweave.schema.contract import RowChange
from skillweave.schema.criteria import (
    Criteria,
    FaultKind,
    GoldenCall,
    RequestForm,
)
from skillweave.schema.record import Json, Name, Record
from skillweave.schema.trajectory import Message

FORMAT = "skillweave/1"


Kind = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
"""A kind of task: `do`, `inform`, `refuse`, `clarify`, `unavailable`, or one that a plug-in registers."""


Moment = Literal["second_message", "after_report"]
"""When the user comes out with a later wish: in their second message, whatever the agent has said; or once what they
asked for before has been reported or answered."""


Login = Literal["session", "conversation"]


Split = Literal["train", "validation", "test"]


_MONEY = re.compile(r".*_cents(_\d+)?")
"""Ids of facts that are amounts of money; a second one of a name has a number."""


def unit_of(fact: str) -> Literal["cents"] | None:
    """The unit of a fact's value, by its id: `cents` of `pay_balance.amount_cents_4`."""
    return "cents" if _MONEY.fullmatch(fact) else None


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
