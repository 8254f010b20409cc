"""What an agent can see of a world: which rows and columns each read shows, and which columns decide a guard.

The answers follow from the contract's SQL alone. No data are read.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.contract import STRUCTURAL, Guard, Parameter, Tool
from skillweave.schema.entity import Attribute, Entity
from skillweave.world.sql import parse
from synth.contracts import follows
from synth.contracts.results import JoinedTables, TableColumn, TableSchema, joined_tables, result_columns


@follows
def column_origins(tool: Tool) -> dict[str, TableColumn | None]:
    """Result column -> (table, column) that it shows unchanged; None if it is computed."""
    return {column.name: column.origin for column in result_columns(tool.returns.select)}


@follows
def keys_shown(blueprint: Blueprint, tool: Tool) -> dict[str, set[str]]:
    """Entity -> columns of the tool's result that hold keys of its rows (its own, or references to it)."""
    keys: dict[str, set[str]] = {}
    for column, entity, _ in _keys(blueprint, tool):
        keys.setdefault(entity, set()).add(column)
    return keys


@follows
def page_parameter(tool: Tool) -> str | None:
    """The parameter that says which page of a long list a read shows; None if it shows the list at once.

    It is a number of pages, by which their length is multiplied. A number of rows to pass over is none.
    """
    offset = parse(tool.returns.select).tree.args.get("offset")
    product = offset.find(exp.Mul) if offset else None
    bound = {placeholder.name for placeholder in product.find_all(exp.Placeholder)} if product else set[str]()
    return next((one.name for one in tool.parameters if one.name in bound), None)


def subject_entity(blueprint: Blueprint, tool: Tool) -> str | None:
    """The entity that a tool's result lists: that of the first table in FROM; None if there is none."""
    tables = {joined.first for joined in joined_tables(tool.returns.select)}
    return next((entity.name for entity in blueprint.tables if tables == {entity.table}), None)


@follows
def subject_keys(blueprint: Blueprint, tool: Tool) -> dict[str, set[str]]:
    """The columns of a result that tell which rows there are: they hold keys of the very rows that it lists.

    A result lists the rows of its first table, and of joined tables that reference it. If it is limited to what belongs
    to the caller, it lists nothing else: a list of one's visits does not tell which slots are free.

    Returns:
        Entity -> columns that hold its keys.
    """
    parts = [_about(blueprint, joined) for joined in joined_tables(tool.returns.select)]
    keys: dict[str, set[str]] = {}
    for column, entity, holders in _keys(blueprint, tool):
        is_other = any(holder == entity and not own for holder, own in holders)
        within = {holder for holder, _ in holders}
        if not is_other and parts and all(entity in part and part & within for part in parts):
            keys.setdefault(entity, set()).add(column)
    return keys


def parameters_without_read(blueprint: Blueprint) -> list[tuple[str, str]]:
    """Tool and parameter that name a row, if no read lists such rows, or none that can be called does."""
    told, people = set[str](), _people(blueprint)
    reads = [tool for tool in blueprint.tools if tool.kind == "read"]
    for _ in reads:
        can = (read for read in reads if all(_target(one) in told - people for one in _naming(read) if one.required))
        told = told.union(*(subject_keys(blueprint, read) for read in can))
    return [
        (tool.name, parameter.name)
        for tool in blueprint.tools
        if tool.kind != "auth"
        for parameter in _naming(tool)
        if _target(parameter) not in told
    ]


def is_owned_by_person(blueprint: Blueprint, entity: Entity) -> bool:
    """Whether each row of an entity belongs to a caller: references that are never NULL lead to the person served."""
    people = _people(blueprint)
    seen, open_ = set[str](), [entity.name]
    while open_:
        name = open_.pop()
        if name in seen:
            continue
        seen.add(name)
        open_ += [_parent(one) for one in blueprint.entity(name).attributes if one.references and not one.nullable]
    return bool(seen & people) and entity.name not in people


def inserted_tables(tools: Iterable[Tool]) -> set[str]:
    """Tables that some of the tools insert into."""
    statements = (parse(effect.sql) for tool in tools for effect in tool.effects)
    return {one.target for one in statements if one.target and isinstance(one.tree, exp.Insert)}


def entity_made(blueprint: Blueprint, tool: Tool) -> str | None:
    """The entity whose rows a tool makes: it inserts them, and its result is about them."""
    subject = subject_entity(blueprint, tool)
    return subject if subject and blueprint.entity(subject).table in inserted_tables([tool]) else None


def _people(blueprint: Blueprint) -> set[str]:
    """The person served, as the world and each domain know them."""
    return {blueprint.core_entity, *(role.own.name for role in blueprint.roles)}


def _naming(tool: Tool) -> list[Parameter]:
    """The parameters that name rows."""
    return [parameter for parameter in tool.parameters if parameter.refers_to]


def _target(parameter: Parameter) -> str:
    return (parameter.refers_to or "").partition(".")[0]


def _keys(blueprint: Blueprint, tool: Tool) -> Iterator[tuple[str, str, set[tuple[str, bool]]]]:
    """Columns that hold keys of one entity in every part of the query.

    Yields:
        The column, the entity, and the entities that hold the key, each with whether the key is its own.
    """
    entities = {entity.table: entity for entity in blueprint.tables}
    for column in result_columns(tool.returns.select, _schema(blueprint)):
        places = [(entities.get(place[0]), place[1]) if place else (None, "") for place in column.origins]
        held = [(entity, *_named(entity, name)) for entity, name in places if entity is not None]
        targets = {target for _, target, _ in held}
        if len(held) == len(places) and len(targets) == 1 and (target := targets.pop()):
            yield column.name, target, {(entity.name, own) for entity, _, own in held}


def _named(entity: Entity, column: str) -> tuple[str | None, bool]:
    """The entity whose key a column holds (None: it holds no key), and whether it is the row's own key."""
    attribute = next((one for one in entity.attributes if one.name == column), None)
    if attribute is not None and attribute.name == entity.key:
        return entity.name, True
    return (_parent(attribute) if attribute is not None and attribute.references else None), False


def _about(blueprint: Blueprint, joined: JoinedTables) -> set[str]:
    """The entities whose rows one part of a query lists.

    If the call gives one row (a performance), what is joined to it is listed too (its free seats).
    """
    entities = {entity.table: entity for entity in blueprint.tables}
    tables = [*dict.fromkeys((joined.first, *joined.others))]
    left = [table for table in tables if table not in _same(entities, joined)]
    about = {one.name: one for some in (tables, left) for one in _referring(entities, some)}
    own = [entity for entity in about.values() if entity.table in left and is_owned_by_person(blueprint, entity)]
    kept = own if any(entity.table in joined.always for entity in own) else about.values()
    return {entity.name for entity in kept}


def _referring(entities: Mapping[str, Entity], tables: Sequence[str]) -> list[Entity]:
    """The entity of the first table, and those that refer to it, directly or through each other."""
    about = [entities[table] for table in tables[:1] if table in entities]
    others = [entities[table] for table in tables[1:] if table in entities]
    for _ in others:
        names = {entity.name for entity in about}
        about += [one for one in others if one.name not in names and {*map(_parent, one.attributes)} & names]
    return about


def _same(entities: Mapping[str, Entity], joined: JoinedTables) -> set[str]:
    """Tables of which all rows of a result have the same row: the call gives its key, or the key of a row below it."""
    given = {table for table, column in joined.given if table in entities and entities[table].key == column}
    names = {_parent(one) for table in given for one in entities[table].attributes} - {""}
    return given | {table for table, entity in entities.items() if given and entity.name in names}


def _parent(attribute: Attribute) -> str:
    return (attribute.references or "").partition(".")[0]


def _schema(blueprint: Blueprint) -> TableSchema:
    return frozenset((entity.table, tuple(one.name for one in entity.attributes)) for entity in blueprint.tables)


def deciding_columns(blueprint: Blueprint, guard: Guard) -> set[TableColumn]:
    """Columns that decide a guard, without keys and references, which only say which row is meant."""
    told = {
        (entity.table, attribute.name)
        for entity in blueprint.tables
        for attribute in entity.attributes
        if attribute.name != entity.key and attribute.references is None
    }
    if isinstance(blueprint, FusedBlueprint):
        told -= {(view.shared, view.account) for view in blueprint.people}
    return told & _columns_in(f"SELECT (\n{guard.holds}\n)")


@follows
def columns_shown(tool: Tool) -> frozenset[TableColumn]:
    """Columns that a tool's result shows, or that one of its figures is computed from."""
    return frozenset().union(*(column.shows for column in result_columns(tool.returns.select)))


def hidden_deciding_columns(blueprint: Blueprint) -> list[tuple[str, str, str]]:
    """Tool, rule and `table.column` of rules that an agent may have to uphold, and that a column decides which no read
    shows."""
    shown = frozenset().union(*(columns_shown(tool) for tool in blueprint.tools if tool.kind == "read"))
    return [
        (tool.name, guard.rule, f"{table}.{column}")
        for tool in blueprint.tools
        for guard in tool.guards
        if guard.concern not in STRUCTURAL
        for table, column in sorted(deciding_columns(blueprint, guard) - shown)
    ]


@cache
def _columns_in(sql: str) -> frozenset[TableColumn]:
    tree = parse(sql).tree
    return frozenset(place for column in tree.find_all(exp.Column) for place in _possible_columns(column))


def _possible_columns(column: exp.Column) -> set[TableColumn]:
    """The columns that a name may mean: of the table that it names, or of those in the innermost SELECT around it."""
    around = column.parent_select
    while around is not None:
        tables = [table for table in around.find_all(exp.Table) if table.parent_select is around]
        columns = {(table.name, column.name) for table in tables if column.table in ("", table.alias_or_name)}
        if columns:
            return columns
        around = around.parent_select
    return set()


def columns_to_look_up(blueprint: Blueprint, tool: Tool, rule: str) -> frozenset[TableColumn]:
    """Columns that an agent has to see to know whether a call keeps a rule; none if the tool itself upholds it."""
    guard = next(guard for guard in tool.guards if guard.rule == rule)
    return frozenset(deciding_columns(blueprint, guard)) if guard.enforced_by == "agent" else frozenset()


def columns_seen(blueprint: Blueprint, asked: Tool, read: Tool, arguments: Collection[str]) -> set[TableColumn]:
    """Columns that a call of a read has shown.

    If optional arguments narrowed a list, only columns of the rows that the request names count.

    Args:
        asked: The tool that the request comes to.
        arguments: The arguments that the read was given.
    """
    named = {blueprint.target(parameter.refers_to)[0].table for parameter in asked.parameters if parameter.refers_to}
    is_whole = {*arguments} <= {parameter.name for parameter in required_parameters(read)}
    return {place for place in columns_shown(read) if is_whole or place[0] in named}


def reads_that_show(
    blueprint: Blueprint, wanted: Collection[TableColumn], rows: Collection[str | None]
) -> list[Tool] | None:
    """Few reads that together show some columns; None if they cannot be seen.

    Args:
        rows: Keys that the agent has, as `Entity.attribute`: a read may require no others.
    """
    reads = [
        read
        for read in blueprint.tools
        if read.kind == "read" and all(p.refers_to in rows for p in required_parameters(read))
    ]
    missing, chosen = set(wanted), list[Tool]()
    while missing:
        best = max(reads, key=lambda read: len(columns_shown(read) & missing), default=None)
        if best is None or not columns_shown(best) & missing:
            return None
        chosen.append(best)
        missing -= columns_shown(best)
    return chosen


def required_parameters(tool: Tool) -> list[Parameter]:
    """The parameters that a call has to give."""
    return [parameter for parameter in tool.parameters if parameter.required]
