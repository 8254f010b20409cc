"""Why the end state is wrong: the first write that should not have been, or should have been another, or never came.

A write that was made in place of a golden one of its tool is a wrong entity if an argument that names a row names
another one than meant. A row that has a time of its own and belongs to nobody (a slot, a flight) is picked for its
time: where the time differs too, it is a wrong time, and so a wrong argument. A failed call counts where it was meant
for a golden one that was never made good.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher

from evaluator.execution import Step
from evaluator.explain.conduct import broken_rule
from evaluator.explain.endings import ending
from evaluator.explain.evidence import Evidence
from evaluator.explain.rows import Rows
from evaluator.explain.text import call_text, made_text
from evaluator.matching.calls import is_same
from skillweave.schema.result import FailureClass, FailureRecord
from skillweave.schema.score import ArgumentError

ALIKE = 0.75
"""Names of tools that are as similar as this, of 1, are meant for each other."""


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
    if first is not None:
        return _of_attempt(evidence, first[1])
    return _never_made(evidence, lost[0]) if lost else _in_wrong_order(evidence)


def aimed_at(evidence: Evidence, wanted: Step) -> list[Step]:
    """Failed calls that were meant for a golden one: of its tool, or of no tool at all by its name or values."""
    return [step for step in evidence.made if not step.ok and _is_meant_for(step, wanted)]


def is_unreadable(step: Step) -> bool:
    """Whether nobody could carry the call out: by its arguments' form, or its name."""
    error = step.result.error
    return step.is_malformed or (error is not None and error.code in ("invalid_arguments", "unknown_tool"))


def _is_meant_for(step: Step, wanted: Step) -> bool:
    if step.tool == wanted.tool:
        return True
    error = step.result.error
    if error is None or error.code != "unknown_tool":
        return False
    names = step.tool[:100].casefold(), wanted.tool.casefold()
    likeness = SequenceMatcher(None, *names)
    is_alike = likeness.real_quick_ratio() >= ALIKE and likeness.ratio() >= ALIKE
    return names[1] in names[0] or is_alike or (bool(wanted.arguments) and is_same(step.arguments, wanted.arguments))


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
    errors = [
        error for error in evidence.actions.argument_errors if (error.golden, error.call) == (golden.call, made.call)
    ]
    rows = Rows(evidence.trial)
    is_other_row = not errors or any(_names_other_row(rows, error, golden, made) for error in errors)
    return "wrong_entity" if is_other_row else "wrong_argument"


def _names_other_row(rows: Rows, error: ArgumentError, golden: Step, made: Step) -> bool:
    table = rows.table_named(error.tool, error.argument) or rows.table_changed(golden, error.expected)
    if table is None or error.expected is None or error.got is None:
        return False
    return not rows.differ_in_time(table, str(error.expected), str(error.got))


def _of_attempt(evidence: Evidence, wanted: Step) -> FailureRecord:
    attempts = aimed_at(evidence, wanted)
    first = attempts[0]
    # The right call at the wrong time: what it was refused for lies before it.
    is_early = is_same(first.arguments, wanted.arguments) and not is_unreadable(first)
    expected = evidence.due(first.call) if is_early else call_text(wanted.tool, wanted.arguments)
    if all(map(is_unreadable, attempts)):
        return evidence.at_call("malformed_call", first, expected)
    found = ending(evidence, expected)
    if found is None:
        return evidence.at_call("missing_write", first, expected)
    got = f"{made_text(first)}; then {found.first_divergence.got}"
    return evidence.at_call(found.class_, first, expected, got)


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
