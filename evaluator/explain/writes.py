"""Why the end state is wrong: the first write that should not have been, or should have been another, or never came.

A write that was made in place of a golden one of its tool is a wrong entity if an argument that names a row names
another one than meant. A row that has a time of its own and belongs to nobody (a slot, a flight) is picked for its
time: where the time differs too, it is a wrong time, and so a wrong argument. A failed call counts where it was meant
for a golden one that was never made good; where it was the only attempt, what it got wrong is told by the same rule.
What was due before it and never tried comes first.
"""

from collections.abc import Sequence

from evaluator.execution import Step
from evaluator.explain.attempts import aimed_at, is_unreadable
from evaluator.explain.conduct import broken_rule
from evaluator.explain.endings import ending
from evaluator.explain.evidence import Evidence
from evaluator.explain.rows import Rows
from evaluator.explain.sign_in import failed_sign_in, sign_in_due
from evaluator.explain.text import call_text, made_text
from evaluator.matching.calls import is_same
from skillweave.schema.result import FailureClass, FailureRecord
from skillweave.schema.score import ArgumentError


def wrong_state(evidence: Evidence) -> FailureRecord:
    """What went wrong first on the way to a wrong end state."""
    missing = [step for step in evidence.missing if step.writes]
    replaced = _replaced(evidence, missing)
    lost = [step for step in missing if step.call not in replaced.values()]
    attempts = [(attempt.call, step) for step in lost for attempt in aimed_at(evidence, step)]
    extra = evidence.extra_writes
    first = min(attempts, key=lambda found: found[0], default=None)
    broken = broken_rule(evidence) if evidence.failed("policy") else None
    others = [step.call for step in extra[:1]] + [call for call, _ in attempts]
    if broken is not None and (broken.first_divergence.call or 0) <= min(others, default=len(evidence.made)):
        return broken
    if extra and (first is None or extra[0].call < first[0]):
        return _of_extra(evidence, extra[0], replaced, lost)
    unsigned = failed_sign_in(evidence)
    if unsigned is not None:
        return unsigned
    if first is not None:
        return _of_attempt(evidence, first[1], lost)
    return _never_made(evidence, lost[0]) if lost else _in_wrong_order(evidence)


def _replaced(evidence: Evidence, missing: Sequence[Step]) -> dict[int, int]:
    """Extra writes, and the missing golden call of the same tool that each was made in place of."""
    found = {error.call: error.golden for error in evidence.actions.argument_errors if evidence.made[error.call].writes}
    for step in evidence.extra_writes:
        free = [golden.call for golden in missing if golden.tool == step.tool and golden.call not in found.values()]
        if step.call not in found and free:
            found[step.call] = free[0]
    wanted = {step.call for step in missing}
    return {call: golden for call, golden in found.items() if golden in wanted}


def _of_extra(evidence: Evidence, made: Step, replaced: dict[int, int], lost: Sequence[Step]) -> FailureRecord:
    if made.call in replaced:
        golden = evidence.golden[replaced[made.call]]
        return evidence.at_call(_of_arguments(evidence, golden, made), made, call_text(golden.tool, golden.arguments))
    failure: FailureClass = "wrong_tool" if any(not aimed_at(evidence, step) for step in lost) else "extra_write"
    return evidence.at_call(failure, made, evidence.due(made.call))


def _of_arguments(evidence: Evidence, golden: Step, made: Step) -> FailureClass:
    errors = _errors(evidence, golden, made)
    rows = Rows(evidence.trial)
    is_other_row = not errors or any(_names_other_row(rows, error, golden) for error in errors)
    return "wrong_entity" if is_other_row else "wrong_argument"


def _errors(evidence: Evidence, golden: Step, made: Step) -> list[ArgumentError]:
    errors = evidence.actions.argument_errors
    return [error for error in errors if (error.golden, error.call) == (golden.call, made.call)]


def _names_other_row(rows: Rows, error: ArgumentError, golden: Step) -> bool:
    table = rows.table_named(error.tool, error.argument) or rows.table_changed(golden, error.expected)
    if table is None or error.expected is None or error.got is None:
        return False
    return not rows.differ_in_time(table, str(error.expected), str(error.got))


def _of_attempt(evidence: Evidence, wanted: Step, lost: Sequence[Step]) -> FailureRecord:
    attempts = aimed_at(evidence, wanted)
    first = attempts[0]
    skipped = _skipped(evidence, wanted, lost)
    failure: FailureClass | None = None
    if skipped is not None:
        expected = call_text(skipped.tool, skipped.arguments)
    else:
        # The right call at the wrong time: what it was refused for lies before it.
        is_early = is_same(first.arguments, wanted.arguments) and not is_unreadable(first)
        expected = evidence.due(first.call) if is_early else call_text(wanted.tool, wanted.arguments)
        failure = "malformed_call" if all(map(is_unreadable, attempts)) else _of_refusal(evidence, wanted, attempts)
    if failure is not None:
        return evidence.at_call(failure, first, expected)
    found = ending(evidence, expected)
    if found is None:
        return evidence.at_call("missing_write", first, expected)
    got = f"{made_text(first)}; then {found.first_divergence.got}"
    return evidence.at_call(found.class_, first, expected, got)


def _skipped(evidence: Evidence, wanted: Step, lost: Sequence[Step]) -> Step | None:
    """What was due before a golden call and never tried: to sign in, or a write."""
    sign_in = sign_in_due(evidence)
    earlier = [*([sign_in] if sign_in else []), *(step for step in lost if step.call < wanted.call)]
    return next((step for step in earlier if not aimed_at(evidence, step)), None)


def _of_refusal(evidence: Evidence, wanted: Step, attempts: Sequence[Step]) -> FailureClass | None:
    """What the only attempt at a call got wrong; None where more is wrong, or it was not the only one."""
    first = attempts[0]
    is_only = all(one.tool == wanted.tool and is_same(one.arguments, first.arguments) for one in attempts)
    left = ending(evidence)
    if not is_only or is_unreadable(first) or (left is not None and left.class_ == "loop"):
        return None
    errors = _errors(evidence, wanted, first)
    if any(_names_other_row(Rows(evidence.trial), error, wanted) for error in errors):
        return "wrong_entity"
    return "wrong_argument" if len(errors) == 1 else None


def _never_made(evidence: Evidence, wanted: Step) -> FailureRecord:
    expected = call_text(wanted.tool, wanted.arguments)
    return ending(evidence, expected) or evidence.at_end("missing_write", expected)


def _in_wrong_order(evidence: Evidence) -> FailureRecord:
    """All was made and nothing else: the order was wrong, or an argument did more than was seen of it."""
    pairs = [pair for pair in evidence.actions.matched if evidence.golden[pair.golden].writes]
    for pair, call in zip(pairs, sorted(pair.call for pair in pairs), strict=True):
        if pair.call != call:
            wanted = evidence.golden[pair.golden]
            return evidence.at_call("wrong_order", evidence.made[call], call_text(wanted.tool, wanted.arguments))
    return ending(evidence) or evidence.at_end("other", "the end state that the task demands")
