"""What every explanation rests on: both executions, failed attempts, how the trajectory ended, and text for reports.

Text in an explanation is one line of bounded length, without control characters.
"""

import json
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import takewhile

from evaluator.checks.actions import check_actions
from evaluator.checks.call_matching import is_same
from evaluator.replay.execution import ExecutedCall
from evaluator.replay.trial import ReplayedTrial, ScoredTrial
from skillweave.base.command import one_line
from skillweave.schema.call import TRANSFER, ToolError
from skillweave.schema.record import Json
from skillweave.schema.result import Divergence, FailureClass, FailureRecord
from skillweave.schema.score import ActionsCheck
from skillweave.schema.task import Basis
from skillweave.schema.trajectory import Message

LONGEST = 400
"""Characters of what was expected, and of what came."""
LONGEST_CALL = 250
LONGEST_WORDS = 160
_TAKEN = 4_000
"""Characters that are looked at before a text is shortened; what is escaped grows."""


def call_text(tool: str, arguments: dict[str, Json]) -> str:
    """`tool(name="value", count=2)`."""
    given = ", ".join(f"{name}={_value(value)}" for name, value in arguments.items())
    return shortened(f"{tool}({given})", LONGEST_CALL)


def executed_text(made: ExecutedCall) -> str:
    """A call as it was made; if it failed, with why."""
    if made.is_malformed:
        return f"{shortened(made.tool, LONGEST_WORDS)}(unreadable arguments){error_text(made.result.error)}"
    return call_text(made.tool, made.arguments) + error_text(made.result.error)


def error_text(error: ToolError | None) -> str:
    """Why a call failed, to be put behind it."""
    return "" if error is None else shortened(f" -> {error.code}: {error.message}", LONGEST_WORDS)


def quoted(words: str) -> str:
    """Words of the agent, shortened, in quotation marks."""
    return f'"{shortened(words, LONGEST_WORDS)}"'


def shortened(text: str, longest: int) -> str:
    """The text on one line, cut where it is longer."""
    line = one_line(text[:_TAKEN])
    lead = " " if text.startswith(" ") else ""
    return lead + (line if len(line) <= longest - len(lead) else f"{line[: longest - len(lead) - 3]}...")


def _value(value: Json) -> str:
    return json.dumps(value[:_TAKEN] if isinstance(value, str) else value, ensure_ascii=False)


NO_MORE = "no more writes"


class Evidence:
    """A trial that failed, as its explanation sees it."""

    def __init__(self, scored: ScoredTrial) -> None:
        self.trial: ReplayedTrial = scored.trial
        self.checks = scored.checks

    @property
    def basis(self) -> Sequence[Basis]:
        """Checks that count."""
        return self.trial.task.criteria.reward_basis

    def failed(self, basis: Basis) -> bool:
        """Whether a check counts and did not score 1."""
        check = self.checks.get(basis)
        return basis in self.basis and check is not None and check.score < 1

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation."""
        return self.trial.messages

    @property
    def made(self) -> Sequence[ExecutedCall]:
        """All calls of the trajectory."""
        return self.trial.execution.calls

    @property
    def golden(self) -> Sequence[ExecutedCall]:
        """All golden calls."""
        return self.trial.golden.execution.calls

    @cached_property
    def actions(self) -> ActionsCheck:
        """The calls against the golden ones, also where that check was not asked for."""
        return self.checks.actions or check_actions(self.trial)

    @cached_property
    def missing(self) -> list[ExecutedCall]:
        """Golden calls that no call stands for."""
        return [self.golden[note.golden] for note in self.actions.missing]

    @cached_property
    def extra_writes(self) -> list[ExecutedCall]:
        """Writes that stand for no golden call."""
        return [self.made[note.call] for note in self.actions.extra if self.made[note.call].writes]

    def due(self, call: int) -> str:
        """The golden write that is still to be made when a call is made, as text."""
        calls = {pair.golden: pair.call for pair in self.actions.matched}
        missing = {step.position for step in self.missing}
        for step in self.golden:
            if step.writes and (step.position in missing or calls.get(step.position, call) > call):
                return call_text(step.tool, step.arguments)
        return NO_MORE

    def at_call(
        self, failure: FailureClass, made: ExecutedCall, expected: str, got: str | None = None
    ) -> FailureRecord:
        """A failure that began with a call."""
        where = Divergence(
            turn=made.turn,
            message=made.message,
            call=made.position,
            expected=shortened(expected, LONGEST),
            got=shortened(got or executed_text(made), LONGEST),
        )
        return FailureRecord(class_=failure, first_divergence=where)

    def at_message(self, failure: FailureClass, place: int | None, expected: str, got: str) -> FailureRecord:
        """A failure that began with words of the agent, or where there were none."""
        turn = None if place is None else sum(message.role == "assistant" for message in self.messages[:place])
        where = Divergence(
            turn=turn, message=place, call=None, expected=shortened(expected, LONGEST), got=shortened(got, LONGEST)
        )
        return FailureRecord(class_=failure, first_divergence=where)

    def at_end(self, failure: FailureClass, expected: str, got: str | None = None) -> FailureRecord:
        """A failure of what never came: at the agent's last message."""
        places = [place for place, message in enumerate(self.messages) if message.role == "assistant"]
        return self.at_message(failure, places[-1] if places else None, expected, got or self.last_words)

    @property
    def last_words(self) -> str:
        """What the agent said last, and how the conversation ended."""
        said = [message.content for message in self.messages if message.role == "assistant" and message.content]
        end = f"the conversation ended: {self.trial.recorded.stop_reason or 'for no reason given'}"
        return f"{quoted(said[-1])}; {end}" if said else end


LIKENESS = 0.75
"""Names of tools that are as similar as this, of 1, are meant for each other."""


def aimed_at(evidence: Evidence, wanted: ExecutedCall) -> list[ExecutedCall]:
    """Failed calls that were meant for a golden one: of its tool, or of no tool at all by its name or values."""
    return [step for step in evidence.made if not step.ok and _is_meant_for(step, wanted)]


def is_unreadable(step: ExecutedCall) -> bool:
    """Whether nobody could carry the call out: by its arguments' form, or its name."""
    error = step.result.error
    return step.is_malformed or (error is not None and error.code in ("invalid_arguments", "unknown_tool"))


def _is_meant_for(step: ExecutedCall, wanted: ExecutedCall) -> bool:
    if step.tool == wanted.tool:
        return True
    error = step.result.error
    if error is None or error.code != "unknown_tool":
        return False
    names = step.tool[:100].casefold(), wanted.tool.casefold()
    likeness = SequenceMatcher(None, *names)
    is_alike = likeness.real_quick_ratio() >= LIKENESS and likeness.ratio() >= LIKENESS
    return names[1] in names[0] or is_alike or (bool(wanted.arguments) and is_same(step.arguments, wanted.arguments))


REPEATED = 4
"""Calls alike, one after the other up to the end, that make a loop."""
REPEATED_AT_ALL = 5
"""Calls alike, wherever they stand, that make a loop where calls, turns or context ran out."""
_RAN_OUT = ("max_turns", "max_calls", "context_window")
_UNREADABLE = "could not be read"


def ending(evidence: Evidence, expected: str | None = None) -> FailureRecord | None:
    """The failure that lies in the end itself; None where nothing is to be said of it.

    `expected`: what was still to be done; without it the first missing golden call.
    """
    due = expected or _first_missing(evidence)
    error = evidence.trial.recorded.error
    if error is not None and error.kind == "agent":
        is_malformed = _UNREADABLE in error.message
        return evidence.at_end("malformed_call" if is_malformed else "withheld", due, error.message or "no answer")
    return _handed_over(evidence, due) or _circling(evidence, due) or _ran_out(evidence, due)


def _first_missing(evidence: Evidence) -> str:
    missing = evidence.missing
    return call_text(missing[0].tool, missing[0].arguments) if missing else NO_MORE


def _handed_over(evidence: Evidence, due: str) -> FailureRecord | None:
    if any(step.tool == TRANSFER for step in evidence.golden):
        return None
    made = next((step for step in evidence.made if step.tool == TRANSFER and step.ok), None)
    return evidence.at_call("gave_up_early", made, due) if made else None


def _circling(evidence: Evidence, due: str) -> FailureRecord | None:
    looks = [_look(step) for step in evidence.made]
    times = Counter(looks)
    at_last = sum(1 for _ in takewhile(lambda look: look == looks[-1], reversed(looks)))
    look = looks[-1] if at_last >= REPEATED else None
    if look is None and evidence.trial.recorded.stop_reason in _RAN_OUT:
        look = next((look for look, count in times.items() if count >= REPEATED_AT_ALL), None)
    if look is None:
        return None
    first = evidence.made[looks.index(look)]
    return evidence.at_call("loop", first, due, f"{times[look]} times {executed_text(first)}")


def _ran_out(evidence: Evidence, due: str) -> FailureRecord | None:
    is_out = evidence.trial.recorded.stop_reason in _RAN_OUT
    return evidence.at_end("ran_out", due) if is_out else None


def _look(step: ExecutedCall) -> str:
    """A call with what came of it."""
    error = step.result.error
    outcome = step.result.value if error is None else error.model_dump()
    return json.dumps([step.tool, step.arguments, step.is_malformed, outcome], sort_keys=True)


def sign_in_due(evidence: Evidence) -> ExecutedCall | None:
    """The golden sign-in, where nobody was ever signed in."""
    if evidence.trial.execution.caller is not None:
        return None
    sign_ins = evidence.trial.world.sign_ins
    return next((step for step in evidence.missing if step.tool in sign_ins), None)


def failed_sign_in(evidence: Evidence) -> FailureRecord | None:
    """The first attempt to sign in, where none succeeded."""
    wanted = sign_in_due(evidence)
    attempts = aimed_at(evidence, wanted) if wanted else []
    if wanted is None or not attempts:
        return None
    left = ending(evidence)
    failure: FailureClass = "loop" if left is not None and left.class_ == "loop" else "wrong_argument"
    if all(map(is_unreadable, attempts)):
        failure = "malformed_call"
    return evidence.at_call(failure, attempts[0], call_text(wanted.tool, wanted.arguments))
