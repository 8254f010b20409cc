"""The criteria of a task: what its golden run changed and told, what it must not do, and which checks make up its
reward.

What can be known by its value: from the user, from results of calls, or from reads that are still offered.

Equal values are the same thing only if they are of one kind: money is compared with money, days with days, and
small bare numbers must also have the same name.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import islice, product
from typing import NamedTuple

from skillweave.schema.combination import Combination
from skillweave.schema.contract import ANY, CallResult, Parameter, RowChange, Tool
from skillweave.schema.criteria import Basis, Criteria, MustNot
from skillweave.schema.record import Json
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.visibility import keys_shown
from synth.contracts.wording import value_type
from synth.contracts.writes import written_columns
from synth.tasks.kinds import KINDS
from synth.tasks.replay import WEEKS, GoldenRun, rows_of


def criteria_of(world: World, combination: Combination, run: GoldenRun) -> Criteria:
    """Criteria that the golden run meets; columns on which the user has no preference are left open.

    The policy counts in every task: a request that is declined where none has to be breaks it. What has to be asked for
    is put in when the user's facts have their ids.
    """
    told: list[Basis] = ["communicate"] if combination.communicate else []
    criteria = Criteria(
        state=_opened(run.changes, combination.open_columns),
        any_of=[_opened(changes, combination.open_columns) for changes in combination.any_of],
        must_not=[*_forbidden(world, combination)],
        communicate=combination.communicate,
        asked=combination.asked and combination.marked(len(combination.golden)),
        asked_after=combination.asked_after,
        undone=combination.undone,
        thought_better_of=sorted(place for place in combination.replaced if place < len(combination.golden)),
        reward_basis=["state", *told, "policy"],
    )
    return KINDS[combination.kind].criteria(world, combination, criteria)


def _forbidden(world: World, combination: Combination) -> Iterator[MustNot]:
    """A ban for each rule that the call asked for would break."""
    if combination.asked is None:
        return
    tool = world.blueprint.tool(combination.asked.tool)
    table = next(iter(written_columns(world, tool)), "")
    for guard in tool.guards:
        if guard.rule in combination.forbidden:
            yield MustNot(rule=guard.rule, table=table, why=guard.says)


def _opened(changes: Sequence[RowChange], columns: dict[str, list[str]]) -> list[RowChange]:
    """The changes with open columns; in an update also those that the golden calls leave as they are."""
    changed = []
    for change in changes:
        after = dict(change.after or {})
        names = [name for name in columns.get(change.table, []) if name in after or change.op == "update"]
        opened = {**after, **{name: {ANY: True} for name in names}}
        changed.append(change.model_copy(update={"after": opened}) if names and change.op != "delete" else change)
    return changed


SMALL_NUMBER = 100
"""Bare numbers below this are everywhere, so that equal ones say nothing."""
MOST_CALLS = 60
"""Ways in which one read is called."""
MOST_KEYS = 12
"""Rows of one kind that reads are asked about."""
ROUNDS = 2
"""How often reads are asked again about what they have shown."""
_SCALAR = (str, int, float)


class KnownValue(NamedTuple):
    name: str
    """Of the column or parameter."""
    value: Json


def is_known(wanted: Sequence[KnownValue], known: KnownValue) -> bool:
    """Whether what was found is what is wanted, under one of its names."""
    return any(_is_same(one, known) for one in wanted)


def _is_same(wanted: KnownValue, known: KnownValue) -> bool:
    one, other = wanted.value, known.value
    if isinstance(one, bool) or isinstance(other, bool) or isinstance(one, (list, dict)):
        return one == other and wanted.name == known.name and type(one) is type(other)
    if isinstance(one, (int, float)):
        if not isinstance(other, (int, float)) or one != other:
            return False
        if _is_money(wanted) or _is_money(known):
            return _is_money(wanted) and _is_money(known)
        return abs(one) >= SMALL_NUMBER or wanted.name == known.name
    if not isinstance(one, str) or not isinstance(other, str):
        return False
    if value_type(one) == "date":
        return value_type(other) in ("date", "datetime") and other[:10] == one
    return one.strip().casefold() == other.strip().casefold()


def _is_money(known: KnownValue) -> bool:
    return known.name.endswith("_cents")


def said_by_user(combination: Combination) -> list[KnownValue]:
    """All that the user says: values, columns of the rows they refer to, what they sign in with; and the day it is."""
    values = [KnownValue(name, value) for row in combination.rows for name, value in row.columns.items()]
    values += [KnownValue(said.parameter, said.value) for said in combination.values if said.value is not None]
    values += [KnownValue(name, value) for name, value in combination.credentials.items()]
    return [*values, KnownValue("today", combination.now[:10])]


def known_from_results(results: Sequence[CallResult | None]) -> Iterator[KnownValue]:
    """All that calls have returned."""
    for result in results:
        for row in rows_of(result) if result is not None else ():
            yield from (KnownValue(name, value) for name, value in row.items())


def known_from_reads(
    session: ContractSession, reads: Sequence[Tool], said: Sequence[KnownValue]
) -> Iterator[KnownValue]:
    """All that reads can show the caller in the present state, called in every way that comes to mind.

    They are asked about rows that they have shown themselves, about what the user says, and about the weeks around.
    """
    keys: dict[str, dict[Json, None]] = {}
    asked: set[tuple[str, str]] = set()
    named = {tool.name: keys_shown(session.world.blueprint, tool) for tool in reads}
    for _ in range(ROUNDS):
        for tool in reads:
            choices = [_choices(parameter, keys, said, session.now) for parameter in tool.parameters]
            for values in islice(product(*choices), MOST_CALLS):
                arguments: dict[str, Json] = {
                    p.name: v for p, v in zip(tool.parameters, values, strict=True) if v is not None
                }
                if (tool.name, repr(arguments)) in asked:
                    continue
                asked.add((tool.name, repr(arguments)))
                rows = rows_of(session.peek(tool.name, arguments))
                _note_keys(rows, named[tool.name], keys)
                yield from (KnownValue(name, value) for row in rows for name, value in row.items())


def _note_keys(
    rows: Sequence[dict[str, Json]], named: Mapping[str, Collection[str]], keys: dict[str, dict[Json, None]]
) -> None:
    """Add the keys that rows show, by entity."""
    for entity, columns in named.items():
        kept, ordered = keys.setdefault(entity, {}), sorted(columns)
        kept.update({row[column]: None for row in rows for column in ordered if isinstance(row.get(column), str)})


def _choices(
    parameter: Parameter, keys: dict[str, dict[Json, None]], said: Sequence[KnownValue], now: str
) -> Collection[Json]:
    choices: list[Json] = [] if parameter.required else [None]
    if parameter.refers_to:
        return [*choices, *islice(keys.get(parameter.refers_to.partition(".")[0], {}), MOST_KEYS)]
    if parameter.enum:
        return [*choices, *parameter.enum]
    match parameter.type:
        case "boolean":
            return [*choices, True, False]
        case "date":
            days = sorted({str(known.value)[:10] for known in said if value_type(known.value) in ("date", "datetime")})
            today = date.fromisoformat(now[:10])
            weeks = [(today + timedelta(weeks=week)).isoformat() for week in range(-1, WEEKS)]
            return list(dict.fromkeys([*choices, *days, *weeks]))
        case "string" | "integer" | "number":
            kind = parameter.type
            given = {
                known.value for known in said if value_type(known.value) == kind and isinstance(known.value, _SCALAR)
            }
            return [*choices, *sorted(given, key=str)]
        case _:
            return choices
