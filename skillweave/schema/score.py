"""A score: what each check says of a session; and what the evaluator finds out about a task's golden calls."""

from typing import Literal

from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from skillweave.schema.call import Call, RowChange
from skillweave.schema.record import Json, Record


class StateCheck(Record):
    score: float
    """1 or 0."""
    missing: list[RowChange] = Field(default_factory=list)
    """Changes that the task demands and that did not happen."""
    unexpected: list[RowChange] = Field(default_factory=list)
    """Changes that happened and that the task does not list."""


class MatchedCall(Record):
    golden: int
    """Position of the golden call, from 0."""
    call: int
    """Position of the made call among all calls of the trajectory, from 0."""


class GoldenCallNote(Record):
    golden: int
    """Position of the golden call, from 0."""
    tool: str
    """Its tool."""
    arguments: dict[str, Json]
    """As the golden replay had them."""


class CallNote(Record):
    call: int
    """Position among all calls of the trajectory, from 0."""
    tool: str
    """The tool called, without a namespace."""
    arguments: dict[str, Json]
    """As the agent gave them."""


class ArgumentMismatch(Record):
    golden: int
    """Position of the golden call that was meant, from 0."""
    call: int
    """Position of the call that was made instead, from 0."""
    tool: str
    """The tool of both."""
    argument: str
    """The argument in which they differ."""
    expected: Json
    """The golden value; None also where it is not given."""
    got: Json
    """The value that was given; None also where none was."""


class ActionsCheck(Record):
    score: float
    """Harmonic mean of precision and recall; 0 where they are, or where the order was wrong."""
    precision: float
    """Share of the writes carried out, and of the demanded reads, that a golden call stands for."""
    recall: float
    """Share of the demanded golden calls that were made."""
    matched: list[MatchedCall] = Field(default_factory=list)
    """Golden calls and the calls that stand for them, each at most once."""
    missing: list[GoldenCallNote] = Field(default_factory=list)
    """Demanded golden calls that no call stands for."""
    extra: list[CallNote] = Field(default_factory=list)
    """Writes that were carried out and that no golden call stands for."""
    argument_errors: list[ArgumentMismatch] = Field(default_factory=list)
    """Missing calls that an extra or a failed call of the same tool was meant for, argument by argument."""
    order_errors: list[MatchedCall] = Field(default_factory=list)
    """Matched calls that came before one that they depend on."""


class CommunicateCheck(Record):
    score: float
    """The share of the facts that were told."""
    missing: list[str] = Field(default_factory=list)
    """Facts that the user was not told, or told wrongly."""


class PolicyCheck(Record):
    score: float
    """1 or 0."""
    violations: list[str] = Field(default_factory=list)
    """`R7 in call 3 (cancel_appointment)`; calls counted from 0."""
    unconfirmed: list[str] | None = None
    """Writes that ask for the user's confirmation and were made without: `call 3 (cancel_appointment)`. None: not said
    without messages. They count in the score only where `evaluation.confirmation_in_reward` is set."""
    notes: list[str] = Field(default_factory=list)
    """What is noted and not punished: rules that the tool itself upheld."""


class UserFault(Record):
    message: int
    """Position among the trajectory's messages, from 0."""
    fault: str
    """In words."""


class UserCheck(Record):
    score: float
    """1 where the simulated user kept to what it can know, else 0. Never part of the reward."""
    faults: list[UserFault] = Field(default_factory=list)
    """What the user said that it cannot know."""
    left: bool = False
    """Whether it left while a question was open, its request neither done, declined nor handed over."""


class ReplayCheck(Record):
    calls: int
    """Calls made again."""
    failed: int = 0
    """How many of them ended in an error."""
    malformed: list[int] = Field(default_factory=list)
    """Calls whose arguments cannot be read, and which were not made."""
    differs: list[int] = Field(default_factory=list)
    """Calls whose recorded result is not the one that the replay gave."""
    after_the_end: int = 0
    """Messages recorded behind the one with which the user left: neither executed nor heard."""


class JudgedAnswer(Record):
    question: str
    """What was asked of the judge."""
    score: float
    """From 0 to 1."""
    why: str
    """In the judge's words."""


class JudgedCheck(Record):
    score: float
    """Mean of the answers, from 0 to 1."""
    judge: str
    """`provider/model` that judged."""
    prompt_version: str
    """Digest of the prompt that it was asked with."""
    answers: list[JudgedAnswer]
    """One for each question."""


class OwnCheck(Record):
    """What a check of a plug-in says: its score, and whatever else its record holds."""

    model_config = ConfigDict(extra="allow")

    score: float
    """From 0 to 1."""


class Checks(Record):
    """None: not made, or cannot be said without messages."""

    state: StateCheck | None = None
    """The end state."""
    actions: ActionsCheck | None = None
    """The calls, against the golden ones."""
    communicate: CommunicateCheck | None = None
    """What the user was told."""
    policy: PolicyCheck | None = None
    """Rules that only the agent holds, declining, confirmation."""
    user: UserCheck | None = None
    """The simulated user."""
    replay: ReplayCheck | None = None
    """The calls made again, against what is recorded of them."""
    rubric: JudgedCheck | None = None
    """The task, point by point, by a judge."""
    subjective: JudgedCheck | None = None
    """The agent's manner, by a judge."""
    own: dict[str, OwnCheck] = Field(default_factory=dict)
    """The checks of plug-ins, by name; left out where there are none."""

    @model_serializer(mode="wrap")
    def _without_empty_own(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Json]:
        fields: dict[str, Json] = serialize(self)
        if not self.own:
            fields.pop("own", None)
        return fields

    def get(self, name: str) -> "CheckRecord | None":
        """The record of a check, built in or a plug-in's; None where the check was not made."""
        if name in BUILTIN_CHECKS:
            record: CheckRecord | None = getattr(self, name)
            return record
        return self.own.get(name)

    def scores(self) -> dict[str, float]:
        """The score of each check that was made and has one."""
        records = {name: self.get(name) for name in (*BUILTIN_CHECKS, *self.own)}
        return {name: record.score for name, record in records.items() if record is not None}


CheckRecord = StateCheck | ActionsCheck | CommunicateCheck | PolicyCheck | UserCheck | JudgedCheck | OwnCheck
"""A record with a score."""
BUILTIN_CHECKS = ("state", "actions", "communicate", "policy", "user", "rubric", "subjective")
"""Names of the built-in checks that have a score."""


class Score(Record):
    task_id: str
    """The task scored."""
    passed: bool | None
    """The reward is 1; None where a check that counts could not be made."""
    reward: float | None
    """Product of the checks in the task's `reward_basis`, from 0 to 1."""
    checks: Checks
    """Each check, also those that do not count."""


class PrunedRecord(Record):
    task_id: str
    """The task."""
    world: str
    """Its world."""
    kept: list[int]
    """Positions of the golden calls that are needed, from 0."""
    pruned: list[GoldenCallNote]
    """Calls without which the outcome is the same; `actions` does not demand them."""
    fault: str | None = None
    """Why the golden calls prove nothing, where they do not replay; nothing is pruned then."""


class GoldenStep(Record):
    step: int
    """Golden calls made before it."""
    status: Literal["proved", "undecided", "not_reached"]
    """`proved`: nothing is better. Else nothing is told."""
    optimal: list[Call]
    """Calls with which a shortest solution goes on; none at its end."""
    cost_to_go: int | None
    """Calls of a shortest solution from here on; words to the user count for none."""


class StepTruth(Record):
    task_id: str
    steps: list[GoldenStep]
    """One before each golden call, and one at the end."""
