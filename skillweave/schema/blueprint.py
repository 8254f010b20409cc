"""A blueprint: the contract of one server, or of a fused world of several domains.

A fused blueprint joins several domains over one database and one shared person. Code makes it; no author writes it.
The record says which domain each name came from; nothing is parsed back out of a name.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pydantic import Field

from skillweave.schema.contract import Concern, Enforcer, Event, Guard, Invariant, Tool
from skillweave.schema.entity import Attribute, Entity
from skillweave.schema.record import FusedName, Name, Record, Sentence, Sql


class DomainRole(NamedTuple):
    title: str
    """The company's name."""
    own: Entity
    """The person's own record in that domain; other records reference its key."""
    entity: Entity
    """Persons as that domain's contract reads them: with what all domains share."""
    account: str
    """The column of the core entity that holds the own key; of a single domain it is the core entity's key."""

    @property
    def key(self) -> str:
        """What that domain calls its own key."""
        return self.own.key


if TYPE_CHECKING:
    pass


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
    def roles(self) -> list[DomainRole]:
        """What the core entity is in each domain: in a single-domain world, itself."""
        return [DomainRole(self.title, self.core, self.core, self.core.key)]

    @property
    def rules(self) -> list[str]:
        """Numbers of the rules that guards and effects state, as the policy prints them, in their order."""
        guards = [guard.rule for tool in self.tools for guard in tool.guards]
        effects = [effect.rule for tool in self.tools for effect in tool.effects]
        return sorted({*guards, *effects}, key=_number)

    def role(self, tool: str) -> DomainRole:
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


class FusedMember(Record):
    """One of the domains that a world is fused of, and what its names have become."""

    server: Name
    """Its own single-domain world: `DentalClinic`."""
    namespace: str = Field(max_length=14)
    """Of its tools: `clinic` in `clinic__book_appointment`."""
    title: str
    """The company's name."""
    domain: str
    """Its topic, in words."""
    person: FusedName
    """The entity of its own part of the shared person: `DentalClinic__Patient`."""
    key: Name
    """The column of that entity that holds its key: `patient_id`."""
    account: Name
    """The column of the shared person's table that holds that key; empty for who has no account here."""
    view: FusedName
    """What statements call its persons where they touch a shared attribute: its own columns and the shared ones."""
    tables: dict[str, str]
    """Its own table -> the table here: `appointment` -> `DentalClinic__Appointment`."""
    tools: dict[str, str]
    """Its own tool -> the tool here."""
    rules: dict[str, str]
    """Number of its own rule -> the number here."""


class FusedEntity(Entity):
    """An entity of a fused world; its table has its very name."""

    name: FusedName
    server: Name | None
    """Whose it is; None: the shared person."""
    origin: Name
    """Its name in its own domain."""

    @property
    def table(self) -> str:
        """The name of its table in SQL."""
        return self.name


class FusedTool(Tool):
    name: FusedName
    server: Name
    """Whose it is."""
    origin: Name
    """Its name in its own domain."""


class FusedInvariant(Invariant):
    id: FusedName


class FusedEvent(Event):
    name: FusedName


class PersonView(Record):
    """The persons of one member as its contract knows them: their own columns beside those that all members share."""

    entity: FusedEntity
    """The view's columns, under its name."""
    own: FusedName
    """The table with the member's own columns ..."""
    shared: FusedName
    """... and the shared person's ..."""
    account: Name
    """... whose column of that name holds the key of `own`."""


class BridgeRule(Record):
    """A rule between domains: a guard of one domain's tool that asks for a state of another."""

    rule: FusedName
    """`B1`; before it is numbered, its author's name for it."""
    tool: FusedName
    """The tool that it guards, under its name in the fused world."""
    concern: Concern
    holds: Sql
    """An SQL expression over the fused world's tables; beside the tool's bindings there is `:person`, the key of the
    shared person."""
    error: Name
    """The error code where the tool holds it."""
    says: Sentence
    """The rule as one sentence of the policy."""
    because: Sentence = ""
    """Why there has to be such a rule, in words."""
    enforced_by: Enforcer = "tool"

    @property
    def guard(self) -> Guard:
        """The rule as a guard of its tool."""
        return Guard(
            rule=self.rule,
            concern=self.concern,
            holds=self.holds,
            error=self.error,
            says=self.says,
            enforced_by=self.enforced_by,
        )


class FusedBlueprint(Blueprint):
    server: FusedName
    entities: list[FusedEntity]  # type: ignore[assignment]
    """The shared person first."""
    relationships: list[FusedEntity]  # type: ignore[assignment]
    tools: list[FusedTool]  # type: ignore[assignment]
    invariants: list[FusedInvariant] = Field(min_length=1)  # type: ignore[assignment]
    events: list[FusedEvent] = Field(default_factory=list)  # type: ignore[assignment]
    members: list[FusedMember] = Field(min_length=2)
    """The domains, sorted by name."""
    people: list[PersonView]
    """One a member."""

    @property
    def views(self) -> list[PersonView]:
        """What statements read beside tables: the members' persons."""
        return self.people

    @property
    def roles(self) -> list[DomainRole]:
        """What the shared person is to each member."""
        return [self._role(member) for member in self.members]

    def role(self, tool: str) -> DomainRole:
        """What the shared person is to the member whose tool that is; KeyError if nobody's."""
        return self._role(self.member_of(tool))

    def _role(self, member: FusedMember) -> DomainRole:
        for view in self.people:
            if view.entity.name == member.view:
                return DomainRole(member.title, self.entity(member.person), view.entity, member.account)
        raise KeyError(member.view)

    @property
    def bridge_rules(self) -> frozenset[str]:
        """Numbers of the rules that are no member's own."""
        own = {rule for member in self.members for rule in member.rules.values()}
        return frozenset(guard.rule for tool in self.tools for guard in tool.guards) - own

    def member(self, server: str) -> FusedMember:
        """The member of that name; KeyError if there is none."""
        for member in self.members:
            if member.server == server:
                return member
        raise KeyError(server)

    def member_of(self, tool: str) -> FusedMember:
        """The member whose tool that is; KeyError if nobody's."""
        found = self.tool(tool)
        assert isinstance(found, FusedTool)
        return self.member(found.server)

    def with_bridges(self, rules: Sequence[BridgeRule]) -> "FusedBlueprint":
        """The contract with bridge rules as guards, each behind the own guards of its tool."""
        by_tool: dict[str, list[Guard]] = {}
        for rule in rules:
            by_tool.setdefault(rule.tool, []).append(rule.guard)
        tools = [tool.model_copy(update={"guards": [*tool.guards, *by_tool.get(tool.name, [])]}) for tool in self.tools]
        return self.model_copy(update={"tools": tools})
