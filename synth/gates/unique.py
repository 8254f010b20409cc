"""Gate: the user's words fit one outcome.

The gate searches for all rows that fit the same words. If the calls succeed lawfully with another of these rows and
lead to another end state, the task has two right answers, and the gate rejects it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, product
from math import prod

from evaluator.checks.state import check_state
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination, MentionedRow
from skillweave.schema.criteria import Criteria
from skillweave.schema.entity import Entity
from skillweave.schema.record import Json, Value
from skillweave.schema.template import TaskTemplate
from skillweave.world.canonical import dump
from skillweave.world.replay import result_reference
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.visibility import column_origins
from synth.gates.answers import is_view_limit_met, told_values
from synth.gates.declined import rules_broken
from synth.gates.gate import Gate
from synth.tasks.criteria import known_from_reads, said_by_user
from synth.tasks.forms.form import mentions_of_forms
from synth.tasks.kinds import is_declined, is_transferred
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
"""Limit on the rows of one table."""
MOST_HOPS = 3
"""Limit on the references from a row to the row that holds a column which the user mentions."""

Hop = tuple[str, Entity, str]
"""A reference: its column, and the entity and key that it names."""


def matching_rows(world: World, combination: Combination, mentions: Sequence[MentionedRow]) -> list[str]:
    """Keys of other rows that fit the words for a row, at the start or just before the call that needs the row."""
    key = mentions[0].key
    matching: set[str] | None = None
    for row in mentions:
        with open_session(world, combination) as session:
            session.caller = combination.caller
            fitting = set(_fitting(world, session, combination, row))
            make_calls(session, combination.golden[: row.call])
            fitting |= set(_fitting(world, session, combination, row))
        matching = fitting if matching is None else matching & fitting
    return sorted((matching or set()) - {str(key)})


def _fitting(world: World, session: ContractSession, combination: Combination, mention: MentionedRow) -> list[str]:
    entity = world.blueprint.entity(mention.entity or "")
    shown = column_origins(world.blueprint.tool(mention.read))
    tests: list[str] = []
    bindings: dict[str, Value] = {}
    computed: list[str] = []
    for number, (column, value) in enumerate(mention.columns.items()):
        test = _test(world.blueprint, entity, shown.get(column), f":said_{number}")
        if test is None or isinstance(value, (list, dict)):
            computed.append(column)
        else:
            tests.append(test)
            bindings[f"said_{number}"] = value
    where = " AND ".join(tests) or "1"
    columns = f"{entity.key} AS row_key"
    sql = f"SELECT {columns} FROM {entity.table} AS own WHERE {where} ORDER BY {entity.key} LIMIT {MOST_ROWS}"
    keys = [str(row["row_key"]) for row in session.query(sql, bindings)]
    if not computed:
        return keys
    agreeing = dict(_seen(world, session, combination, mention, computed))
    return [key for key in keys if agreeing.get(key, False)]


def _test(blueprint: Blueprint, entity: Entity, origin: tuple[str, str] | None, binding: str) -> str | None:
    """The SQL condition that a shown column of an entity's row has a value; None if no table holds the column."""
    if origin is None:
        return None
    table, column = origin
    conditions = [
        f"{_within(path)}.{column} IS {binding}{')' * len(path)}"
        for path in _paths(blueprint, entity, table, MOST_HOPS)
    ]
    return conditions[0] if len(conditions) == 1 else None


def _within(path: Sequence[Hop]) -> str:
    """The SQL that follows a path of references, up to the column of its last row."""
    text, holder = "", "own"
    for number, (name, parent, key) in enumerate(path):
        text += f"EXISTS (SELECT 1 FROM {parent.table} AS up_{number} WHERE up_{number}.{key} = {holder}.{name} AND "
        holder = f"up_{number}"
    return text + holder


def _paths(blueprint: Blueprint, entity: Entity, table: str, hops: int) -> list[list[Hop]]:
    """The shortest paths of references from an entity to a table."""
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
    world: World, session: ContractSession, combination: Combination, mention: MentionedRow, columns: Sequence[str]
) -> Iterator[tuple[str, bool]]:
    """For each row that the read shows: its key, and whether its computed columns have the mentioned values."""
    calls = [call for call in combination.golden if call.tool == mention.read][:1]
    entity = world.blueprint.entity(mention.entity or "")
    keys = [
        name
        for name, origin in column_origins(world.blueprint.tool(mention.read)).items()
        if _holds_key(entity, origin)
    ]
    agreeing: dict[str, bool] = {}
    for call in calls:
        for row in all_shown_rows(world, session, combination, call):
            for name in keys:
                key = str(row.get(name))
                agreeing[key] = agreeing.get(key, False) or _agrees(mention.columns, row, columns)
    yield from agreeing.items()


def _holds_key(entity: Entity, origin: tuple[str, str] | None) -> bool:
    return origin is not None and origin[1] == entity.key


def _agrees(mentioned: Mapping[str, Json], row: Mapping[str, Json], columns: Sequence[str]) -> bool:
    return all(column in row and row[column] == mentioned[column] for column in columns)


MOST_READINGS = 300
"""Limit on the readings to try; if there are more, the gate rejects the task."""


GATE = Gate(
    name="unique",
    proves="The user's words fit one outcome.",
    runs=(
        "The golden calls with all other rows that fit the same words, alone and together; a lawful run with another "
        "end state rejects the task."
    ),
    figures={
        "grounded.rows_alike": "other rows that fit the words",
        "grounded.readings_tried": "sets of other rows tried in place of the right ones",
        "grounded.unique": "`proved`, or `undecided` if a bound cut the search short",
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
    """The gate's figures: other rows that fit the words, and readings tried. Raises Rejected if one is right too."""
    groups = _by_row(combination) if not is_transferred(combination) else []
    others = [matching_rows(world, combination, said) for said in groups]
    unique = "undecided" if is_view_limit_met(world, combination, template) else "proved"
    if prod(len(keys) + 1 for keys in others) > MOST_READINGS:
        fitting = others
        others = [_own(world, combination, said[0], keys) for said, keys in zip(groups, others, strict=True)]
        # Rows that no read showed were left out, but the gate did not call the reads in every possible way.
        unique = unique if others == fitting else "undecided"
    right = [[_meant(world, combination, said, None)] for said in groups]
    wrong = [[*_misread(world, combination, said, keys)] for said, keys in zip(groups, others, strict=True)]
    tried, shown = 0, cache(lambda: _shown(world, combination, combination.rows[0]))
    for meant in _readings(right, wrong):
        tried += 1
        if tried > MOST_READINGS:
            raise Rejected("rows too alike", f"more than {MOST_READINGS} readings of what the user says")
        if combination.forbidden:
            _check_ban(world, combination, meant, shown)
        if is_declined(combination):
            continue
        other = run_golden(world, combination, instead=meant)
        if _could_be(world, combination, other) and not _same(world, combination, template, criteria, run, other):
            raise Rejected("second lawful end state", f"{[said[0].columns for said in groups]} fits {meant} as well")
    return {
        "rows_alike": sum(map(len, others)),
        "readings_tried": tried,
        "unique": unique,
    }


def _check_ban(
    world: World, combination: Combination, meant: ReplacedArguments, shown: Callable[[], set[Json]]
) -> None:
    """Check that the same rule forbids the request in every reading that the caller can see (`shown`)."""
    broken = rules_broken(world, combination, meant)
    if broken is None or broken[:1] == combination.forbidden[:1]:
        return
    if not broken:
        raise Rejected("second lawful end state", f"{meant} fits the words as well")
    if shown().issuperset(meant.values()):
        raise Rejected("second rule", f"{meant} fits the words as well, and {broken[0]} forbids it")


def _by_row(combination: Combination) -> list[list[MentionedRow]]:
    """The mentions of rows that arguments name, grouped by row; those that a form of request settles are left out."""
    groups: dict[tuple[str, str], list[MentionedRow]] = {}
    settled = mentions_of_forms(combination)
    for mention in combination.rows:
        if (mention.call, mention.parameter) in settled:
            continue
        if mention.parameter is not None and mention.entity is not None and mention.key is not None:
            groups.setdefault((mention.entity, mention.key), []).append(mention)
    return list(groups.values())


def _readings(
    right: Sequence[Sequence[ReplacedArguments]], wrong: Sequence[Sequence[ReplacedArguments]]
) -> Iterator[ReplacedArguments]:
    """Every wrong choice of rows: first those with one row mistaken for another, then with two, and so on."""
    for size in range(1, len(right) + 1):
        for places in combinations(range(len(right)), size):
            chosen = [wrong[place] if place in places else right[place] for place in range(len(right))]
            for reading in product(*chosen):
                yield {place: value for meant in reading for place, value in meant.items()}


def _misread(
    world: World, combination: Combination, mentions: Sequence[MentionedRow], keys: Sequence[str]
) -> Iterator[ReplacedArguments]:
    """The arguments, for each other row that the user could mean."""
    shown: set[Json] | None = None
    for key in keys:
        try:
            yield _meant(world, combination, mentions, key)
        except LookupError as fault:
            shown = _shown(world, combination, mentions[0]) if shown is None else shown
            if key in shown:
                raise Rejected("row not told apart", f"{mentions[0].columns} fits {key!r} too, {fault}") from fault


def _own(world: World, combination: Combination, mention: MentionedRow, keys: list[str]) -> list[str]:
    """The keys of rows that reads show, if the row comes from a list of the caller's own; else all keys."""
    if any(parameter.required for parameter in world.blueprint.tool(mention.read).parameters):
        return keys
    shown = _shown(world, combination, mention)
    return [key for key in keys if key in shown]


def _shown(world: World, combination: Combination, said: MentionedRow) -> set[Json]:
    """All texts that reads can show the caller in the domain of a row; the user can mean only these."""
    reads = [
        tool for tool in world.blueprint.tools if tool.kind == "read" and world.role(tool.name) == world.role(said.read)
    ]
    with world.session(caller=combination.caller, now=combination.now, patch=combination.patch) as session:
        return {
            known.value
            for known in known_from_reads(session, reads, said_by_user(combination))
            if isinstance(known.value, str)
        }


def _meant(
    world: World, combination: Combination, mentions: Sequence[MentionedRow], key: str | None
) -> ReplacedArguments:
    """The arguments if the user means the row `key`; None stands for the golden row."""
    reading: ReplacedArguments = {}
    for row in mentions:
        name = row.parameter or ""
        value = combination.calls[row.call].arguments[name]
        if key is None or value == row.key:
            reading[row.call, name] = value if key is None else key
            continue
        reading[row.call, name] = _beside(world, combination, row, name, key)
    return reading


def _beside(world: World, combination: Combination, mention: MentionedRow, name: str, key: str) -> Json:
    """The value of an argument if the user meant another row that the same read shows.

    Raises LookupError if the read does not show that row, or shows several values for it.
    """
    grounding = combination.calls[mention.call].grounding[name]
    source = result_reference(grounding)
    if source is None:
        raise LookupError(f"and {name!r} is {grounding}")
    column = source.path.rpartition(".")[2]
    entity = world.blueprint.entity(mention.entity or "")
    keys = [
        c
        for c, origin in column_origins(world.blueprint.tool(mention.read)).items()
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
    """Whether every write succeeded lawfully. A read may return nothing."""
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
    """Whether another reading leads to the same end state and the same facts to tell."""
    values = [told_values(template, combination, each.results) for each in (run, other)]
    return values[0] == values[1] and check_state(criteria, other.changes, world.comparison).score == 1
