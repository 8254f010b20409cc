"""The second set of variants: other operators and another seed than the set of the gate that drops tasks.

This module decides again whether a variant reaches the goal, by a comparison that shares no code with the scoring one:
it compares rows as texts, leaves out free columns, normalises texts that scores compare loosely, and tries minted ids
in every order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, permutations
from random import Random
from typing import NamedTuple

from evaluator.variants.conversation import (
    ConversationPart,
    Variant,
    asked_details,
    confirmed_calls,
    conversation,
    failing,
    passing,
    transcript,
)
from evaluator.variants.executor import VariantCall, VariantExecution, VariantExecutor
from evaluator.variants.words import all_facts
from skillweave.schema.contract import ANY, DECLINE, NEW, TRANSFER, Cells, RowChange
from skillweave.schema.record import Json
from skillweave.schema.trajectory import StopReason
from skillweave.world.canonical import dump

SEED = "second set"
MOST = 3
"""Most candidates of one sort to execute in search of one that succeeds."""
MOST_ORDERS = 5_040
"""Most orders of minted ids to try."""
Struck = Mapping[str, frozenset[str]]
"""Table -> columns whose values the task leaves open."""
LONG_SUMMARY = "The customer described the matter at length. " * 12


class HeldOutVariant(NamedTuple):
    variant: Variant
    what: str
    """The change, in words."""
    differs: list[str]
    """Rows in which its end state differs from the demanded one."""


class ChangedCalls(NamedTuple):
    """Calls in place of the golden ones."""

    calls: list[VariantCall]
    what: str


def held_out_random(executor: VariantExecutor, purpose: str) -> Random:
    """Random draws of the second set."""
    return Random(f"{SEED}/{executor.task.id}/{purpose}")


def wrong(executor: VariantExecutor, name: str, ways: Iterable[ChangedCalls]) -> Iterator[HeldOutVariant]:
    """A failing variant: the first candidate with another end state and no failed golden call, else the first."""
    first: tuple[ChangedCalls, VariantExecution] | None = None
    for way in islice(ways, MOST):
        execution = executor.execute(way.calls)
        if reaches(executor, execution.changes):
            continue
        if first is None or not execution.unexecuted:
            first = way, execution
        if not execution.unexecuted:
            break
    if first is not None:
        way, execution = first
        words = [all_facts(executor.task.criteria.communicate)]
        variant = failing(name, transcript(executor.task, execution.steps, words), {"other"})
        yield HeldOutVariant(variant, way.what, differing(executor, execution.changes))


def right(
    executor: VariantExecutor, name: str, ways: Iterable[ChangedCalls], words: Sequence[str] = ()
) -> Iterator[HeldOutVariant]:
    """A passing variant: the first candidate that reaches the goal, in which all golden calls succeed lawfully and show
    what the user has to be told."""
    for way in islice(ways, MOST):
        execution = executor.execute(way.calls)
        is_done = not execution.unexecuted and reaches(executor, execution.changes)
        if is_done and execution.is_lawful and executor.shows_facts(execution):
            facts = [*words] or [all_facts(executor.task.criteria.communicate)]
            yield HeldOutVariant(passing(name, transcript(executor.task, execution.steps, facts)), way.what, [])
            return


def decline_call(rule: str, **more: str) -> VariantCall:
    return VariantCall(DECLINE, {"rule": rule, **more})


def transfer_to_human(**given: str) -> VariantCall:
    arguments: Mapping[str, Json] = {"summary": "As the customer asked.", **given}
    return VariantCall(TRANSFER, arguments)


def executed_parts(executor: VariantExecutor, calls: Sequence[VariantCall]) -> list[ConversationPart]:
    return [*asked_details(executor.task), *confirmed_calls(executor.task, executor.execute(calls).steps)]


def described_calls(calls: Sequence[VariantCall]) -> str:
    return ", ".join(f"{call.tool} {dict(call.arguments)}" if call.golden is None else call.tool for call in calls)


def held_out_passing(
    executor: VariantExecutor,
    name: str,
    beats: Sequence[ConversationPart],
    what: str,
    stop_reason: StopReason = "user_stop",
) -> HeldOutVariant:
    return HeldOutVariant(passing(name, conversation(executor.task, beats), stop_reason), what, [])


def held_out_failing(
    executor: VariantExecutor,
    name: str,
    beats: Sequence[ConversationPart],
    what: str,
    stop_reason: StopReason = "user_stop",
) -> HeldOutVariant:
    return HeldOutVariant(failing(name, conversation(executor.task, beats), {"other"}, stop_reason), what, [])


def reaches(executor: VariantExecutor, changes: Sequence[RowChange]) -> bool:
    """Whether changes are an end state that the task demands."""
    criteria = executor.task.criteria
    return any(_same(executor, demanded, changes) for demanded in [criteria.state, *criteria.any_of])


def differing(executor: VariantExecutor, changes: Sequence[RowChange]) -> list[str]:
    """Rows that only one side has, one on each line."""
    struck = _struck(executor.task.criteria.state)
    sides = [set(_texts(executor, rows, struck, {})) for rows in (executor.task.criteria.state, changes)]
    return [f"only demanded: {row}" for row in sorted(sides[0] - sides[1])] + [
        f"only made: {row}" for row in sorted(sides[1] - sides[0])
    ]


def _same(executor: VariantExecutor, demanded: Sequence[RowChange], steps: Sequence[RowChange]) -> bool:
    struck = _struck(demanded)
    wanted = sorted(_texts(executor, demanded, struck, {}))
    numbers = sorted({number for change in steps for number in _numbers(change)})
    orders = islice(permutations(numbers), MOST_ORDERS)
    return any(
        wanted == sorted(_texts(executor, steps, struck, dict(zip(numbers, order, strict=True)))) for order in orders
    )


def _struck(demanded: Sequence[RowChange]) -> Struck:
    columns: dict[str, frozenset[str]] = {}
    for change in demanded:
        opened = {name for name, cell in (change.after or {}).items() if isinstance(cell, dict) and ANY in cell}
        columns[change.table] = columns.get(change.table, frozenset()) | opened
    return columns


def _texts(
    executor: VariantExecutor, changes: Sequence[RowChange], struck: Struck, numbers: Mapping[int, int]
) -> Iterator[str]:
    """A text for each compared change, without the values before an update, which follow from the world."""
    for change in changes:
        after = _cells(executor, change.table, change.after or {}, struck, numbers)
        if change.op != "update" or after:
            key = _cells(executor, change.table, change.key, {}, numbers)
            yield dump([change.table, change.op, key, after if change.op != "delete" else {}])


def _cells(
    executor: VariantExecutor, table: str, cells: Cells, struck: Struck, numbers: Mapping[int, int]
) -> dict[str, Json]:
    return {
        name: _cell(cell, executor.world.comparison(table, name), numbers)
        for name, cell in cells.items()
        if name not in struck.get(table, ()) and executor.world.comparison(table, name) != "free"
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
