"""A blueprint: the contract of one server."""

from typing import TYPE_CHECKING

from pydantic import Field

from skillweave.schema.contract import Event, Invariant, Tool
from skillweave.schema.entity import Attribute, Entity
from skillweave.schema.names import Name
from skillweave.schema.record import Record
from skillweave.schema.role import Role

if TYPE_CHECKING:
    from skillweave.schema.fused import PersonView


class Blueprint(Record):
    server: Name
    """Also the name of its world: `DentalClinic`."""
    domain: str
    """The topic of its domain, in words."""
    title: str
    """The company's name, as its policy and its people say it."""
    core_entity: Name
    """The person whom the server serves; `:caller` is one of its keys."""
    entities: list[Entity]
    """Things and persons."""
    relationships: list[Entity]
    """What links them: appointments, loans, claims."""
    tools: list[Tool]
    """What agents can do, each with its contract."""
    invariants: list[Invariant] = Field(min_length=1)
    """What is never true of the data."""
    events: list[Event] = Field(default_factory=list)
    """What only the back office does."""

    @property
    def views(self) -> "list[PersonView]":
        """What statements read beside tables; none in a single-domain world."""
        return []

    @property
    def tables(self) -> list[Entity]:
        """Entities and relationships, in that order."""
        return [*self.entities, *self.relationships]

    @property
    def core(self) -> Entity:
        """The entity that `:caller` is a key of."""
        return self.entity(self.core_entity)

    @property
    def roles(self) -> list[Role]:
        """What the core entity is in each domain: in a single-domain world, itself."""
        return [Role(self.title, self.core, self.core, self.core.key)]

    @property
    def rules(self) -> list[str]:
        """Numbers of the rules that guards and effects state, as the policy prints them, in their order."""
        guards = [guard.rule for tool in self.tools for guard in tool.guards]
        effects = [effect.rule for tool in self.tools for effect in tool.effects]
        return sorted({*guards, *effects}, key=_number)

    def role(self, tool: str) -> Role:
        """What the core entity is in the domain of a tool; KeyError if there is no such tool."""
        self.tool(tool)
        return self.roles[0]

    def entity(self, name: str) -> Entity:
        """The entity or relationship of that name; KeyError if there is none."""
        for entity in self.tables:
            if entity.name == name:
                return entity
        raise KeyError(name)

    def tool(self, name: str) -> Tool:
        """The tool of that name; KeyError if there is none."""
        for tool in self.tools:
            if tool.name == name:
                return tool
        raise KeyError(name)

    def target(self, reference: str) -> tuple[Entity, Attribute]:
        """What `Entity.attribute` names; KeyError if nothing."""
        entity, _, attribute = reference.partition(".")
        return self.entity(entity), self.entity(entity).attribute(attribute)


def _number(rule: str) -> tuple[str, int, str]:
    """By the letters of a rule, then by its number: B1, R2, R10."""
    digits = "".join(filter(str.isdigit, rule))
    return rule.rstrip("0123456789"), int(digits or 0), rule
