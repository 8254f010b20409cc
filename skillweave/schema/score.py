"""A score: what each check says of a session; and what the evaluator finds out about a task's golden calls."""

import operator
from typing import Literal

from pydantic import ConfigDict, Field

from skillweave.schema.contract import Call, RowChange
from skillweave.schema.record import Json, Record


class StateCheck(Record):
    """Whether the end state is the demanded one."""

    score: float
    """1 or 0."""
    missing: list[RowChange] = Field(default_factory=list)
    """Changes that the task demands and that did not happen."""
    unexpected: list[RowChange] = Field(default_factory=list)
    """Changes that happened and that the task does not list."""


class MatchedCall(Record):
    """A golden call and the call that was made for it."""

    golden: int
    """Position of the golden call, from 0."""
    call: int
    """Position of the made call among all calls of the trajectory, from 0."""


class GoldenCallNote(Record):
    """A golden call, as the checks refer to it."""

    golden: int
    """Position of the golden call, from 0."""
    tool: str
    """Its tool."""
    arguments: dict[str, Json]
    """Its arguments in the golden replay."""


class CallNote(Record):
    """A call of the trajectory, as the checks refer to it."""

    call: int
    """Position among all calls of the trajectory, from 0."""
    tool: str
    """The tool called, without a namespace."""
    arguments: dict[str, Json]
    """As the agent gave them."""


class ArgumentMismatch(Record):
    """A golden call that was made with another argument."""

    golden: int
    """Position of the golden call that was meant, from 0."""
    call: int
    """Position of the call that was made instead, from 0."""
    tool: str
    """The tool of both."""
    argument: str
    """The argument in which they differ."""
    expected: Json
    """The golden value; None also if it is not given."""
    got: Json
    """The value that was given; None also if none was given."""


class ActionsCheck(Record):
    """Whether the demanded calls were made."""

    score: float
    """Harmonic mean of precision and recall; 0 if both are 0, or if the order was wrong."""
    precision: float
    """Share of the writes carried out, and of the demanded reads, that match a golden call."""
    recall: float
    """Share of the demanded golden calls that were made."""
    matched: list[MatchedCall] = Field(default_factory=list)
    """Golden calls with the calls that match them, each at most once."""
    missing: list[GoldenCallNote] = Field(default_factory=list)
    """Demanded golden calls that no call matches."""
    extra: list[CallNote] = Field(default_factory=list)
    """Writes that were carried out and match no golden call."""
    argument_errors: list[ArgumentMismatch] = Field(default_factory=list)
    """Missing calls that an extra or failed call of the same tool was meant for, one entry an argument."""
    order_errors: list[MatchedCall] = Field(default_factory=list)
    """Matched calls that came before a call that they depend on."""


class CommunicateCheck(Record):
    """Whether the user was told what they have to be told."""

    score: float
    """Share of the facts that were told."""
    missing: list[str] = Field(default_factory=list)
    """Facts that the user was not told, or told wrongly."""


class PolicyCheck(Record):
    """Whether the agent kept the rules that only it enforces."""

    score: float
    """1 or 0."""
    violations: list[str] = Field(default_factory=list)
    """`R7 in call 3 (cancel_appointment)`; calls are counted from 0."""
    unconfirmed: list[str] | None = None
    """Writes that need the user's confirmation and were made without it: `call 3 (cancel_appointment)`. None: unknown
    without messages. They count in the score only if `evaluation.confirmation_in_reward` is set."""
    notes: list[str] = Field(default_factory=list)
    """Observations that are not penalised: rules that the tool itself enforced."""


class UserFault(Record):
    """Something that the simulated user said and cannot know."""

    message: int
    """Position among the trajectory's messages, from 0."""
    fault: str
    """The fault in words."""


class UserCheck(Record):
    """Whether the simulated user kept to its role."""

    score: float
    """1 if the simulated user kept to what it can know, otherwise 0. Never part of the reward."""
    faults: list[UserFault] = Field(default_factory=list)
    """What the user said that it cannot know."""
    left: bool = False
    """Whether the user left while a question was open, with its request neither done, declined nor handed over; or
    once something was done, without a word of what it wanted later."""


class ReplayCheck(Record):
    """How the calls went when they were made again."""

    calls: int
    """Calls made again."""
    failed: int = 0
    """How many of them ended in an error."""
    malformed: list[int] = Field(default_factory=list)
    """Positions of calls whose arguments cannot be read; they were not made."""
    differs: list[int] = Field(default_factory=list)
    """Positions of calls whose recorded result is not the replay's."""
    after_the_end: int = 0
    """Messages recorded after the one with which the user left. They are ignored."""


class JudgedAnswer(Record):
    """A judge's answer to one question."""

    question: str
    """The question."""
    score: float
    """From 0 to 1."""
    why: str
    """The reason in the judge's words."""


class JudgedCheck(Record):
    """A judge's answers on one conversation."""

    score: float
    """Mean of the answers, from 0 to 1."""
    judge: str
    """`provider/model` of the judge."""
    prompt_version: str
    """Digest of the judge's prompt."""
    answers: list[JudgedAnswer]
    """One for each question."""


class OwnCheck(Record):
    """What a check of a plug-in says: its score, and whatever else its record holds."""

    model_config = ConfigDict(extra="allow")

    score: float = Field(ge=0, le=1)
    """From 0 to 1."""


class Checks(Record):
    """The checks of one session. None: not made, or impossible without messages."""

    state: StateCheck | None = None
    """The end state."""
    actions: ActionsCheck | None = None
    """The calls, compared with the golden ones."""
    communicate: CommunicateCheck | None = None
    """What the user was told."""
    policy: PolicyCheck | None = None
    """Rules that only the agent enforces, declining, confirmation."""
    user: UserCheck | None = None
    """The simulated user."""
    replay: ReplayCheck | None = None
    """The calls made again, compared with what is recorded of them."""
    rubric: JudgedCheck | None = None
    """A judge's answers about the task, point by point."""
    subjective: JudgedCheck | None = None
    """A judge's answers about the agent's manner."""
    own: dict[str, OwnCheck] = Field(default_factory=dict, exclude_if=operator.not_)
    """The checks of plug-ins, by name; left out if there are none."""

    def get(self, name: str) -> "CheckRecord | None":
        """The record of a check, built in or a plug-in's; None if the check was not made."""
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
    """What the evaluator says of one session."""

    task_id: str
    """The task scored."""
    passed: bool | None
    """Whether the reward is 1; None if a check that counts could not be made."""
    reward: float | None
    """Product of the checks in the task's `reward_basis`, from 0 to 1; None if one could not be made."""
    checks: Checks
    """Every check, also those that do not count."""


class PrunedRecord(Record):
    """`pruned.jsonl`: which golden calls of a task are needed."""

    task_id: str
    """The task."""
    world: str
    """Its world."""
    kept: list[int]
    """Positions of the golden calls that are needed, from 0."""
    pruned: list[GoldenCallNote]
    """Calls without which the outcome is the same; the check `actions` does not demand them."""
    fault: str | None = None
    """Why the golden calls prove nothing, if they do not replay; then nothing is pruned."""


class GoldenStep(Record):
    """The best next calls at one step of a task's golden calls."""

    step: int
    """Golden calls made before this step."""
    status: Literal["proved", "undecided", "not_reached"]
    """`proved`: nothing is better. Otherwise nothing is known."""
    optimal: list[Call]
    """Calls with which a shortest solution goes on; none at its end."""
    cost_to_go: int | None
    """Calls of a shortest solution from here on; messages to the user are not counted."""


class StepTruth(Record):
    """The best next calls along a task's golden calls."""

    task_id: str
    """The task."""
    steps: list[GoldenStep]
    """One before each golden call, and one at the end."""
