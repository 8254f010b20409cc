"""A fused world's contract: the blueprints of several domains over one database, one shared person, one set of names.

Made by fusing, never written by an author. What was whose stands in the record; nothing is parsed back out of a name.
"""

from collections.abc import Sequence

from pydantic import Field

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.bounds import Sentence, Sql
from skillweave.schema.contract import Concern, Enforcer, Event, Guard, Invariant, Tool
from skillweave.schema.entity import Entity
from skillweave.schema.names import FusedName, Name
from skillweave.schema.record import Record
from skillweave.schema.role import Role


class Member(Record):
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
    members: list[Member] = Field(min_length=2)
    """The domains, sorted by name."""
    people: list[PersonView]
    """One a member."""

    @property
    def views(self) -> list[PersonView]:
        """What statements read beside tables: the members' persons."""
        return self.people

    @property
    def roles(self) -> list[Role]:
        """What the shared person is to each member."""
        return [self._role(member) for member in self.members]

    def role(self, tool: str) -> Role:
        """What the shared person is to the member whose tool that is; KeyError if nobody's."""
        return self._role(self.member_of(tool))

    def _role(self, member: Member) -> Role:
        for view in self.people:
            if view.entity.name == member.view:
                return Role(member.title, self.entity(member.person), view.entity, member.account)
        raise KeyError(member.view)

    @property
    def bridge_rules(self) -> frozenset[str]:
        """Numbers of the rules that are no member's own."""
        own = {rule for member in self.members for rule in member.rules.values()}
        return frozenset(guard.rule for tool in self.tools for guard in tool.guards) - own

    def member(self, server: str) -> Member:
        """The member of that name; KeyError if there is none."""
        for member in self.members:
            if member.server == server:
                return member
        raise KeyError(server)

    def member_of(self, tool: str) -> Member:
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
