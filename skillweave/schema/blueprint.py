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
    """What the world's person is in one of its domains."""

    title: str
    """The company's name."""
    own: Entity
    """The person's own entity in that domain; other records reference its key."""
    entity: Entity
    """Persons as the contract of that domain reads them, with the attributes that all domains share."""
    account: str
    """The column of the core entity that holds the domain's own key; in a single domain, the core entity's key."""

    @property
    def key(self) -> str:
        """The name of the key in that domain."""
        return self.own.key


if TYPE_CHECKING:
    pass


class Blueprint(Record):
    """The contract of one server."""

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
    """Records that link them: appointments, loans, claims."""
    tools: list[Tool]
    """What agents can do; each tool with its contract."""
    invariants: list[Invariant] = Field(min_length=1)
    """What no database of this world may show."""
    events: list[Event] = Field(default_factory=list)
    """What only the back office does."""

    @property
    def views(self) -> "list[PersonView]":
        """Views that statements may read, in addition to tables; a single-domain world has none."""
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
        """What the core entity is in each domain; in a single-domain world, itself."""
        return [DomainRole(self.title, self.core, self.core, self.core.key)]

    @property
    def rules(self) -> list[str]:
        """Numbers of the rules that guards and effects state, as the policy prints them, in their order."""
        guards = [guard.rule for tool in self.tools for guard in tool.guards]
        effects = [effect.rule for tool in self.tools for effect in tool.effects]
        return sorted({*guards, *effects}, key=_number)

    def role(self, tool: str) -> DomainRole:
        """What the core entity is in the domain of a tool. Raises KeyError if there is no such tool."""
        self.tool(tool)
        return self.roles[0]

    def entity(self, name: str) -> Entity:
        """The entity or relationship of that name. Raises KeyError if there is none."""
        for entity in self.tables:
            if entity.name == name:
                return entity
        raise KeyError(name)

    def tool(self, name: str) -> Tool:
        """The tool of that name. Raises KeyError if there is none."""
        for tool in self.tools:
            if tool.name == name:
                return tool
        raise KeyError(name)

    def target(self, reference: str) -> tuple[Entity, Attribute]:
        """The entity and attribute that `Entity.attribute` names. Raises KeyError if there are none."""
        name, _, attribute = reference.partition(".")
        entity = self.entity(name)
        return entity, entity.attribute(attribute)


def _number(rule: str) -> tuple[str, int, str]:
    """Sort key: by the letters of a rule, then by its number: B1, R2, R10."""
    digits = "".join(filter(str.isdigit, rule))
    return rule.rstrip("0123456789"), int(digits or 0), rule


class FusedMember(Record):
    """One of the domains of a fused world, and what its names have become."""

    server: Name
    """The name of its own single-domain world: `DentalClinic`."""
    namespace: str = Field(max_length=14)
    """The prefix of its tools: `clinic` in `clinic__book_appointment`."""
    title: str
    """The company's name."""
    domain: str
    """Its topic, in words."""
    person: FusedName
    """The entity with its own columns of the shared person: `DentalClinic__Patient`."""
    key: Name
    """The column of that entity that holds its key: `patient_id`."""
    account: Name
    """The column of the shared person's table that holds that key; NULL for a person without an account here."""
    view: FusedName
    """The view of its persons, with its own columns and the shared ones; statements that use a shared attribute read
    it."""
    tables: dict[str, str]
    """Its own table -> the table here: `appointment` -> `DentalClinic__Appointment`."""
    tools: dict[str, str]
    """Its own tool -> the tool here."""
    rules: dict[str, str]
    """Number of its own rule -> the number here."""


class FusedEntity(Entity):
    """An entity of a fused world; its table has its very name."""

    name: FusedName
    """Unique in the fused world: `DentalClinic__Appointment`."""
    server: Name | None
    """The domain that it comes from; None: the shared person."""
    origin: Name
    """Its name in its own domain."""

    @property
    def table(self) -> str:
        """The name of its table in SQL."""
        return self.name


class FusedTool(Tool):
    """A tool of a fused world."""

    name: FusedName
    """Unique in the fused world: `clinic__book_appointment`."""
    server: Name
    """The domain that it comes from."""
    origin: Name
    """Its name in its own domain."""


class FusedInvariant(Invariant):
    """An invariant of a fused world."""

    id: FusedName
    """Unique in the fused world."""


class FusedEvent(Event):
    """An event of a fused world."""

    name: FusedName
    """Unique in the fused world."""


class PersonView(Record):
    """The persons of one domain as its contract knows them: their own columns and those that all domains share."""

    entity: FusedEntity
    """The view's columns, under its name."""
    own: FusedName
    """The table with the member's own columns ..."""
    shared: FusedName
    """... and the shared person's ..."""
    account: Name
    """... whose column of that name holds the key of `own`."""


class BridgeRule(Record):
    """A rule between domains: a guard of one domain's tool that asks for a state of another domain."""

    rule: FusedName
    """`B1`; until it is numbered, its author's name for it."""
    tool: FusedName
    """The tool that it guards, under its name in the fused world."""
    concern: Concern
    """What the rule is about."""
    holds: Sql
    """An SQL expression over the fused world's tables. It may use the tool's bindings and `:person`, the key of the
    shared person."""
    error: Name
    """The error code, if the tool enforces the rule."""
    says: Sentence
    """The rule as one sentence of the policy."""
    because: Sentence = ""
    """Why there has to be such a rule, in words."""
    enforced_by: Enforcer = "tool"
    """`tool`: the tool refuses the call; `agent`: only the policy forbids it."""

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
    """The contract of a fused world: several domains over one database and one shared person."""

    server: FusedName
    """Also the name of its world: `DentalClinic__HealthPlan`."""
    entities: list[FusedEntity]  # type: ignore[assignment]
    """The shared person first, then the domains' entities."""
    relationships: list[FusedEntity]  # type: ignore[assignment]
    """The domains' relationships."""
    tools: list[FusedTool]  # type: ignore[assignment]
    """The domains' tools."""
    invariants: list[FusedInvariant] = Field(min_length=1)  # type: ignore[assignment]
    """The domains' invariants."""
    events: list[FusedEvent] = Field(default_factory=list)  # type: ignore[assignment]
    """The domains' events."""
    members: list[FusedMember] = Field(min_length=2)
    """The domains, sorted by name."""
    people: list[PersonView]
    """One view for each domain."""

    @property
    def views(self) -> list[PersonView]:
        """The views of the domains' persons, which statements may read in addition to tables."""
        return self.people

    @property
    def roles(self) -> list[DomainRole]:
        """What the shared person is in each domain."""
        return [self._role(member) for member in self.members]

    def role(self, tool: str) -> DomainRole:
        """What the shared person is in the domain of a tool. Raises KeyError if there is no such tool."""
        return self._role(self.member_of(tool))

    def _role(self, member: FusedMember) -> DomainRole:
        for view in self.people:
            if view.entity.name == member.view:
                return DomainRole(member.title, self.entity(member.person), view.entity, member.account)
        raise KeyError(member.view)

    @property
    def bridge_rules(self) -> frozenset[str]:
        """Numbers of the rules that belong to no single domain."""
        own = {rule for member in self.members for rule in member.rules.values()}
        return frozenset(guard.rule for tool in self.tools for guard in tool.guards) - own

    def member(self, server: str) -> FusedMember:
        """The member of that name. Raises KeyError if there is none."""
        for member in self.members:
            if member.server == server:
                return member
        raise KeyError(server)

    def member_of(self, tool: str) -> FusedMember:
        """The member that a tool comes from. Raises KeyError if there is no such tool."""
        fused_tool = self.tool(tool)
        assert isinstance(fused_tool, FusedTool)
        return self.member(fused_tool.server)

    def with_bridges(self, rules: Sequence[BridgeRule]) -> "FusedBlueprint":
        """The contract with bridge rules added as guards, each after the tool's own guards."""
        by_tool: dict[str, list[Guard]] = {}
        for rule in rules:
            by_tool.setdefault(rule.tool, []).append(rule.guard)
        tools = [tool.model_copy(update={"guards": [*tool.guards, *by_tool.get(tool.name, [])]}) for tool in self.tools]
        return self.model_copy(update={"tools": tools})
