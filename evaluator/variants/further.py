"""Writes beyond the golden ones: one more, one that spoils or undoes what was done, one against a rule."""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from evaluator.variants.candidates import arguments_of
from evaluator.variants.telling import told
from evaluator.variants.transcript import transcript
from evaluator.variants.variant import Variant, failing
from evaluator.variants.workbench import Move, Workbench
from skillweave.schema.change import RowChange
from skillweave.schema.contract import Tool
from skillweave.schema.result import FailureClass
from skillweave.world.canonical import canonical, dump
from skillweave.world.delta import delta
from skillweave.world.session import ContractSession

Sort = Literal["extra_write", "undone", "broken_rule"]
_MOST_TRIES = 16
"""Calls of one tool that are tried."""


def further_writes(bench: Workbench, sorts: Sequence[Sort]) -> Iterator[Variant]:
    """One of each of these sorts, after the golden calls. One that spoils is an extra write where no other is."""
    found = found_writes(bench, sorts)
    if "undone" in found:
        found.setdefault("extra_write", found["undone"])
    for sort in sorts:
        if sort in found:
            attempt = bench.attempt([*bench.moves, found[sort]])
            words = [told(bench.task.criteria.communicate)]
            yield failing(sort, transcript(bench.task, attempt.made, words), _classes(bench, sort))


def found_writes(bench: Workbench, sorts: Collection[Sort]) -> dict[Sort, Move]:
    """Writes that can be made after the golden calls and lead elsewhere: the first of each of these sorts, tools taking
    turns in a drawn order."""
    found: dict[Sort, Move] = {}
    writes = [tool for tool in bench.tools if tool.kind == "write"]
    with bench.session(len(bench.looks)) as session:
        before = session.diff()
        touched = {_row(change) for change in before}
        for tool in bench.random("further writes").sample(writes, len(writes)):
            sought = {sort for sort in sorts if _is_possible(sort, tool, touched)}
            for move in _calls(bench, tool):
                if sought <= found.keys():
                    break
                sort = _sort_of(bench, session, move, before, touched)
                if sort is not None:
                    found.setdefault(sort, move)
    return found


def _is_possible(sort: Sort, tool: Tool, touched: Collection[str]) -> bool:
    """Whether a tool can break a rule that the agent alone holds, or there is something to undo."""
    if sort == "broken_rule":
        return any(guard.enforced_by == "agent" for guard in tool.guards)
    return sort != "undone" or bool(touched)


def _classes(bench: Workbench, sort: Sort) -> set[FailureClass]:
    """Breaking a rule is one where the policy counts; elsewhere the write is too much all the same."""
    if sort != "broken_rule":
        return {"extra_write"}
    return {"policy_violation"} if "policy" in bench.task.criteria.reward_basis else {"policy_violation", "extra_write"}


def _calls(bench: Workbench, tool: Tool) -> Iterator[Move]:
    random = bench.random(f"further {tool.name}")
    return (Move(tool.name, given) for given in arguments_of(bench, tool, random, _MOST_TRIES))


def _sort_of(
    bench: Workbench, session: ContractSession, move: Move, before: list[RowChange], touched: set[str]
) -> Sort | None:
    """What a write is, made now; nothing of it stays. None where it fails or changes nothing that counts."""
    mark = session.mark()
    try:
        result = session.call(move.tool, move.arguments)
        if not result.ok or not any(result.changed):
            return None
        after = session.diff()
        if bench.reaches_goal(canonical(after, session.minted)):
            return None
        if result.violations:
            return "broken_rule"
        return "undone" if any(_row(change) in touched for change in delta(before, after)) else "extra_write"
    finally:
        session.forget(mark)


def _row(change: RowChange) -> str:
    return dump([change.table, change.key])
