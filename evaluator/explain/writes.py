"""Why the end state is wrong: the first write that is wrong or too much, or the first one that is missing.

A write made in place of a golden one of the same tool names a wrong entity if an argument that names a row names
another row. A row with a time of its own that belongs to nobody (a slot, a flight) is chosen for its time: where
the time differs, the argument is wrong, not the entity. A failed call counts as an attempt at a golden call that
was never made. A golden call that was due earlier and never tried comes first.
"""

from collections.abc import Sequence

from evaluator.checks.call_matching import is_same
from evaluator.explain.evidence import (
    Evidence,
    aimed_at,
    broken_rule,
    call_text,
    ending,
    executed_text,
    failed_sign_in,
    is_unreadable,
    sign_in_due,
)
from evaluator.replay.execution import ExecutedCall
from evaluator.replay.trial import ReplayedTrial
from skillweave.schema.contract import SESSION_TOOLS
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

    def table_changed(self, call: ExecutedCall, key: Json) -> str | None:
        """The table of the row with this key that a call updated or deleted."""
        changed = [row for row in call.changes if row.op != "insert" and key in row.key.values()]
        return changed[0].table if changed else None

    def differ_in_time(self, table: str, key: str, other_key: str) -> bool:
        """Whether two rows of a table whose rows belong to nobody have different dates or times."""
        entity = self._world.entity(table)
        counts = [attribute.name for attribute in entity.attributes if attribute.type in ("date", "datetime")]
        if self._belongs(entity, frozenset()):
            return False
        first_row, second_row = self._row(table, key), self._row(table, other_key)
        return bool(first_row and second_row) and any(first_row.get(name) != second_row.get(name) for name in counts)

    def _belongs(self, entity: Entity, seen: frozenset[str]) -> bool:
        """Whether each row of the table belongs to a person whom the world serves."""
        blueprint = self._world.blueprint
        if entity.name == blueprint.core_entity:
            return True
        required = [column.references for column in entity.attributes if column.references and not column.nullable]
        owners = [reference.partition(".")[0] for reference in required]
        return any(
            self._belongs(blueprint.entity(owner), seen | {entity.name}) for owner in owners if owner not in seen
        )

    def _row(self, table: str, key: str) -> dict[str, Json]:
        patched = self._patched.get((table, key))
        return {**(self._world.original(table, key) or {}), **((patched.after if patched else None) or {})}


def wrong_state(evidence: Evidence) -> FailureRecord:
    """The first fault that led to a wrong end state."""
    missing = [call for call in evidence.missing if call.writes]
    replaced = _replaced(evidence, missing)
    lost = [call for call in missing if call.position not in replaced.values()]
    attempts = [(attempt.position, call) for call in lost for attempt in aimed_at(evidence, call)]
    extra = evidence.extra_writes
    first = min(attempts, key=lambda attempt: attempt[0], default=None)
    broken = broken_rule(evidence) if evidence.failed("policy") else None
    positions = [call.position for call in extra[:1]] + [position for position, _ in attempts]
    if broken is not None and (broken.first_divergence.call or 0) <= min(positions, default=len(evidence.calls)):
        return broken
    if extra and (first is None or extra[0].position < first[0]):
        return _of_extra(evidence, extra[0], replaced, lost)
    sign_in_failure = failed_sign_in(evidence)
    if sign_in_failure is not None:
        return sign_in_failure
    if first is not None:
        return _of_attempt(evidence, first[1], lost)
    return _never_made(evidence, lost[0]) if lost else _in_wrong_order(evidence)


def _replaced(evidence: Evidence, missing: Sequence[ExecutedCall]) -> dict[int, int]:
    """Position of each extra write -> position of the missing golden call of the same tool that it replaces."""
    errors = evidence.actions.argument_errors
    pairs = {error.call: error.golden for error in errors if evidence.calls[error.call].writes}
    for call in evidence.extra_writes:
        free = [
            golden.position for golden in missing if golden.tool == call.tool and golden.position not in pairs.values()
        ]
        if call.position not in pairs and free:
            pairs[call.position] = free[0]
    wanted = {call.position for call in missing}
    return {call: golden for call, golden in pairs.items() if golden in wanted}


def _of_extra(
    evidence: Evidence, write: ExecutedCall, replaced: dict[int, int], lost: Sequence[ExecutedCall]
) -> FailureRecord:
    if write.position in replaced:
        golden = evidence.golden[replaced[write.position]]
        return evidence.at_call(_of_arguments(evidence, golden, write), write, call_text(golden.tool, golden.arguments))
    failure: FailureClass = "wrong_tool" if any(not aimed_at(evidence, call) for call in lost) else "extra_write"
    return evidence.at_call(failure, write, evidence.due(write.position))


def _of_arguments(evidence: Evidence, golden: ExecutedCall, write: ExecutedCall) -> FailureClass:
    errors = _errors(evidence, golden, write)
    rows = TrialRows(evidence.trial)
    is_other_row = not errors or any(_names_other_row(rows, error, golden) for error in errors)
    return "wrong_entity" if is_other_row else "wrong_argument"


def _errors(evidence: Evidence, golden: ExecutedCall, write: ExecutedCall) -> list[ArgumentMismatch]:
    errors = evidence.actions.argument_errors
    return [error for error in errors if (error.golden, error.call) == (golden.position, write.position)]


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
        # The right call was made too early: what is missing comes before it.
        is_early = is_same(first.arguments, wanted.arguments) and not is_unreadable(first)
        expected = evidence.due(first.position) if is_early else call_text(wanted.tool, wanted.arguments)
        failure = "malformed_call" if all(map(is_unreadable, attempts)) else _of_refusal(evidence, wanted, attempts)
    if failure is not None:
        return evidence.at_call(failure, first, expected)
    pairs = ending(evidence, expected)
    if pairs is None:
        return evidence.at_call("missing_write", first, expected)
    got = f"{executed_text(first)}; then {pairs.first_divergence.got}"
    return evidence.at_call(pairs.class_, first, expected, got)


def _skipped(evidence: Evidence, wanted: ExecutedCall, lost: Sequence[ExecutedCall]) -> ExecutedCall | None:
    """The sign-in or write that was due before a golden call and never tried."""
    sign_in = sign_in_due(evidence)
    earlier = [*([sign_in] if sign_in else []), *(call for call in lost if call.position < wanted.position)]
    return next((call for call in earlier if not aimed_at(evidence, call)), None)


def _of_refusal(evidence: Evidence, wanted: ExecutedCall, attempts: Sequence[ExecutedCall]) -> FailureClass | None:
    """What the only attempt at a call got wrong; None where it got several things wrong, or there were others."""
    first = attempts[0]
    is_only = all(call.tool == wanted.tool and is_same(call.arguments, first.arguments) for call in attempts)
    end = ending(evidence)
    if not is_only or is_unreadable(first) or (end is not None and end.class_ == "loop"):
        return None
    errors = _errors(evidence, wanted, first)
    if any(_names_other_row(TrialRows(evidence.trial), error, wanted) for error in errors):
        return "wrong_entity"
    return "wrong_argument" if len(errors) == 1 else None


def _never_made(evidence: Evidence, wanted: ExecutedCall) -> FailureRecord:
    expected = call_text(wanted.tool, wanted.arguments)
    return ending(evidence, expected) or evidence.at_end("missing_write", expected)


def _in_wrong_order(evidence: Evidence) -> FailureRecord:
    """All golden writes were made and no others: their order was wrong, or an argument had a hidden effect."""
    pairs = [pair for pair in evidence.actions.matched if evidence.golden[pair.golden].writes]
    for pair, call in zip(pairs, sorted(pair.call for pair in pairs), strict=True):
        if pair.call != call:
            wanted = evidence.golden[pair.golden]
            return evidence.at_call("wrong_order", evidence.calls[call], call_text(wanted.tool, wanted.arguments))
    return ending(evidence) or evidence.at_end("other", "the end state that the task demands")
