"""Whether changes are those that a task demands, read without the code that scores.

Rows are laid side by side as texts: columns that are not compared are struck out, texts compared loosely are folded,
and ids that a session mints are tried in every order.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, permutations

from evaluator.variants.executor import VariantExecutor
from skillweave.schema.call import ANY, NEW, Cells, RowChange
from skillweave.schema.record import Json
from skillweave.world.canonical import dump

MOST_ORDERS = 5_040
"""Orders of minted ids that are tried."""
Struck = Mapping[str, frozenset[str]]
"""Table -> columns whose values the task leaves open."""


def reaches(bench: VariantExecutor, changes: Sequence[RowChange]) -> bool:
    """Whether this is an end state that the task demands."""
    criteria = bench.task.criteria
    return any(_same(bench, demanded, changes) for demanded in [criteria.state, *criteria.any_of])


def differing(bench: VariantExecutor, changes: Sequence[RowChange]) -> list[str]:
    """Rows that only one side has, in short."""
    struck = _struck(bench.task.criteria.state)
    sides = [set(_texts(bench, rows, struck, {})) for rows in (bench.task.criteria.state, changes)]
    return [f"only demanded: {row}" for row in sorted(sides[0] - sides[1])] + [
        f"only made: {row}" for row in sorted(sides[1] - sides[0])
    ]


def _same(bench: VariantExecutor, demanded: Sequence[RowChange], made: Sequence[RowChange]) -> bool:
    struck = _struck(demanded)
    wanted = sorted(_texts(bench, demanded, struck, {}))
    numbers = sorted({number for change in made for number in _numbers(change)})
    orders = islice(permutations(numbers), MOST_ORDERS)
    return any(
        wanted == sorted(_texts(bench, made, struck, dict(zip(numbers, order, strict=True)))) for order in orders
    )


def _struck(demanded: Sequence[RowChange]) -> Struck:
    found: dict[str, frozenset[str]] = {}
    for change in demanded:
        opened = {name for name, cell in (change.after or {}).items() if isinstance(cell, dict) and ANY in cell}
        found[change.table] = found.get(change.table, frozenset()) | opened
    return found


def _texts(
    bench: VariantExecutor, changes: Sequence[RowChange], struck: Struck, numbers: Mapping[int, int]
) -> Iterator[str]:
    """A text for each change that says something; what an update had before follows from the world."""
    for change in changes:
        after = _cells(bench, change.table, change.after or {}, struck, numbers)
        if change.op != "update" or after:
            key = _cells(bench, change.table, change.key, {}, numbers)
            yield dump([change.table, change.op, key, after if change.op != "delete" else {}])


def _cells(
    bench: VariantExecutor, table: str, cells: Cells, struck: Struck, numbers: Mapping[int, int]
) -> dict[str, Json]:
    return {
        name: _cell(cell, bench.world.comparison(table, name), numbers)
        for name, cell in cells.items()
        if name not in struck.get(table, ()) and bench.world.comparison(table, name) != "free"
    }


def _cell(cell: Json, how: str, numbers: Mapping[int, int]) -> Json:
    if isinstance(cell, dict) and NEW in cell:
        number = cell[NEW]
        return {NEW: numbers.get(number, number) if isinstance(number, int) and "text" not in cell else "derived"}
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    if how == "normalised" and isinstance(cell, str):
        return "".join(letter for letter in cell.casefold() if letter.isalnum())
    return cell


def _numbers(change: RowChange) -> Iterator[int]:
    for cells in (change.key, change.after or {}):
        for cell in cells.values():
            number = cell.get(NEW) if isinstance(cell, dict) and "text" not in cell else None
            if isinstance(number, int):
                yield number
