"""Test cases of a server: calls in one session, their observed results, and the differences between two observations.

A case is plain data. The contract's session and the generated server get the same case.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from skillweave.base.errors import WorldError
from skillweave.schema.contract import Call, CallResult, RowChange, Tool
from skillweave.schema.record import Json, Value
from skillweave.world.world import World

LONG = 120
"""Longest text to show in full; of a longer text only the part around the first difference is shown."""
LONGEST = 1000
"""Longest row to show in full, in characters."""
AROUND = 40
"""Characters shown before the first difference of two long texts."""


@dataclass(frozen=True)
class ServerCase:
    """Calls in one session, on the world's database with some rows changed."""

    about: str
    """The subject of the case, in words."""
    calls: tuple[Call, ...]
    caller: str | None = None
    """Who is signed in at the start."""
    patch: tuple[RowChange, ...] = ()
    """Row changes before the calls."""

    def as_json(self, now: str) -> Json:
        """The case as one line for the probe; `now` is the session's clock."""
        return {
            "now": now,
            "caller": self.caller,
            "patch": [change.model_dump(mode="json") for change in self.patch],
            "calls": [[call.tool, call.arguments] for call in self.calls],
        }


class RowEdit(NamedTuple):
    """One row changed: a cell set, a row added, or a row deleted."""

    table: str
    key: str
    column: str | None = None
    """The cell to set; None if the whole row is added or deleted."""
    value: Value = None
    row: tuple[tuple[str, Value], ...] | None = None
    """The row to add."""


class CandidateCall(NamedTuple):
    """A call of one tool that may become a test case."""

    tool: Tool
    caller: str | None
    arguments: tuple[tuple[str, Json], ...]
    """Every parameter with its value; None for an omitted argument."""
    edits: tuple[RowEdit, ...] = ()
    """Changes to the world's database before the call."""

    def given(self) -> dict[str, Json]:
        """The arguments of the call, without omitted ones."""
        return {name: value for name, value in self.arguments if value is not None}

    def with_argument(self, name: str, value: Json) -> "CandidateCall":
        """The candidate with one argument replaced."""
        return self._replace(arguments=tuple((key, value if key == name else old) for key, old in self.arguments))

    def with_edit(self, edit: RowEdit) -> "CandidateCall":
        """The candidate with one more edit, without the earlier edits that it overrides."""
        if edit.column is not None:
            return self.with_cells([edit])[0]
        kept = [e for e in self.edits if (e.table, e.key) != (edit.table, edit.key)]
        was_added = any(e.row is not None and (e.table, e.key) == (edit.table, edit.key) for e in self.edits)
        edits = tuple(kept) if was_added and edit.row is None else (*kept, edit)
        return CandidateCall(self.tool, self.caller, self.arguments, edits)

    def with_cells(self, edits: Sequence[RowEdit]) -> list["CandidateCall"]:
        """The candidate with each of these edits of one cell."""
        cell = [edit[:3] for edit in edits[:1]]
        kept = [edit for edit in self.edits if edit[:3] not in cell]
        return [CandidateCall(self.tool, self.caller, self.arguments, (*kept, edit)) for edit in edits]

    def as_case(self, about: str, world: World) -> ServerCase:
        """The candidate as a case of the differential test.

        Args:
            about: The subject of the case, in words.
            world: The world whose database the edits change.
        """
        calls = (Call(tool=self.tool.name, arguments=self.given()),)
        return ServerCase(f"{self.tool.name}, {about}", calls, self.caller, tuple(_row_changes(self.edits, world)))


def _row_changes(edits: Sequence[RowEdit], world: World) -> Iterator[RowChange]:
    """The edits as row changes, one for each row. Later edits of an added row change the row that is added."""
    edits_of: dict[tuple[str, str], list[RowEdit]] = {}
    for edit in edits:
        edits_of.setdefault((edit.table, edit.key), []).append(edit)
    for (table, key), own in edits_of.items():
        key_cell: dict[str, Json] = {world.entity(table).key: key}
        cells: dict[str, Json] = {edit.column: edit.value for edit in own if edit.column is not None}
        added = next((edit.row for edit in own if edit.row is not None), None)
        if added is not None:
            yield RowChange(table=table, op="insert", key=key_cell, after={**dict(added), **cells})
        elif own[-1].column is None:
            yield RowChange(table=table, op="delete", key=key_cell)
        else:
            yield RowChange(table=table, op="update", key=key_cell, after=cells)


def row_edits(changes: Sequence[RowChange]) -> tuple[RowEdit, ...]:
    """Row changes as edits before a call."""
    edits: list[RowEdit] = []
    for change in changes:
        key, cells = str(next(iter(change.key.values()))), cast(dict[str, Value], change.after or {})
        if change.op == "update":
            edits += [RowEdit(change.table, key, name, cell) for name, cell in cells.items()]
        else:
            edits.append(RowEdit(change.table, key, row=tuple(cells.items()) if change.op == "insert" else None))
    return tuple(edits)


@dataclass(frozen=True)
class Observed:
    """The answers of a session to a case, and the changes to its state."""

    answers: tuple[Json, ...]
    """One answer for each call, in the server's format."""
    changes: Json
    """`table key` -> the columns of the row before and after."""


def observe(world: World, case: ServerCase) -> Observed | None:
    """Run a case in a session of the contract. Returns None if the case's row changes are not possible."""
    try:
        opened = world.session(caller=case.caller, patch=case.patch)
    except WorldError:
        return None
    with opened as session:
        answers = tuple(answer_of(session.call(call.tool, call.arguments)) for call in case.calls)
        return Observed(answers, changes_of(session.diff()))


def answer_of(result: CallResult) -> Json:
    """A result in the server's format."""
    if result.error is not None:
        return {"ok": False, "error": result.error.model_dump(mode="json")}
    return {"ok": True, "value": result.value}


def changes_of(changes: Sequence[RowChange]) -> Json:
    """Row changes in the probe's format: `table key` -> the whole row change, with booleans as numbers."""
    return {
        f"{change.table} {next(iter(change.key.values()))}": {
            "before": _cells(change.before),
            "after": _cells(change.after),
        }
        for change in changes
    }


def _cells(cells: dict[str, Json] | None) -> Json:
    if cells is None:
        return None
    return {name: int(value) if isinstance(value, bool) else value for name, value in cells.items()}


class Mismatch(NamedTuple):
    """A place at which the contract and a server differ."""

    path: str
    """`value[2].due_on`; `row fee FEE-0003.amount_cents`; empty for the whole outcome."""
    kind: str
    """The path without positions and keys, equal for mismatches with one cause."""
    contract: str
    """The contract's value, in words."""
    server: str
    """The server's value, in words."""

    def __str__(self) -> str:
        return f"{self.path}{': ' * bool(self.path)}contract {self.contract}, server {self.server}"


def value_mismatches(contract: Json, server: Json, path: str = "value", kind: str = "value") -> Iterator[Mismatch]:
    """Find where two results differ, column by column.

    Args:
        contract: The contract's result.
        server: The server's result.
        path: The place of the two results in the whole answer.
        kind: The same without positions and keys.
    """
    if _same(contract, server):
        return
    if isinstance(contract, dict) and isinstance(server, dict):
        for name in [*contract, *(name for name in server if name not in contract)]:
            if name not in server:
                yield Mismatch(f"{path}.{name}", f"{kind}.{name}", _shown(contract[name]), "has no such column")
            elif name not in contract:
                yield Mismatch(f"{path}.{name}", f"{kind}.{name}", "has no such column", _shown(server[name]))
            else:
                yield from value_mismatches(contract[name], server[name], f"{path}.{name}", f"{kind}.{name}")
    elif isinstance(contract, list) and isinstance(server, list):
        yield from _list_mismatches(contract, server, path, kind)
    else:
        yield Mismatch(path, kind, *_both_shown(contract, server))


def _list_mismatches(contract: list[Json], server: list[Json], path: str, kind: str) -> Iterator[Mismatch]:
    if sorted(map(_key, contract)) == sorted(map(_key, server)):
        place = next(
            at
            for at, (contract_row, other) in enumerate(zip(contract, server, strict=True))
            if not _same(contract_row, other)
        )
        first = _shown(contract[place]), _shown(server[place])
        yield Mismatch(f"{path}[{place}], the same rows in another order", f"the order of {kind}", *first)
    elif len(contract) != len(server):
        sizes = f"the number of rows of {kind}"
        yield Mismatch(f"{path}, rows", sizes, _rows(contract, server), _rows(server, contract))
    else:
        for place, (contract_row, other) in enumerate(zip(contract, server, strict=True)):
            yield from value_mismatches(contract_row, other, f"{path}[{place}]", kind)


def _rows(own: list[Json], others: list[Json]) -> str:
    """How many rows there are, and the first that only this side has."""
    known = set(map(_key, others))
    alone = next((row for row in own if _key(row) not in known), None)
    return f"{len(own)}" + (f" (it alone has {_shown(alone)})" if alone is not None else "")


def change_mismatches(contract: Mapping[str, Any], server: Mapping[str, Any]) -> Iterator[Mismatch]:
    """Find where two sets of row changes differ; each is `table key` -> the columns of the row before and after."""
    paired = dict(_paired(contract, server))
    for row in [*contract, *(row for row in server if row not in contract)]:
        table = row.partition(" ")[0]
        if row in paired:
            other = paired[row]
            yield Mismatch(f"key of the new row in {table}", f"keys of new rows in {table}", repr(row), repr(other))
        elif row not in paired.values():
            yield from _row_mismatches(row, table, contract.get(row), server.get(row))


def _paired(contract: Mapping[str, Any], server: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Pairs of rows that the two sides inserted under different keys, in order."""
    contract_rows, other = _inserted(contract, server), _inserted(server, contract)
    for table, rows in contract_rows.items():
        yield from zip(rows, other.get(table, []), strict=False)


def _inserted(own: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, list[str]]:
    """Rows that only this side inserts, by table."""
    inserted: dict[str, list[str]] = {}
    for row, change in own.items():
        if row not in others and change["before"] is None:
            inserted.setdefault(row.partition(" ")[0], []).append(row)
    return inserted


def _row_mismatches(row: str, table: str, contract: Any, server: Any) -> Iterator[Mismatch]:
    verbs = [_verb(change) for change in (contract, server)]
    if verbs[0] != verbs[1]:
        shown = [_change_shown(verb, change) for verb, change in zip(verbs, (contract, server), strict=True)]
        yield Mismatch(f"row {row}", f"rows of {table} that are {verbs[0]}", *shown)
    elif contract["after"] is not None:
        for column in sorted({*contract["after"], *server["after"]}):
            contract_cell, other = (
                _shown(change["after"][column]) if column in change["after"] else "leaves it as it was"
                for change in (contract, server)
            )
            if contract_cell != other:
                yield Mismatch(f"row {row}.{column}", f"{column} in rows of {table}", contract_cell, other)


def _change_shown(verb: str, change: Any) -> str:
    return f"{verb} it as {_shown(change['after'])}" if change and change["after"] else f"{verb} it"


def _verb(change: Any) -> str:
    if change is None:
        return "leaves"
    if change["before"] is None:
        return "inserts"
    return "deletes" if change["after"] is None else "changes"


def tool_mismatches(contract: Sequence[Json], server: Json) -> Iterator[Mismatch]:
    """Find where the offered tools differ; each is a list of name, description and JSON schema."""
    offered = {tool[0]: tool for tool in server if isinstance(tool, list) and tool} if isinstance(server, list) else {}
    wanted = {str(tool[0]): tool for tool in contract if isinstance(tool, list)}
    for name, tool in wanted.items():
        if name not in offered:
            yield Mismatch(f"tool {name}", f"tool {name}", "offers it", "does not")
            continue
        for part, contract_part, other in zip(("name", "description", "schema"), tool, offered[name], strict=True):
            yield from value_mismatches(contract_part, other, f"tool {name}: {part}", part)
    for extra in (name for name in offered if name not in wanted):
        yield Mismatch(f"tool {extra}", f"tool {extra}", "does not offer it", "does")
    if list(offered) != list(wanted) and set(offered) == set(wanted):
        yield Mismatch("the order of the tools", "order", ", ".join(wanted), ", ".join(map(str, offered)))


def _same(contract: Json, other: Json) -> bool:
    return _key(contract) == _key(other)


def _key(value: Json) -> str:
    """A text that is equal only for equal values: true is not 1, and 1 is not 1.0."""
    return str(json.dumps(value, sort_keys=True))


def _shown(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


def _both_shown(contract: Json, other: Json) -> tuple[str, str]:
    """Two values; of long texts only the part around the first difference."""
    if isinstance(contract, str) and isinstance(other, str) and max(len(contract), len(other)) > LONG:
        letters = enumerate(zip(contract, other, strict=False))
        place = next((at for at, (left, right) in letters if left != right), min(len(contract), len(other)))
        return _around(contract, place), _around(other, place)
    return _shown(contract), _shown(other)


def _around(text: str, place: int) -> str:
    start, end = max(0, place - AROUND), place + LONG
    return f"{'...' if start else ''}{text[start:end]!r}{'...' if end < len(text) else ''}"
