"""What every explanation rests on: both executions, failed attempts, how the trajectory ended, and text for reports.

Text in an explanation is one line of bounded length, without control characters.
"""

import json
import re
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
from skillweave.schema.contract import TRANSFER, ToolError
from skillweave.schema.criteria import Basis
from skillweave.schema.record import Json
from skillweave.schema.result import Divergence, FailureClass, FailureRecord
from skillweave.schema.score import ActionsCheck
from skillweave.schema.trajectory import Message

LONGEST = 400
"""Characters of what was expected, and of what happened instead."""
LONGEST_CALL = 250
LONGEST_WORDS = 160
_TAKEN = 4_000
"""Characters of a text that are read before it is shortened; escaping lengthens it."""
_BROKEN = re.compile(r"(?P<rule>[RB]\d+) in call (?P<call>\d+)\b")
NO_MORE = "no more writes"
LIKENESS = 0.75
"""Similarity, from 0 to 1, from which an unknown tool's name is taken for a known one."""
REPEATED = 4
"""Equal calls with equal results in a row at the end that make a loop."""
REPEATED_AT_ALL = 5
"""Equal calls with equal results, anywhere, that make a loop where calls, turns or context ran out."""
_RAN_OUT = ("max_turns", "max_calls", "context_window")
_UNREADABLE = "could not be read"


class Evidence:
    """A trial that failed, as its explanation sees it."""

    def __init__(self, scored: ScoredTrial) -> None:
        self.trial: ReplayedTrial = scored.trial
        self.checks = scored.checks

    @property
    def basis(self) -> Sequence[Basis]:
        """Names of the checks that count."""
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
    def calls(self) -> Sequence[ExecutedCall]:
        """All calls of the trajectory."""
        return self.trial.execution.calls

    @property
    def golden(self) -> Sequence[ExecutedCall]:
        """All golden calls."""
        return self.trial.golden.execution.calls

    @cached_property
    def actions(self) -> ActionsCheck:
        """The actions check, also where it was not among the checks to make."""
        return self.checks.actions or check_actions(self.trial)

    @cached_property
    def missing(self) -> list[ExecutedCall]:
        """Golden calls without a partner."""
        return [self.golden[note.golden] for note in self.actions.missing]

    @cached_property
    def extra_writes(self) -> list[ExecutedCall]:
        """Writes without a golden partner."""
        return [self.calls[note.call] for note in self.actions.extra if self.calls[note.call].writes]

    @property
    def violations(self) -> list[str]:
        """What the policy check holds against the agent."""
        check = self.checks.policy
        return check.violations if check else []

    def due(self, call: int) -> str:
        """The first golden write that was not made before a call, as text.

        Args:
            call: Position of the call.
        """
        calls = {pair.golden: pair.call for pair in self.actions.matched}
        missing = {golden.position for golden in self.missing}
        for golden in self.golden:
            if golden.writes and (golden.position in missing or calls.get(golden.position, call) > call):
                return call_text(golden.tool, golden.arguments)
        return NO_MORE

    def at_call(
        self, failure: FailureClass, call: ExecutedCall, expected: str, got: str | None = None
    ) -> FailureRecord:
        """A failure that began with a call."""
        where = Divergence(
            turn=call.turn,
            message=call.message,
            call=call.position,
            expected=shortened(expected, LONGEST),
            got=shortened(got or executed_text(call), LONGEST),
        )
        return FailureRecord(class_=failure, first_divergence=where)

    def at_message(self, failure: FailureClass, place: int | None, expected: str, got: str) -> FailureRecord:
        """A failure that began with a message of the agent; with `place` None, before any message."""
        turn = None if place is None else sum(message.role == "assistant" for message in self.messages[:place])
        where = Divergence(
            turn=turn, message=place, call=None, expected=shortened(expected, LONGEST), got=shortened(got, LONGEST)
        )
        return FailureRecord(class_=failure, first_divergence=where)

    def at_end(self, failure: FailureClass, expected: str, got: str | None = None) -> FailureRecord:
        """A failure by omission, located at the agent's last message."""
        places = [place for place, message in enumerate(self.messages) if message.role == "assistant"]
        return self.at_message(failure, places[-1] if places else None, expected, got or self.last_words)

    @property
    def last_words(self) -> str:
        """What the agent said last, and how the conversation ended."""
        texts = [message.content for message in self.messages if message.role == "assistant" and message.content]
        end = f"the conversation ended: {self.trial.recorded.stop_reason or 'for no reason given'}"
        return f"{quoted(texts[-1])}; {end}" if texts else end


def call_text(tool: str, arguments: dict[str, Json]) -> str:
    """`tool(name="value", count=2)`."""
    given = ", ".join(f"{name}={_value(value)}" for name, value in arguments.items())
    return shortened(f"{tool}({given})", LONGEST_CALL)


def executed_text(call: ExecutedCall) -> str:
    """A call as it was made; if it failed, with the error."""
    if call.is_malformed:
        return f"{shortened(call.tool, LONGEST_WORDS)}(unreadable arguments){error_text(call.result.error)}"
    return call_text(call.tool, call.arguments) + error_text(call.result.error)


def error_text(error: ToolError | None) -> str:
    """The error of a call, to stand after the call; empty where it has none."""
    return "" if error is None else shortened(f" -> {error.code}: {error.message}", LONGEST_WORDS)


def quoted(words: str) -> str:
    """Words of the agent, shortened, in quotation marks."""
    return f'"{shortened(words, LONGEST_WORDS)}"'


def shortened(text: str, longest: int) -> str:
    """The text on one line, cut after `longest` characters."""
    line = one_line(text[:_TAKEN])
    lead = " " if text.startswith(" ") else ""
    return lead + (line if len(line) <= longest - len(lead) else f"{line[: longest - len(lead) - 3]}...")


def _value(value: Json) -> str:
    return json.dumps(value[:_TAKEN] if isinstance(value, str) else value, ensure_ascii=False)


def broken_rule(evidence: Evidence) -> FailureRecord | None:
    """The first call that broke a rule that no tool enforces."""
    for violation in evidence.violations:
        match = _BROKEN.match(violation)
        if match and int(match["call"]) < len(evidence.calls):
            call = evidence.calls[int(match["call"])]
            text = f"{executed_text(call)} breaks {match['rule']}"
            return evidence.at_call("policy_violation", call, evidence.due(call.position), text)
    return None


def aimed_at(evidence: Evidence, wanted: ExecutedCall) -> list[ExecutedCall]:
    """Failed calls that were meant for a golden call: of its tool, or of an unknown tool with a similar name or equal
    arguments."""
    return [call for call in evidence.calls if not call.ok and _is_meant_for(call, wanted)]


def is_unreadable(call: ExecutedCall) -> bool:
    """Whether the form of a call's arguments, or its name, makes it impossible to carry out."""
    error = call.result.error
    return call.is_malformed or (error is not None and error.code in ("invalid_arguments", "unknown_tool"))


def _is_meant_for(call: ExecutedCall, wanted: ExecutedCall) -> bool:
    if call.tool == wanted.tool:
        return True
    error = call.result.error
    if error is None or error.code != "unknown_tool":
        return False
    names = call.tool[:100].casefold(), wanted.tool.casefold()
    likeness = SequenceMatcher(None, *names)
    is_alike = likeness.real_quick_ratio() >= LIKENESS and likeness.ratio() >= LIKENESS
    return names[1] in names[0] or is_alike or (bool(wanted.arguments) and is_same(call.arguments, wanted.arguments))


def sign_in_due(evidence: Evidence) -> ExecutedCall | None:
    """The golden sign-in, where nobody is signed in at the end; else None."""
    if evidence.trial.execution.caller is not None:
        return None
    sign_ins = evidence.trial.world.sign_ins
    return next((call for call in evidence.missing if call.tool in sign_ins), None)


def failed_sign_in(evidence: Evidence) -> FailureRecord | None:
    """The first attempt to sign in, where none succeeded."""
    wanted = sign_in_due(evidence)
    attempts = aimed_at(evidence, wanted) if wanted else []
    if wanted is None or not attempts:
        return None
    end = ending(evidence)
    failure: FailureClass = "loop" if end is not None and end.class_ == "loop" else "wrong_argument"
    if all(map(is_unreadable, attempts)):
        failure = "malformed_call"
    return evidence.at_call(failure, attempts[0], call_text(wanted.tool, wanted.arguments))


def ending(evidence: Evidence, expected: str | None = None) -> FailureRecord | None:
    """The failure that the ending itself is: no answer, a needless transfer, a loop, calls as text, or a limit.

    Args:
        expected: What was still to be done; None: the first missing golden call.

    Returns:
        None where the ending explains nothing.
    """
    due = expected or _first_missing(evidence)
    error = evidence.trial.recorded.error
    if error is not None and error.kind == "agent":
        is_malformed = _UNREADABLE in error.message
        return evidence.at_end("malformed_call" if is_malformed else "withheld", due, error.message or "no answer")
    return _gave_up(evidence, due) or _loop(evidence, due) or _as_text(evidence, due) or _ran_out(evidence, due)


def _first_missing(evidence: Evidence) -> str:
    missing = evidence.missing
    return call_text(missing[0].tool, missing[0].arguments) if missing else NO_MORE


def _gave_up(evidence: Evidence, due: str) -> FailureRecord | None:
    if any(call.tool == TRANSFER for call in evidence.golden):
        return None
    call = next((call for call in evidence.calls if call.tool == TRANSFER and call.ok), None)
    return evidence.at_call("gave_up_early", call, due) if call else None


def _loop(evidence: Evidence, due: str) -> FailureRecord | None:
    signatures = [_signature(call) for call in evidence.calls]
    counts = Counter(signatures)
    at_last = sum(1 for _ in takewhile(lambda signature: signature == signatures[-1], reversed(signatures)))
    signature = signatures[-1] if at_last >= REPEATED else None
    if signature is None and evidence.trial.recorded.stop_reason in _RAN_OUT:
        signature = next((signature for signature, count in counts.items() if count >= REPEATED_AT_ALL), None)
    if signature is None:
        return None
    first = evidence.calls[signatures.index(signature)]
    return evidence.at_call("loop", first, due, f"{counts[signature]} times {executed_text(first)}")


def _as_text(evidence: Evidence, due: str) -> FailureRecord | None:
    """The first call that arrived as words: of a missing golden call's tool, or any where none arrived as a call."""
    missing = {call.tool for call in evidence.missing}
    for place, call in evidence.trial.text_calls.items():
        if not evidence.calls or any(tool in call for tool in missing):
            got = f"{quoted(call)}: a call as text, which nobody made; the server has no parser of tool calls"
            return evidence.at_message("malformed_call", place, due, got)
    return None


def _ran_out(evidence: Evidence, due: str) -> FailureRecord | None:
    is_out = evidence.trial.recorded.stop_reason in _RAN_OUT
    return evidence.at_end("ran_out", due) if is_out else None


def _signature(call: ExecutedCall) -> str:
    """A call with its result, as text for comparison."""
    error = call.result.error
    outcome = call.result.value if error is None else error.model_dump()
    return json.dumps([call.tool, call.arguments, call.is_malformed, outcome], sort_keys=True)
