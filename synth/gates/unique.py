"""Gate: the user's words fit one outcome.

All rows that fit the same words are searched for. If another of them would do as well lawfully and ends
otherwise, the task has two right answers and is rejected.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from math import prod

from evaluator.checks.state import check_state
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination, MentionedRow
from skillweave.schema.entity import Entity
from skillweave.schema.record import Json, Value
from skillweave.schema.task import Criteria
from skillweave.schema.template import TaskTemplate
from skillweave.world.canonical import dump
from skillweave.world.replay import result_reference
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.visibility import column_origins
from synth.gates.answers import is_view_limit_met, told_values
from synth.gates.declined import rules_broken
from synth.gates.gate import Gate
from synth.tasks.kinds import is_declined, is_transferred
from synth.tasks.knowledge import known_from_reads, said_by_user
from synth.tasks.replay import (
    GoldenRun,
    Rejected,
    ReplacedArguments,
    all_shown_rows,
    make_calls,
    open_session,
    run_golden,
)

MOST_ROWS = 400
"""Rows of one table that are looked at."""
MOST_HOPS = 3
"""References that are followed from a row to the one that holds what is said of it."""

Hop = tuple[str, Entity, str]
"""A reference: its column, and the entity and key that it names."""


def matching_rows(world: World, combination: Combination, said: Sequence[MentionedRow]) -> list[str]:
    """Keys of other rows that fit all that is said of one: at the start, or at the moment when it is needed."""
    key = said[0].key
    matching: set[str] | None = None
    for row in said:
        with open_session(world, combination) as session:
            session.caller = combination.caller
            fitting = set(_fitting(world, session, combination, row))
            make_calls(session, combination.golden[: row.call])
            fitting |= set(_fitting(world, session, combination, row))
        matching = fitting if matching is None else matching & fitting
    return sorted((matching or set()) - {str(key)})


def _fitting(world: World, session: ContractSession, combination: Combination, said: MentionedRow) -> list[str]:
    entity = world.blueprint.entity(said.entity or "")
    shown = column_origins(world.blueprint.tool(said.read))
    tests: list[str] = []
    bindings: dict[str, Value] = {}
    computed: list[str] = []
    for number, (column, value) in enumerate(said.columns.items()):
        test = _test(world.blueprint, entity, shown.get(column), f":said_{number}")
        if test is None or isinstance(value, (list, dict)):
            computed.append(column)
        else:
            tests.append(test)
            bindings[f"said_{number}"] = value
    where = " AND ".join(tests) or "1"
    sql = (
        f"SELECT {entity.key} AS found FROM {entity.table} AS own WHERE {where} ORDER BY {entity.key} LIMIT {MOST_ROWS}"
    )
    keys = [str(row["found"]) for row in session.query(sql, bindings)]
    if not computed:
        return keys
    seen = dict(_seen(world, session, combination, said, computed))
    return [key for key in keys if seen.get(key, False)]


def _test(blueprint: Blueprint, entity: Entity, origin: tuple[str, str] | None, binding: str) -> str | None:
    """A condition on a row of the entity, in SQL, that the column shown has a value; None where no table holds it."""
    if origin is None:
        return None
    table, column = origin
    conditions = [
        f"{_within(path)}.{column} IS {binding}{')' * len(path)}"
        for path in _paths(blueprint, entity, table, MOST_HOPS)
    ]
    return conditions[0] if len(conditions) == 1 else None


def _within(path: Sequence[Hop]) -> str:
    """The row at the end of a path of references, up to its column."""
    text, holder = "", "own"
    for number, (name, parent, key) in enumerate(path):
        text += f"EXISTS (SELECT 1 FROM {parent.table} AS up_{number} WHERE up_{number}.{key} = {holder}.{name} AND "
        holder = f"up_{number}"
    return text + holder


def _paths(blueprint: Blueprint, entity: Entity, table: str, hops: int) -> list[list[Hop]]:
    """Paths of references from an entity to a table, as short as they come."""
    if entity.table == table:
        return [[]]
    paths: list[list[Hop]] = []
    for attribute in entity.attributes if hops else ():
        if attribute.references:
            parent, key = blueprint.target(attribute.references)
            hop = (attribute.name, parent, key.name)
            paths += [[hop, *rest] for rest in _paths(blueprint, parent, table, hops - 1)]
    shortest = min(map(len, paths), default=0)
    return [path for path in paths if len(path) == shortest]


def _seen(
    world: World, session: ContractSession, combination: Combination, said: MentionedRow, columns: Sequence[str]
) -> Iterator[tuple[str, bool]]:
    """Key -> whether the read shows its row with the computed columns as said, where it shows it at all."""
    calls = [call for call in combination.golden if call.tool == said.read][:1]
    entity = world.blueprint.entity(said.entity or "")
    keys = [
        name for name, origin in column_origins(world.blueprint.tool(said.read)).items() if _holds_key(entity, origin)
    ]
    agreeing: dict[str, bool] = {}
    for call in calls:
        for row in all_shown_rows(world, session, combination, call):
            for name in keys:
                key = str(row.get(name))
                agreeing[key] = agreeing.get(key, False) or _agrees(said.columns, row, columns)
    yield from agreeing.items()


def _holds_key(entity: Entity, origin: tuple[str, str] | None) -> bool:
    return origin is not None and origin[1] == entity.key


def _agrees(said: Mapping[str, Json], row: Mapping[str, Json], columns: Sequence[str]) -> bool:
    return all(column in row and row[column] == said[column] for column in columns)


MOST_READINGS = 300
"""Sets of other rows that are tried; where there are more, the words say too little."""


GATE = Gate(
    name="unique",
    proves="The user's words fit one outcome.",
    runs=(
        "All other rows that fit the same words are put in the place of the right ones, alone and together; one "
        "that ends otherwise, lawfully, sinks the task."
    ),
    figures={
        "grounded.rows_alike": "other rows that fit the words",
        "grounded.readings_tried": "sets of rows that were put in the place of the right ones",
        "grounded.unique": "`proved`, or `undecided` where a bound cut the search short",
    },
    reasons=(
        "row not told apart",
        "rows too alike",
        "second lawful end state",
        "second rule",
    ),
    check=lambda judged: {
        "grounded": check_unique(judged.world, judged.combination, judged.template, judged.criteria, judged.golden)
    },
)


def check_unique(
    world: World, combination: Combination, template: TaskTemplate, criteria: Criteria, run: GoldenRun
) -> dict[str, Json]:
    """The gate's figures: rows that fit the words beside the right ones. Rejected if one of them would do as well."""
    groups = _by_row(combination) if not is_transferred(combination) else []
    others = [matching_rows(world, combination, said) for said in groups]
    unique = "undecided" if is_view_limit_met(world, combination, template) else "proved"
    if prod(len(keys) + 1 for keys in others) > MOST_READINGS:
        fitting = others
        others = [_own(world, combination, said[0], keys) for said, keys in zip(groups, others, strict=True)]
        # What no read was found to show was set aside; the reads were not called in every way there is.
        unique = unique if others == fitting else "undecided"
    right = [[_meant(world, combination, said, None)] for said in groups]
    wrong = [[*_misread(world, combination, said, keys)] for said, keys in zip(groups, others, strict=True)]
    tried = 0
    for meant in _readings(right, wrong):
        tried += 1
        if tried > MOST_READINGS:
            raise Rejected("rows too alike", f"more than {MOST_READINGS} readings of what the user says")
        if is_declined(combination):
            _check_ban(world, combination, meant)
            continue
        other = run_golden(world, combination, instead=meant)
        if _could_be(world, combination, other) and not _same(world, combination, template, criteria, run, other):
            raise Rejected("second lawful end state", f"{[said[0].columns for said in groups]} fits {meant} as well")
    return {
        "rows_alike": sum(map(len, others)),
        "readings_tried": tried,
        "unique": unique,
    }


def _check_ban(world: World, combination: Combination, meant: ReplacedArguments) -> None:
    """Whatever is meant, the same rule has to forbid it, as far as the caller is shown what else could be meant."""
    broken = rules_broken(world, combination, meant)
    if broken is None or broken[:1] == combination.forbidden[:1]:
        return
    if not broken:
        raise Rejected("second lawful end state", f"{meant} fits the words as well")
    if _shown(world, combination, combination.rows[0]).issuperset(meant.values()):
        raise Rejected("second rule", f"{meant} fits the words as well, and {broken[0]} forbids it")


def _by_row(combination: Combination) -> list[list[MentionedRow]]:
    """What is said of rows that arguments name, by row: one row has one set of words, however often it is named."""
    groups: dict[tuple[str, str], list[MentionedRow]] = {}
    for said in combination.rows:
        if said.parameter is not None and said.entity is not None and said.key is not None:
            groups.setdefault((said.entity, said.key), []).append(said)
    return list(groups.values())


def _readings(
    right: Sequence[Sequence[ReplacedArguments]], wrong: Sequence[Sequence[ReplacedArguments]]
) -> Iterator[ReplacedArguments]:
    """Every choice of rows but the right one: first one row is taken for another, then two at once, and so on."""
    for size in range(1, len(right) + 1):
        for places in combinations(range(len(right)), size):
            chosen = [wrong[place] if place in places else right[place] for place in range(len(right))]
            for reading in product(*chosen):
                yield {place: value for meant in reading for place, value in meant.items()}


def _misread(
    world: World, combination: Combination, said: Sequence[MentionedRow], keys: Sequence[str]
) -> Iterator[ReplacedArguments]:
    """The arguments, for each other row that could be meant."""
    shown: set[Json] | None = None
    for key in keys:
        try:
            yield _meant(world, combination, said, key)
        except LookupError as fault:
            shown = _shown(world, combination, said[0]) if shown is None else shown
            if key in shown:
                raise Rejected("row not told apart", f"{said[0].columns} fits {key!r} too, {fault}") from fault


def _own(world: World, combination: Combination, said: MentionedRow, keys: list[str]) -> list[str]:
    """Of a row that a list of the caller's own shows, the others that it shows; of one that is searched for, all."""
    if any(parameter.required for parameter in world.blueprint.tool(said.read).parameters):
        return keys
    shown = _shown(world, combination, said)
    return [key for key in keys if key in shown]


def _shown(world: World, combination: Combination, said: MentionedRow) -> set[Json]:
    """All texts that reads can show the caller in the domain of a row: nobody can mean what is not among them."""
    reads = [
        tool for tool in world.blueprint.tools if tool.kind == "read" and world.role(tool.name) == world.role(said.read)
    ]
    with world.session(caller=combination.caller, now=combination.now, patch=combination.patch) as session:
        return {
            known.value
            for known in known_from_reads(session, reads, said_by_user(combination))
            if isinstance(known.value, str)
        }


def _meant(world: World, combination: Combination, said: Sequence[MentionedRow], key: str | None) -> ReplacedArguments:
    """The arguments if `key` is the row that is meant; None: as the golden calls have them."""
    reading: ReplacedArguments = {}
    for row in said:
        name = row.parameter or ""
        value = combination.calls[row.call].arguments[name]
        if key is None or value == row.key:
            reading[row.call, name] = value if key is None else key
            continue
        reading[row.call, name] = _beside(world, combination, row, name, key)
    return reading


def _beside(world: World, combination: Combination, said: MentionedRow, name: str, key: str) -> Json:
    """What the read that shows the row meant would give for an argument if another of its rows were meant.

    LookupError where it does not show that one, or several values for it.
    """
    grounding = combination.calls[said.call].grounding[name]
    source = result_reference(grounding)
    if source is None:
        raise LookupError(f"and {name!r} is {grounding}")
    column = source.path.rpartition(".")[2]
    entity = world.blueprint.entity(said.entity or "")
    keys = [
        c
        for c, origin in column_origins(world.blueprint.tool(said.read)).items()
        if origin == (entity.table, entity.key)
    ]
    with open_session(world, combination) as session:
        make_calls(session, combination.golden[: source.call])
        shown = all_shown_rows(world, session, combination, combination.golden[source.call])
        values = {
            dump(row[column]): row[column] for row in shown if column in row and any(row.get(k) == key for k in keys)
        }
    if len(values) != 1:
        raise LookupError(f"of which {column!r} is not known")
    (value,) = values.values()
    return str(value)[:10] if source.as_date else value


def _could_be(world: World, combination: Combination, other: GoldenRun) -> bool:
    """Whether all that matters went through lawfully; a read that finds nothing is no obstacle."""
    kinds = [world.blueprint.tool(call.tool).kind for call in combination.golden]
    steps: Mapping[int, None] = dict.fromkeys(combination.steps)
    needed = [result.ok for n, result in enumerate(other.results) if kinds[n] != "read" or n in steps]
    return all(needed) and other.lawful


def _same(
    world: World,
    combination: Combination,
    template: TaskTemplate,
    criteria: Criteria,
    run: GoldenRun,
    other: GoldenRun,
) -> bool:
    """Whether another reading comes to the same: the same end state, and the same told."""
    values = [told_values(template, combination, each.results) for each in (run, other)]
    return values[0] == values[1] and check_state(criteria, other.changes, world.comparison).score == 1
