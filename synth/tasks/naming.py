"""What tools and tables are called in what the user knows: in a joined world as in their own domains."""

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.fused import FusedEntity, FusedTool
from skillweave.schema.names import table_of


def tool_word(blueprint: Blueprint, name: str) -> str:
    """A tool's own name, where no other domain has a tool of that name."""
    tool = blueprint.tool(name)
    if not isinstance(tool, FusedTool):
        return name
    alike = [one for one in blueprint.tools if isinstance(one, FusedTool) and one.origin == tool.origin]
    return tool.origin if len(alike) == 1 else name


def table_word(blueprint: Blueprint, entity: str) -> str:
    """A table's name in its own domain."""
    found = blueprint.entity(entity)
    return table_of(found.origin) if isinstance(found, FusedEntity) else found.table
