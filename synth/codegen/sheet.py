"""What an author of a server is shown of its contract: tools with what is fixed of their source, and tables."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.entity import Entity
from skillweave.world.sql import parse
from synth.codegen.skeleton import booleans, function_head


class Sheet(NamedTuple):
    """A tool, as a server's author sees it."""

    tool: Tool
    head: str
    """Decorator, signature and docstring of its function."""
    booleans: list[str]
    """Columns of its result that are true or false."""


def sheets_of(blueprint: Blueprint, names: Collection[str] = ()) -> list[Sheet]:
    """The tools of these names; without names all of them."""
    return [
        Sheet(tool, "\n".join(function_head(blueprint, tool)), booleans(blueprint, tool))
        for tool in blueprint.tools
        if not names or tool.name in names
    ]


def tables_of(blueprint: Blueprint, sheets: Sequence[Sheet]) -> list[Entity]:
    """The tables and views that the SQL of these tools reads or writes."""
    texts = [text for sheet in sheets for text in _texts(sheet.tool)]
    named = {table.name.lower() for text in texts for table in parse(text).tree.find_all(exp.Table)}
    known = [*blueprint.tables, *(view.entity for view in blueprint.views)]
    return [entity for entity in known if entity.table.lower() in named]


def _texts(tool: Tool) -> list[str]:
    guards = [guard.holds for guard in tool.guards if guard.enforced_by == "tool"]
    return [*guards, *(effect.sql for effect in tool.effects), tool.returns.select]
