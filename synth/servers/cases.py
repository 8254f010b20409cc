"""A test case of a server: calls in one session, what they were observed to do, and where two observations differ.

A case is plain data. The contract's session and the generated server get the same one.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from skillweave.base.errors import WorldError
from skillweave.schema.call import Call, CallResult, RowChange
from skillweave.schema.record import Json
from skillweave.world.world import World


@dataclass(frozen=True)
class ServerCase:
    about: str
    """What it tries, in words: it is shown to the author of a server that fails it."""
    calls: tuple[Call, ...]
    caller: str | None = None
    patch: tuple[RowChange, ...] = ()

    def as_json(self, now: str) -> Json:
        """What the probe reads."""
        return {
            "now": now,
            "caller": self.caller,
            "patch": [change.model_dump(mode="json") for change in self.patch],
            "calls": [[call.tool, call.arguments] for call in self.calls],
        }


@dataclass(frozen=True)
class Observed:
    """What a session answered to a case, and how it left the state."""

    answers: tuple[Json, ...]
    changes: Json


def observe(world: World, case: ServerCase) -> Observed | None:
    """The case in a session that the contract runs; None where its rows cannot be so."""
    try:
        opened = world.session(caller=case.caller, patch=case.patch)
    except WorldError:
        return None
    with opened as session:
        answers = tuple(answer_of(session.call(call.tool, call.arguments)) for call in case.calls)
        return Observed(answers, changes_of(session.diff()))


def answer_of(result: CallResult) -> Json:
    """A result as a server gives it."""
    if result.error is not None:
        return {"ok": False, "error": result.error.model_dump(mode="json")}
    return {"ok": True, "value": result.value}


def changes_of(changes: Sequence[RowChange]) -> Json:
    """Row changes as the probe gives them: table and key to the whole row change, booleans as numbers."""
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


LONG = 120
"""Characters of a text that is shown whole; of a longer one what stands around the place where it parts."""
LONGEST = 1000
"""Characters of a row that is shown whole."""
AROUND = 40


class Mismatch(NamedTuple):
    path: str
    """`value[2].due_on`; `row fee FEE-0003.amount_cents`; empty: the whole outcome."""
    kind: str
    """The path without positions and keys: that of equal causes is equal."""
    contract: str
    """The contract's value, as it is told ..."""
    server: str
    """... and the server's."""

    def __str__(self) -> str:
        return f"{self.path}{': ' * bool(self.path)}contract {self.contract}, server {self.server}"


def value_mismatches(contract: Json, server: Json, path: str = "value", kind: str = "value") -> Iterator[Mismatch]:
    """Where two results part, column by column."""
    if _same(contract, server):
        return
    if isinstance(contract, dict) and isinstance(server, dict):
        for name in [*contract, *(name for name in server if name not in contract)]:
            if name not in server:
                yield Mismatch(f"{path}.{name}", f"{kind}.{name}", _told(contract[name]), "has no such column")
            elif name not in contract:
                yield Mismatch(f"{path}.{name}", f"{kind}.{name}", "has no such column", _told(server[name]))
            else:
                yield from value_mismatches(contract[name], server[name], f"{path}.{name}", f"{kind}.{name}")
    elif isinstance(contract, list) and isinstance(server, list):
        yield from _lists_apart(contract, server, path, kind)
    else:
        yield Mismatch(path, kind, *_both(contract, server))


def _lists_apart(contract: list[Json], server: list[Json], path: str, kind: str) -> Iterator[Mismatch]:
    if sorted(map(_key, contract)) == sorted(map(_key, server)):
        place = next(at for at, (one, other) in enumerate(zip(contract, server, strict=True)) if not _same(one, other))
        first = _told(contract[place]), _told(server[place])
        yield Mismatch(f"{path}[{place}], the same rows in another order", f"the order of {kind}", *first)
    elif len(contract) != len(server):
        sizes = f"the number of rows of {kind}"
        yield Mismatch(f"{path}, rows", sizes, _rows(contract, server), _rows(server, contract))
    else:
        for place, (one, other) in enumerate(zip(contract, server, strict=True)):
            yield from value_mismatches(one, other, f"{path}[{place}]", kind)


def _rows(own: list[Json], others: list[Json]) -> str:
    """How many rows there are, and the first that only this side has."""
    known = set(map(_key, others))
    alone = next((row for row in own if _key(row) not in known), None)
    return f"{len(own)}" + (f" (it alone has {_told(alone)})" if alone is not None else "")


def change_mismatches(contract: Mapping[str, Any], server: Mapping[str, Any]) -> Iterator[Mismatch]:
    """Where two ways part to leave the state: `table key` to the columns of the row before and after."""
    paired = dict(_paired(contract, server))
    for row in [*contract, *(row for row in server if row not in contract)]:
        table = row.partition(" ")[0]
        if row in paired:
            other = paired[row]
            yield Mismatch(f"key of the new row in {table}", f"keys of new rows in {table}", repr(row), repr(other))
        elif row not in paired.values():
            yield from _row_apart(row, table, contract.get(row), server.get(row))


def _paired(contract: Mapping[str, Any], server: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Rows that each side has inserted under another key, in order."""
    one, other = _inserted(contract, server), _inserted(server, contract)
    for table, rows in one.items():
        yield from zip(rows, other.get(table, []), strict=False)


def _inserted(own: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, list[str]]:
    """Rows that this side alone inserts, by table."""
    found: dict[str, list[str]] = {}
    for row, change in own.items():
        if row not in others and change["before"] is None:
            found.setdefault(row.partition(" ")[0], []).append(row)
    return found


def _row_apart(row: str, table: str, contract: Any, server: Any) -> Iterator[Mismatch]:
    done = [_done(change) for change in (contract, server)]
    if done[0] != done[1]:
        told = [_deed(word, change) for word, change in zip(done, (contract, server), strict=True)]
        yield Mismatch(f"row {row}", f"rows of {table} that are {done[0]}", *told)
    elif contract["after"] is not None:
        for column in sorted({*contract["after"], *server["after"]}):
            one, other = (
                _told(change["after"][column]) if column in change["after"] else "leaves it as it was"
                for change in (contract, server)
            )
            if one != other:
                yield Mismatch(f"row {row}.{column}", f"{column} in rows of {table}", one, other)


def _deed(done: str, change: Any) -> str:
    return f"{done} it as {_told(change['after'])}" if change and change["after"] else f"{done} it"


def _done(change: Any) -> str:
    if change is None:
        return "leaves"
    if change["before"] is None:
        return "inserts"
    return "deletes" if change["after"] is None else "changes"


def tool_mismatches(contract: Sequence[Json], server: Json) -> Iterator[Mismatch]:
    """Where the tools part that are offered: lists of name, description and JSON schema."""
    offered = {tool[0]: tool for tool in server if isinstance(tool, list) and tool} if isinstance(server, list) else {}
    wanted = {str(tool[0]): tool for tool in contract if isinstance(tool, list)}
    for name, tool in wanted.items():
        if name not in offered:
            yield Mismatch(f"tool {name}", f"tool {name}", "offers it", "does not")
            continue
        for part, one, other in zip(("name", "description", "schema"), tool, offered[name], strict=True):
            yield from value_mismatches(one, other, f"tool {name}: {part}", part)
    for extra in (name for name in offered if name not in wanted):
        yield Mismatch(f"tool {extra}", f"tool {extra}", "does not offer it", "does")
    if list(offered) != list(wanted) and set(offered) == set(wanted):
        yield Mismatch("the order of the tools", "order", ", ".join(wanted), ", ".join(map(str, offered)))


def _same(one: Json, other: Json) -> bool:
    return _key(one) == _key(other)


def _key(value: Json) -> str:
    """Equal for equal values alone: true is not 1, nor 1 1.0."""
    return str(json.dumps(value, sort_keys=True))


def _told(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


def _both(one: Json, other: Json) -> tuple[str, str]:
    """Two values; of long texts what stands around the place where they part."""
    if isinstance(one, str) and isinstance(other, str) and max(len(one), len(other)) > LONG:
        letters = enumerate(zip(one, other, strict=False))
        place = next((at for at, (left, right) in letters if left != right), min(len(one), len(other)))
        return _around(one, place), _around(other, place)
    return _told(one), _told(other)


def _around(text: str, place: int) -> str:
    start, end = max(0, place - AROUND), place + LONG
    return f"{'...' if start else ''}{text[start:end]!r}{'...' if end < len(text) else ''}"
