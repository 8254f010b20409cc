"""Variants whose calls do not do what the task asks: all fail. The facts are told rightly in each."""

from collections.abc import Iterable, Iterator

from evaluator.variants.changed import changed_calls
from evaluator.variants.equivalents import reorderings
from evaluator.variants.further import further_writes
from evaluator.variants.telling import told
from evaluator.variants.transcript import transcript
from evaluator.variants.variant import Variant, failing
from evaluator.variants.workbench import Attempt, Move, Workbench
from skillweave.schema.result import FailureClass


def mutants(bench: Workbench) -> Iterator[Variant]:
    """Each that turns on the values and rows of this task."""
    yield from _left_out(bench)
    yield from _demanded_left_out(bench)
    yield from _half_batches(bench)
    yield from changed_calls(bench)
    yield from _swapped(bench)
    yield from _written_twice(bench)
    yield from further_writes(bench, ["extra_write"])


def _left_out(bench: Workbench) -> Iterator[Variant]:
    for place in bench.writes:
        attempt = bench.attempt(_without(bench, {place}))
        if not bench.reaches_goal(attempt.changes):
            name = "delete_left_out" if _deletes(bench, place) else "write_left_out"
            yield _failing(bench, name, attempt, {"missing_write"})


def _demanded_left_out(bench: Workbench) -> Iterator[Variant]:
    """What was done for the sake of bridge rules is left out, with the reads that only this needs; the calls that the
    tools then refuse are tried."""
    left = {place for place, call in enumerate(bench.task.golden) if call.demanded_by is not None}
    if not left:
        return
    for place in reversed(range(len(bench.moves))):
        users = {user for user in range(place + 1, len(bench.moves)) if place in bench.takes_from(user)}
        if users and users <= left and place not in bench.writes:
            left.add(place)
    moves = _without(bench, left)
    refused = bench.attempt(moves).undone
    tried = [Move(move.tool, bench.task.golden[move.golden or 0].arguments) for move in moves]
    attempt = bench.attempt([own if move.golden in refused else move for move, own in zip(moves, tried, strict=True)])
    if not bench.reaches_goal(attempt.changes):
        yield _failing(bench, "demanded_left_out", attempt, {"missing_write"})


def _half_batches(bench: Workbench) -> Iterator[Variant]:
    """Of several writes of one tool the later half is left out."""
    by_tool: dict[str, list[int]] = {}
    for place in bench.writes:
        by_tool.setdefault(bench.task.golden[place].tool, []).append(place)
    for places in by_tool.values():
        attempt = bench.attempt(_without(bench, {*places[(len(places) + 1) // 2 :]}))
        if len(places) > 1 and not bench.reaches_goal(attempt.changes):
            yield _failing(bench, "half_batch", attempt, {"missing_write"})


def _swapped(bench: Workbench) -> Iterator[Variant]:
    """Writes in another order, where that leads elsewhere, or breaks a rule that only the policy holds."""
    for moves in reorderings(bench):
        attempt = bench.attempt(moves)
        is_against_policy = not attempt.is_lawful and "policy" in bench.task.criteria.reward_basis
        if not attempt.undone and (is_against_policy or not bench.reaches_goal(attempt.changes)):
            yield _failing(bench, "swapped_writes", attempt, {"wrong_order"})


def _written_twice(bench: Workbench) -> Iterator[Variant]:
    """Each write once more at the end, where the tool carries it out again and that leads elsewhere."""
    for place in bench.writes:
        made = bench.golden.made[place]
        attempt = bench.attempt([*bench.moves, Move(made.move.tool, made.arguments)])
        if attempt.made[-1].result.ok and not bench.reaches_goal(attempt.changes):
            yield _failing(bench, "written_twice", attempt, {"extra_write"})


def _without(bench: Workbench, places: set[int]) -> list[Move]:
    return [move for move in bench.moves if move.golden not in places]


def _deletes(bench: Workbench, place: int) -> bool:
    """Whether a golden call removes a row that was there at the start."""
    with bench.session(place) as session:
        before = sum(change.op == "delete" for change in session.diff())
        made = bench.golden.made[place]
        session.call(made.move.tool, made.arguments)
        return sum(change.op == "delete" for change in session.diff()) > before


def _failing(bench: Workbench, name: str, attempt: Attempt, classes: Iterable[FailureClass]) -> Variant:
    """A rule broken on the way may be what it is called for."""
    broken: set[FailureClass] = set() if attempt.is_lawful else {"policy_violation"}
    words = [told(bench.task.criteria.communicate)]
    return failing(name, transcript(bench.task, attempt.made, words), {*classes, *broken})
