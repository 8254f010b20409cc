"""A task: a user's goal in a world, with the golden trajectory and the criteria that score it."""

from typing import Literal

from pydantic import Field

from skillweave.schema.change import RowChange
from skillweave.schema.entity import AttributeType
from skillweave.schema.message import Message
from skillweave.schema.names import Name
from skillweave.schema.record import Json, Record

FORMAT = "skillweave/1"
Kind = Literal["do", "inform", "refuse", "clarify", "unavailable"]
Login = Literal["session", "conversation"]
Split = Literal["train", "validation", "test"]
Basis = Literal["state", "communicate", "policy"]


class GoldenCall(Record):
    tool: str
    arguments: dict[str, Json]
    grounding: dict[str, str] = Field(default_factory=dict)
    """Argument -> its source: `user`, `env`, `call <i> <JSON path>` (calls counted from 0), `policy <rule>`,
    `computed <expression>`."""


class Fact(Record):
    """Something that the user knows and may say."""

    id: str
    text: str
    """The fact as a sentence in the first person."""
    value: Json
    tell: Literal["first", "asked", "never"]


class Persona(Record):
    name: str
    age: int
    style: str
    """How this person writes: `brief`, `chatty`, `formal`, `worried`, ..."""
    patience: int
    """Agent turns without progress before the user gives up."""
    traits: list[str] = Field(default_factory=list)


class Scenario(Record):
    goal: str
    """What the user wants, in the second person."""
    reason: str
    facts: list[Fact]


class EnvVariables(Record):
    CURRENT_DATE: str
    LOGGED_IN_USER: str | None
    LOGGED_IN_NAME: str | None


class InitialState(Record):
    database: str
    """Path relative to the outputs folder."""
    digest: str
    """sha256 of all rows after the patch."""
    patch: list[RowChange] = Field(default_factory=list)


class MustNot(Record):
    rule: str
    table: str
    why: str


class FactToTell(Record):
    """What the user has to hear."""

    fact: str
    noun: str
    """Words, one of which stands in the sentence that tells it: `cancellation fee`."""
    values: list[Json]
    """The value, in each of its accepted forms."""
    type: AttributeType
    unit: Literal["cents"] | None = None
    rivals: list[Json] = Field(default_factory=list)
    """Other values of the same column that a golden read returned; told beside the right one they spoil it."""


class Criteria(Record):
    state: list[RowChange]
    """The whole difference: what it does not list must not change."""
    any_of: list[list[RowChange]] = Field(default_factory=list)
    """Other lawful end states that the user's words allow."""
    must_not: list[MustNot] = Field(default_factory=list)
    communicate: list[FactToTell] = Field(default_factory=list)
    reward_basis: list[Basis]


class Difficulty(Record):
    calls: int
    writes: int
    domains: int
    facts: int
    shortest: int | None = None


class Gates(Record):
    """Each gate that the task has passed, with its figures."""

    golden: dict[str, Json]
    not_already_true: dict[str, Json]
    minimal: dict[str, Json]
    mutants: dict[str, Json] = Field(default_factory=dict)
    """Empty: not run."""
    equivalents: dict[str, Json] = Field(default_factory=dict)
    """Empty: not run."""
    grounded: dict[str, Json]
    lawful: dict[str, Json]


class TaskInfo(Record):
    trajectory: list[str]
    instruction: str
    reason_for_call: str
    known_info: str
    trajectory_hash: str
    combo_id: str


class Lineage(Record):
    template: str
    combo: str
    seed_domain: str


class Task(Record):
    format: Literal["skillweave/1"] = "skillweave/1"
    id: str
    domains: list[Name]
    world: str
    kind: Kind
    login: Login
    messages: list[Message]
    user_system_prompt: str
    persona: Persona
    scenario: Scenario
    now: str
    namespaces: dict[str, str] = Field(default_factory=dict)
    noise: None = None
    env_variables: EnvVariables
    tools: str
    tools_hidden: list[str] = Field(default_factory=list)
    policy: str
    initial_state: InitialState
    golden: list[GoldenCall]
    criteria: Criteria
    difficulty: Difficulty
    gates: Gates
    split: Split
    task_info: TaskInfo
    lineage: Lineage
