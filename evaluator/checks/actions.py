"""The calls that were made, against the golden ones.

A golden call is made good by a call that was carried out: one of the same tool with equal arguments, or a write of any
tool with the same effect, or a read with the same result. Reads beyond the golden ones, and calls that failed, cost
nothing. Order counts only between calls that touch the same row, and only where the end state shows it.
"""

from itertools import combinations

from evaluator.checks.call_matching import CallMatching
from evaluator.checks.state import check_state
from evaluator.replay.execution import ExecutedCall
from evaluator.replay.trial import ReplayedTrial
from skillweave.schema.contract import SESSION_TOOLS
from skillweave.schema.score import ActionsCheck, ArgumentMismatch, CallNote, GoldenCallNote, MatchedCall


def check_actions(trial: ReplayedTrial) -> ActionsCheck:
    """Compare executed calls with golden calls, each counted once.

    Pruned golden calls are not demanded; a call that matches one is not extra.
    """
    matching = CallMatching(trial)
    demanded = [step for step in trial.golden.execution.calls if step.position not in trial.golden.pruned]
    matched = [step for step in demanded if step.position in matching.pairs]
    missing = [step for step in demanded if step.position not in matching.pairs]
    extra = [step for step in trial.execution.calls if _counts(step) and step.position not in matching.taken]
    order_errors = _order_errors(trial, matching, matched)
    precision = len(matched) / (len(matched) + len(extra)) if matched or extra else 1.0
    recall = len(matched) / len(demanded) if demanded else 1.0
    mean = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return ActionsCheck.model_construct(
        score=0.0 if order_errors else mean,
        precision=precision,
        recall=recall,
        matched=[
            MatchedCall.model_construct(golden=step.position, call=matching.pairs[step.position]) for step in matched
        ],
        missing=[GoldenCallNote(golden=step.position, tool=step.tool, arguments=step.arguments) for step in missing],
        extra=[CallNote(call=step.position, tool=step.tool, arguments=step.arguments) for step in extra],
        argument_errors=_argument_errors(matching, missing),
        order_errors=order_errors,
    )


def _counts(step: ExecutedCall) -> bool:
    """Whether a call without a golden partner is extra."""
    return step.ok and (step.writes or step.tool in SESSION_TOOLS)


def _argument_errors(matching: CallMatching, missing: list[ExecutedCall]) -> list[ArgumentMismatch]:
    found = [
        ArgumentMismatch(
            golden=step.position,
            call=made.position,
            tool=step.tool,
            argument=name,
            expected=step.arguments.get(name),
            got=made.arguments.get(name),
        )
        for step, made, names in matching.nearest(missing)
        for name in names
    ]
    return sorted(found, key=lambda error: (error.golden, error.argument))


def _order_errors(trial: ReplayedTrial, matching: CallMatching, matched: list[ExecutedCall]) -> list[MatchedCall]:
    """Matched calls made before one that they depend on, if the end state is wrong."""
    calls = matching.pairs
    early = {
        later.position
        for earlier, later in combinations(matched, 2)
        if calls[later.position] < calls[earlier.position] and _rows(earlier) & _rows(later)
    }
    if not early or check_state(trial.task.criteria, trial.execution.changes, trial.world.comparison).score:
        return []
    return [MatchedCall.model_construct(golden=place, call=calls[place]) for place in sorted(early)]


def _rows(step: ExecutedCall) -> set[tuple[str, str]]:
    return {(change.table, str(cell)) for change in step.changes for cell in change.key.values()}
