"""Spoil replies on purpose, seeded: what a model does wrong now and then, for tests of all that reads replies.

The same seed, question, item and attempt give the same fault on any number of workers.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Literal, get_args

from skillweave.llm.backends.backend import Backend, Reply, Request
from skillweave.schema.record import Json

InjectedFault = Literal[
    "truncated",
    "prose",
    "empty",
    "wrong_types",
    "unknown_field",
    "duplicate_key",
    "not_a_number",
    "too_deep",
    "invalid_sql",
    "wall_clock",
]
INJECTED_FAULTS: tuple[InjectedFault, ...] = get_args(InjectedFault)
SQL = re.compile(
    r"\s*\(*\s*(SELECT|INSERT|UPDATE|DELETE|EXISTS|NOT EXISTS)\b|.*:(now|caller)\b", re.IGNORECASE | re.DOTALL
)
PROSE = "I am sorry, but I need to know more before I can answer this. Which of the two did you mean?"


class FaultInjector:
    def __init__(
        self, inner: Backend, seed: int, rate: float, faults: Sequence[InjectedFault] = INJECTED_FAULTS
    ) -> None:
        self.name = inner.name
        self._inner = inner
        self._seed = seed
        self._rate = rate
        self._faults = faults

    async def complete(self, request: Request) -> Reply:
        reply = await self._inner.complete(request)
        random = Random(f"{self._seed}/{request.question}/{request.key}/{request.attempt}")
        if random.random() >= self._rate:
            return reply
        return replace(reply, text=spoil(reply.text, random.choice(self._faults), random))

    async def close(self) -> None:
        await self._inner.close()


def spoil(text: str, fault: InjectedFault, random: Random) -> str:
    """`text` with the fault; where it has no place for it (code has no keys), prose instead."""
    if fault == "empty":
        return ""
    if fault == "truncated":
        return text[: random.randrange(1, max(2, len(text) - 1))]
    try:
        value: Json = json.loads(text)
    except ValueError:
        return PROSE
    return PROSE if fault == "prose" else IN_JSON[fault](value, random) or PROSE


def _wrong_types(value: Json, random: Random) -> str | None:
    parents = list(_objects(value))
    if not parents:
        return None
    parent = random.choice(parents)
    key = random.choice(sorted(parent))
    parent[key] = {"value": parent[key]} if not isinstance(parent[key], dict) else "see above"
    return json.dumps(value)


def _unknown_field(value: Json, random: Random) -> str | None:
    parents = list(_objects(value))
    if not parents:
        return None
    random.choice(parents)["confidence_note"] = "high"
    return json.dumps(value)


def _duplicate_key(value: Json, random: Random) -> str | None:
    parents = list(_objects(value))
    if not parents:
        return None
    parent = random.choice(parents)
    key = random.choice(sorted(parent))
    mark = "\ue000"
    parent[mark] = parent[key]
    return json.dumps(value, ensure_ascii=False).replace(json.dumps(mark, ensure_ascii=False), json.dumps(key))


def _not_a_number(value: Json, random: Random) -> str | None:
    parents = list(_objects(value))
    if not parents:
        return None
    parent = random.choice(parents)
    parent[random.choice(sorted(parent))] = float("nan")
    return json.dumps(value)


def _too_deep(_: Json, __: Random) -> str:
    return "[" * 5000 + "]" * 5000


def _invalid_sql(value: Json, random: Random) -> str | None:
    return _with_sql(value, random, lambda sql: sql + " AND (")


def _wall_clock(value: Json, random: Random) -> str | None:
    return _with_sql(value, random, _on_the_wall_clock)


def _on_the_wall_clock(sql: str) -> str:
    return sql.replace(":now", "datetime('now')") if ":now" in sql else sql + " AND julianday('now') > 0"


IN_JSON: dict[InjectedFault, Callable[[Json, Random], str | None]] = {
    "wrong_types": _wrong_types,
    "unknown_field": _unknown_field,
    "duplicate_key": _duplicate_key,
    "not_a_number": _not_a_number,
    "too_deep": _too_deep,
    "invalid_sql": _invalid_sql,
    "wall_clock": _wall_clock,
}
"""Each changes the decoded answer; None where there is no place for the fault."""


def _with_sql(value: Json, random: Random, change: Callable[[str], str]) -> str | None:
    places = [
        (parent, key)
        for parent in _objects(value)
        for key, text in sorted(parent.items())
        if isinstance(text, str) and SQL.match(text)
    ]
    if not places:
        return None
    parent, key = random.choice(places)
    parent[key] = change(str(parent[key]))
    return json.dumps(value)


def _objects(value: Json) -> Iterator[dict[str, Json]]:
    """All objects in `value` that have a key, outermost first."""
    if isinstance(value, dict):
        if value:
            yield value
        for part in list(value.values()):
            yield from _objects(part)
    elif isinstance(value, list):
        for part in value:
            yield from _objects(part)
