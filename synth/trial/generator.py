"""A generator made from the tables alone: a Python script that draws the rows of the tables that no tool fills.

A blueprint is tried with it, and it is the offline author's answer: ordinary code for exactly these tables. Its
function `generate(seed, now, people, pools)` returns `{table: [row, ...]}`. Derived columns are computed by the script
itself, in an SQLite database in memory.
"""

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from pprint import pformat
from textwrap import fill, indent

from skillweave.base.errors import AuthorError
from skillweave.schema.entity import Attribute, Entity, Generate
from skillweave.schema.record import table_of

HEAD = '''"""Rows of {server} that are there before anybody uses a tool.

{about}
"""

import sqlite3
from datetime import datetime, timedelta
from random import Random

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def key(prefix, number):
    """The key of a row."""
    return f"{{prefix}}-{{number:04d}}"


def unseen(seen, draw, mark=str):
    """A value whose mark was not drawn before, or the last one drawn after many tries."""
    for _ in range(1000):
        value = draw()
        if mark(value) not in seen:
            break
    seen.add(mark(value))
    return value


def half_day(moment):
    """The day of a moment, and whether it is in the morning."""
    return moment[:10], moment[11:13] < "12"


def number(rng, low, high, step):
    """low, low + step, ... up to high."""
    value = low + step * rng.randint(0, int((high - low) / step + 1e-9))
    return int(value) if value == int(value) and step == int(step) else round(value, 4)


def away(rng, clock, unit, low, high, step, closed):
    """A moment so far from the clock, on a day of the week that is not closed."""
    for _ in range(1000):
        found = clock + timedelta(**{{unit: number(rng, low, high, step)}})
        if WEEKDAYS[found.weekday()] not in closed:
            break
    return found


def day(rng, clock, low, high, step, closed=()):
    """A date so many days from the clock."""
    return away(rng, clock, "days", low, high, step, closed).strftime("%Y-%m-%d")


def moment(rng, clock, unit, low, high, step, times, closed=()):
    """A moment so far from the clock; at one of the times of day, where there are any."""
    found = away(rng, clock, unit, low, high, step, closed)
    if times:
        hour, minute = rng.choice(times).split(":")
        found = found.replace(hour=int(hour), minute=int(minute), second=0)
    return found.strftime("%Y-%m-%d %H:%M:%S")


def pattern(rng, text):
    """`#` becomes a digit, `?` a capital letter."""
    letters = "ABCDEFGHJKLMNPQRSTUVWXYZ"
    return "".join(
        str(rng.randrange(10)) if mark == "#" else rng.choice(letters) if mark == "?" else mark for mark in text
    )
'''
TAIL = '''

def generate(seed, now, people, pools):
    """All rows by table."""
    clock = datetime.strptime(now, "%Y-%m-%d %H:%M:%S")
    made = {{}}
{calls}
    derive(made, now)
    return made


def derive(made, now):
    """Compute the columns that follow from others, and what becomes of some that were drawn."""
    database = sqlite3.connect(":memory:")
    for table, columns in COLUMNS.items():
        database.execute(f"CREATE TABLE {{table}} ({{', '.join(columns)}})")
        marks = ", ".join("?" for _ in columns)
        rows = [[row.get(column) for column in columns] for row in made.get(table, [])]
        database.executemany(f"INSERT INTO {{table}} VALUES ({{marks}})", rows)
    for table, column, expression in DERIVED:
        given = {{"now": now}} if ":now" in expression else {{}}
        empty = "IS NOT NULL" if (table, column) in DRAWN else "IS NULL"
        try:
            database.execute(f"UPDATE {{table}} SET {{column}} = ({{expression}}) WHERE {{column}} {{empty}}", given)
        except sqlite3.Error as error:
            raise ValueError(f"{{table}}.{{column}}: {{error}}")
    for table, column, _ in DERIVED:
        values = [value for (value,) in database.execute(f"SELECT {{column}} FROM {{table}} ORDER BY rowid")]
        for row, value in zip(made[table], values):
            row[column] = bool(value) if (table, column) in BOOLEAN and value is not None else value


COLUMNS = {columns}
DERIVED = {derived}
DRAWN = {drawn}
BOOLEAN = {boolean}
'''


def write_generator(server: str, core: str, filled: Sequence[Entity], tables: Sequence[Entity]) -> str:
    """The source of a generator.

    Args:
        server: The server's name.
        core: The name of the core person's entity.
        filled: The tables to fill.
        tables: All tables, because derived columns may read any.

    Raises:
        AuthorError: Tables need each other in a circle, or nothing says how a column is drawn.
    """
    ordered = _in_order(filled)
    about = f"Tables, in the order in which they need each other: {', '.join(entity.table for entity in ordered)}."
    sections = [HEAD.format(server=server, about=_wrapped(about))]
    sections += [_function(entity, entity.name == core) for entity in ordered]
    computed = [
        (entity.table, attribute.name, generate)
        for entity in ordered
        for attribute in entity.attributes
        if (generate := attribute.generate) and generate.sql
    ]
    boolean = sorted(
        (entity.table, attribute.name)
        for entity in ordered
        for attribute in entity.attributes
        if attribute.type == "boolean"
    )
    sections.append(
        TAIL.format(
            calls="\n".join(
                f'    made["{entity.table}"] = rows_of_{entity.table}(seed, clock, people, pools, made)'
                for entity in ordered
            ),
            columns=_literal({entity.table: [attribute.name for attribute in entity.attributes] for entity in tables}),
            derived=_literal([(table, column, generate.sql) for table, column, generate in computed]),
            drawn=_literal([(table, column) for table, column, generate in computed if generate.is_drawn]),
            boolean=_literal(boolean),
        )
    )
    return "".join(sections)


def _in_order(filled: Sequence[Entity]) -> list[Entity]:
    by_name = {entity.name: entity for entity in filled}
    needs = {
        entity.name: sorted(
            {
                attribute.references.partition(".")[0]
                for attribute in entity.attributes
                if attribute.references and not attribute.nullable
            }
            & by_name.keys() - {entity.name}
        )
        for entity in filled
    }
    try:
        return [by_name[name] for name in TopologicalSorter(needs).static_order()]
    except CycleError as error:
        raise AuthorError(f"entities need each other in a circle: {error.args[1]}") from error


def _function(entity: Entity, is_core: bool) -> str:
    lines = [f'rng = Random(f"{{seed}}/{entity.table}")', "rows = []"]
    lines += [
        f"seen_{attribute.name} = set()"
        for attribute in entity.attributes
        if (generate := attribute.generate) and generate.is_drawn and (attribute.unique or generate.apart)
    ]
    literal = entity.rows.literal
    if literal:
        lines.append(f"fixed = {_literal(literal)}")
    depth, loops = 0, []
    if is_core:
        loops.append("for person in people:")
    elif entity.rows.per:
        loops.append(f'for parent in made["{_parent_table(entity)}"]:')
    if literal:
        loops.append("for given in fixed:")
    elif entity.rows.per and not is_core:
        loops.append(f"for _ in range(rng.randint({entity.rows.low}, {entity.rows.high})):")
    elif not is_core:
        loops.append(f"for _ in range({entity.rows.count or 0}):")
    for loop in loops:
        lines.append("    " * depth + loop)
        depth += 1
    lines.append("    " * depth + "row = {")
    lines += [
        "    " * (depth + 1) + f'"{attribute.name}": {_drawn(entity, attribute, is_core)},'
        for attribute in entity.attributes
    ]
    lines.append("    " * depth + "}")
    if literal:
        lines.append("    " * depth + "row.update(given)")
    lines += ["    " * depth + "rows.append(row)", "return rows"]
    head = f"\n\ndef rows_of_{entity.table}(seed, clock, people, pools, made):\n    {_docstring(entity)}\n"
    return head + indent("\n".join(lines), "    ") + "\n"


def _quoted(text: str) -> str:
    return f'"{text}"' if text.isidentifier() else repr(text)


def _docstring(entity: Entity) -> str:
    text = entity.description or entity.name
    return f'"""{text}"""' if text.isprintable() and not {*text} & {*'"\\'} else repr(text)


def _drawn(entity: Entity, attribute: Attribute, is_core: bool) -> str:
    """The expression that draws a column of one row."""
    if attribute.name == entity.key:
        return f'key("{entity.prefix}", len(rows) + 1)'
    if is_core and attribute.shared:
        return f'person["{attribute.name}"]'
    if entity.rows.per and attribute.references and attribute.name == _parent_reference(entity):
        return f'parent["{_parent_key(entity)}"]'
    generate = attribute.generate
    if generate is None:
        return _undrawn(entity, attribute)
    if not generate.is_drawn:
        return "None"
    drawn = _expression(attribute, generate)
    if generate.apart:
        parent = f'parent["{_parent_key(entity)}"]' if entity.rows.per else '""'
        drawn = f"unseen(seen_{attribute.name}, lambda: {drawn}, lambda value: ({parent}, half_day(value)))"
    elif attribute.unique:
        drawn = f"unseen(seen_{attribute.name}, lambda: {drawn})"
    return f"None if rng.random() < {generate.empty} else {drawn}" if generate.empty else drawn


def _undrawn(entity: Entity, attribute: Attribute) -> str:
    if attribute.initial is not None:
        return repr(attribute.initial)
    if attribute.enum:
        return f"rng.choice({attribute.enum!r})"
    if attribute.references and not attribute.nullable:
        target, _, column = attribute.references.partition(".")
        return f'rng.choice(made["{table_of(target)}"])["{column}"]'
    if can_be_drawn(entity, attribute):
        return "None"
    raise AuthorError(f"nothing says how {entity.name}.{attribute.name} is drawn; give it `generate` or `initial`")


def can_be_drawn(entity: Entity, attribute: Attribute) -> bool:
    """Whether the entity says where a column's first values come from."""
    literal = entity.rows.literal
    source = attribute.generate or attribute.initial is not None or attribute.enum or attribute.references
    return bool(
        source
        or attribute.shared
        or attribute.nullable
        or attribute.name == entity.key
        or (literal and all(attribute.name in row for row in literal))
    )


def _expression(attribute: Attribute, generate: Generate) -> str:
    if generate.values is not None:
        if generate.weights is None:
            return f"rng.choice({generate.values!r})"
        return f"rng.choices({generate.values!r}, {generate.weights!r})[0]"
    if generate.pattern is not None:
        return f"pattern(rng, {generate.pattern!r})"
    if generate.fake is not None:
        return f"rng.choice(pools[{_quoted(generate.fake)}])"
    bounds = f"{_short(generate.low)}, {_short(generate.high)}, {_short(generate.step)}"
    closed = f", {generate.closed!r}" if generate.closed else ""
    if attribute.type == "date":
        return f"day(rng, clock, {bounds}{closed})"
    if attribute.type == "datetime":
        return f'moment(rng, clock, "{generate.unit}", {bounds}, {generate.times!r}{closed})'
    return f"number(rng, {bounds})"


def _short(value: float | None) -> str:
    return f"{value:g}" if value is not None and abs(value) < 1e6 else repr(int(value or 0))


def _parent_reference(entity: Entity) -> str:
    """The attribute by which a row belongs to the row that it is drawn for."""
    for attribute in entity.attributes[1:]:
        if attribute.references and attribute.references.partition(".")[0] == entity.rows.per:
            return attribute.name
    raise AuthorError(f"rows of {entity.name} are per {entity.rows.per}, but no attribute references it")


def _parent_key(entity: Entity) -> str:
    """The key of the row that a row is drawn for."""
    reference = entity.attribute(_parent_reference(entity)).references or ""
    return reference.partition(".")[2]


def _parent_table(entity: Entity) -> str:
    return table_of(entity.rows.per or "")


def _literal(value: object) -> str:
    return pformat(value, width=112, sort_dicts=False)


def _wrapped(text: str) -> str:
    return fill(text, 112)
