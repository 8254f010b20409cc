"""Why the end state is wrong: the first write that is wrong or too much, or the first one that is missing.

A write made in place of a golden one of the same tool names a wrong entity if an argument that names a row names
another row. A row with a time of its own that belongs to nobody (a slot, a flight) is chosen for its time: where
the time differs, the argument is wrong, not the entity. A failed call counts as an attempt at a golden call that
was never made. A golden call that was due earlier and never tried comes first.
"""

from collections.abc import Sequence

from evaluator.checks.call_matching import is_same
from evaluator.explain.conduct import broken_rule
from evaluator.explain.evidence import (
    Evidence,
    aimed_at,
    call_text,
    ending,
    executed_text,
    failed_sign_in,
    is_unreadable,
    sign_in_due,
)
from evaluator.replay.execution import ExecutedCall
from evaluator.replay.trial import ReplayedTrial
from skillweave.schema.call import SESSION_TOOLS
from skillweave.schema.entity import Entity
from skillweave.schema.record import Json
from skillweave.schema.result import FailureClass, FailureRecord
from skillweave.schema.score import ArgumentMismatch
from skillweave.world.world import World


class TrialRows:
    """The rows of a trial's world, as they were when it began."""

    def __init__(self, trial: ReplayedTrial) -> None:
        self._world: World = trial.world
        patch = trial.task.initial_state.patch
        self._patched = {(row.table, str(cell)): row for row in patch for cell in row.key.values()}

    def table_named(self, tool: str, argument: str) -> str | None:
        """The table whose rows a tool's argument names by their keys; None where it names none."""
        if tool in SESSION_TOOLS:
            return None
        for parameter in self._world.compiled(tool).tool.parameters:
            if parameter.name == argument and parameter.refers_to:
                entity, attribute = self._world.blueprint.target(parameter.refers_to)
                return entity.table if attribute.name == entity.key else None
        return None

    def table_changed(self, step: ExecutedCall, key: Json) -> str | None:
        """The table of the row with this key that a call updated or deleted."""
        changed = [row for row in step.changes if row.op != "insert" and key in row.key.values()]
        return changed[0].table if changed else None

    def differ_in_time(self, table: str, one: str, other: str) -> bool:
        """Whether two rows that belong to nobody are at different times."""
        entity = self._world.entity(table)
        times = [attribute.name for attribute in entity.attributes if attribute.type in ("date", "datetime")]
        if self._belongs(entity, frozenset()):
            return False
        ones, others = self._row(table, one), self._row(table, other)
        return bool(ones and others) and any(ones.get(name) != others.get(name) for name in times)

    def _belongs(self, entity: Entity, seen: frozenset[str]) -> bool:
        """Whether each row of the table belongs to one of the persons that the world serves."""
        blueprint = self._world.blueprint
        if entity.name == blueprint.core_entity:
            return True
        owners = [one.references.partition(".")[0] for one in entity.attributes if one.references and not one.nullable]
        return any(
            self._belongs(blueprint.entity(owner), seen | {entity.name}) for owner in owners if owner not in seen
        )

    def _row(self, table: str, key: str) -> dict[str, Json]:
        patched = self._patched.get((table, key))
        return {**(self._world.original(table, key) or {}), **((patched.after if patched else None) or {})}


def wrong_state(evidence: Evidence) -> FailureRecord:
    """What went wrong first on the way to a wrong end state."""
    missing = [step for step in evidence.missing if step.writes]
    replaced = _replaced(evidence, missing)
    lost = [step for step in missing if step.position not in replaced.values()]
    attempts = [(attempt.position, step) for step in lost for attempt in aimed_at(evidence, step)]
    extra = evidence.extra_writes
    first = min(attempts, key=lambda found: found[0], default=None)
    broken = broken_rule(evidence) if evidence.failed("policy") else None
    others = [step.position for step in extra[:1]] + [call for call, _ in attempts]
    if broken is not None and (broken.first_divergence.call or 0) <= min(others, default=len(evidence.made)):
        return broken
    if extra and (first is None or extra[0].position < first[0]):
        return _of_extra(evidence, extra[0], replaced, lost)
    unsigned = failed_sign_in(evidence)
    if unsigned is not None:
        return unsigned
    if first is not None:
        return _of_attempt(evidence, first[1], lost)
    return _never_made(evidence, lost[0]) if lost else _in_wrong_order(evidence)


def _replaced(evidence: Evidence, missing: Sequence[ExecutedCall]) -> dict[int, int]:
    """Extra writes, and the missing golden call of the same tool that each was made in place of."""
    found = {error.call: error.golden for error in evidence.actions.argument_errors if evidence.made[error.call].writes}
    for step in evidence.extra_writes:
        free = [
            golden.position for golden in missing if golden.tool == step.tool and golden.position not in found.values()
        ]
        if step.position not in found and free:
            found[step.position] = free[0]
    wanted = {step.position for step in missing}
    return {call: golden for call, golden in found.items() if golden in wanted}


def _of_extra(
    evidence: Evidence, made: ExecutedCall, replaced: dict[int, int], lost: Sequence[ExecutedCall]
) -> FailureRecord:
    if made.position in replaced:
        golden = evidence.golden[replaced[made.position]]
        return evidence.at_call(_of_arguments(evidence, golden, made), made, call_text(golden.tool, golden.arguments))
    failure: FailureClass = "wrong_tool" if any(not aimed_at(evidence, step) for step in lost) else "extra_write"
    return evidence.at_call(failure, made, evidence.due(made.position))


def _of_arguments(evidence: Evidence, golden: ExecutedCall, made: ExecutedCall) -> FailureClass:
    errors = _errors(evidence, golden, made)
    rows = TrialRows(evidence.trial)
    is_other_row = not errors or any(_names_other_row(rows, error, golden) for error in errors)
    return "wrong_entity" if is_other_row else "wrong_argument"


def _errors(evidence: Evidence, golden: ExecutedCall, made: ExecutedCall) -> list[ArgumentMismatch]:
    errors = evidence.actions.argument_errors
    return [error for error in errors if (error.golden, error.call) == (golden.position, made.position)]


def _names_other_row(rows: TrialRows, error: ArgumentMismatch, golden: ExecutedCall) -> bool:
    table = rows.table_named(error.tool, error.argument) or rows.table_changed(golden, error.expected)
    if table is None or error.expected is None or error.got is None:
        return False
    return not rows.differ_in_time(table, str(error.expected), str(error.got))


def _of_attempt(evidence: Evidence, wanted: ExecutedCall, lost: Sequence[ExecutedCall]) -> FailureRecord:
    attempts = aimed_at(evidence, wanted)
    first = attempts[0]
    skipped = _skipped(evidence, wanted, lost)
    failure: FailureClass | None = None
    if skipped is not None:
        expected = call_text(skipped.tool, skipped.arguments)
    else:
        # The right call at the wrong time: what it was refused for lies before it.
        is_early = is_same(first.arguments, wanted.arguments) and not is_unreadable(first)
        expected = evidence.due(first.position) if is_early else call_text(wanted.tool, wanted.arguments)
        failure = "malformed_call" if all(map(is_unreadable, attempts)) else _of_refusal(evidence, wanted, attempts)
    if failure is not None:
        return evidence.at_call(failure, first, expected)
    found = ending(evidence, expected)
    if found is None:
        return evidence.at_call("missing_write", first, expected)
    got = f"{executed_text(first)}; then {found.first_divergence.got}"
    return evidence.at_call(found.class_, first, expected, got)


def _skipped(evidence: Evidence, wanted: ExecutedCall, lost: Sequence[ExecutedCall]) -> ExecutedCall | None:
    """What was due before a golden call and never tried: to sign in, or a write."""
    sign_in = sign_in_due(evidence)
    earlier = [*([sign_in] if sign_in else []), *(step for step in lost if step.position < wanted.position)]
    return next((step for step in earlier if not aimed_at(evidence, step)), None)


def _of_refusal(evidence: Evidence, wanted: ExecutedCall, attempts: Sequence[ExecutedCall]) -> FailureClass | None:
    """What the only attempt at a call got wrong; None where more is wrong, or it was not the only one."""
    first = attempts[0]
    is_only = all(one.tool == wanted.tool and is_same(one.arguments, first.arguments) for one in attempts)
    left = ending(evidence)
    if not is_only or is_unreadable(first) or (left is not None and left.class_ == "loop"):
        return None
    errors = _errors(evidence, wanted, first)
    if any(_names_other_row(TrialRows(evidence.trial), error, wanted) for error in errors):
        return "wrong_entity"
    return "wrong_argument" if len(errors) == 1 else None


def _never_made(evidence: Evidence, wanted: ExecutedCall) -> FailureRecord:
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
