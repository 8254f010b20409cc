"""Fusing contracts: several domains' blueprints become one, each tool and table under a name of its own.

One table holds the shared columns of the shared person; each domain keeps a table of its own columns. Statements that
touch no shared column use the domain's table, the others a view of both. Each fused name is allocated once and recorded
with its origin, so that nothing has to parse names.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import chain

from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import (
    Blueprint,
    FusedBlueprint,
    FusedEntity,
    FusedEvent,
    FusedInvariant,
    FusedMember,
    FusedTool,
    PersonView,
)
from skillweave.schema.contract import Effect, Guard, Parameter
from skillweave.schema.entity import Attribute, Entity, InitialRows
from skillweave.schema.record import table_of
from skillweave.world.contract.tools import StatementPreparer
from skillweave.world.interpreter import guard_query
from skillweave.world.sql import Access
from synth.fusion.persons import PERSON_KEY, in_words, person_of, shared_person
from synth.fusion.rewriting import rewrite_tables

SEPARATOR = "__"
"""Separator of the parts of a fused name; no name of a single domain contains it."""
MAX_NAMESPACE = 14
"""Most characters of a namespace, the prefix of a domain's tool names."""
MAX_TOOL_NAME = 64
"""Most characters of a tool's name that model providers accept."""
MAX_NAME = 120
"""Most characters of any other name."""


class NameAllocator:
    """Allocates names, none of them twice. SQL ignores case, so no two names differ in case alone."""

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._taken = {name.lower() for name in taken}

    def allocate(self, wanted: str, longest: int = MAX_NAME) -> str:
        """The wanted name, shortened to `longest` characters, with a number if it is taken: `Vet__Clinic_2`."""
        name, number = _shortened(wanted, longest), 1
        while name.lower() in self._taken:
            number += 1
            suffix = f"_{number}"
            name = _shortened(wanted, longest - len(suffix)) + suffix
        self._taken.add(name.lower())
        return name


def joined(*parts: str) -> str:
    """Join the parts of a fused name: `DentalClinic`, `Invoice` -> `DentalClinic__Invoice`."""
    return SEPARATOR.join(parts)


def fused_name(servers: Sequence[str]) -> str:
    """The name of the fused world of these servers, in alphabetical order: `DentalClinic__HealthPlan`."""
    return joined(*sorted(servers))


def namespaces(servers: Sequence[str]) -> dict[str, str]:
    """Server -> the namespace of its tools; no two the same."""
    names = NameAllocator()
    return {server: names.allocate(_namespace(server), MAX_NAMESPACE) for server in servers}


def _namespace(server: str) -> str:
    """As many of a server's words as fit; if not even the first fits, their initials."""
    words = [word for word in re.split(r"_+", table_of(server)) if word]
    for count in range(len(words), 0, -1):
        name = "_".join(words[:count])
        if len(name) <= MAX_NAMESPACE:
            return name
    return "".join(word[0] for word in words) if len(words) > 1 else words[0]


def _shortened(name: str, longest: int) -> str:
    return name[:longest].rstrip("_")


def fuse(blueprints: Sequence[Blueprint]) -> FusedBlueprint:
    """Join the contracts of several domains into one over one database.

    Args:
        blueprints: The contracts of two domains or more that serve the same kind of person.

    Raises:
        WorldError: The domains cannot be joined; the message says why.
    """
    ordered = sorted(blueprints, key=lambda blueprint: blueprint.server)
    person, key, members = _Naming(ordered).members()
    with ExitStack() as stack:
        parts = [
            stack.enter_context(closing(_DomainPart(blueprint, member, person)))
            for blueprint, member in zip(ordered, members, strict=True)
        ]
        return FusedBlueprint(
            server=fused_name([blueprint.server for blueprint in ordered]),
            domain=in_words([blueprint.domain for blueprint in ordered]),
            title=in_words([blueprint.title for blueprint in ordered]),
            core_entity=person,
            entities=[
                shared_person(ordered, members, person, key),
                *(entity for part in parts for entity in part.entities(part.blueprint.entities)),
            ],
            relationships=[entity for part in parts for entity in part.entities(part.blueprint.relationships)],
            tools=[tool for part in parts for tool in part.tools()],
            invariants=[invariant for part in parts for invariant in part.invariants()],
            events=[event for part in parts for event in part.events()],
            members=members,
            people=[part.view() for part in parts],
        )


class _Naming:
    """Allocates all names of one fused world."""

    def __init__(self, blueprints: Sequence[Blueprint]) -> None:
        self._blueprints = blueprints
        self._person = person_of(blueprints)
        self._tables = NameAllocator()
        self._tools = NameAllocator()
        self._rules = 0

    def members(self) -> tuple[str, str, list[FusedMember]]:
        """The name of the shared person's entity, the name of its key, and the domains with their names."""
        person = self._tables.allocate(self._person)
        shared = {
            attribute.name
            for blueprint in self._blueprints
            for attribute in blueprint.core.attributes
            if attribute.shared
        }
        columns = NameAllocator(shared)
        key = columns.allocate(PERSON_KEY)
        spaces = namespaces([blueprint.server for blueprint in self._blueprints])
        return person, key, [self._member(one, spaces[one.server], columns) for one in self._blueprints]

    def _member(self, blueprint: Blueprint, namespace: str, columns: NameAllocator) -> FusedMember:
        tables = {
            entity.table: self._tables.allocate(joined(blueprint.server, entity.name)) for entity in blueprint.tables
        }
        own = tables[blueprint.core.table]
        return FusedMember(
            server=blueprint.server,
            namespace=namespace,
            title=blueprint.title,
            domain=blueprint.domain,
            person=own,
            key=blueprint.core.key,
            account=columns.allocate(blueprint.server, 48),
            view=self._tables.allocate(joined(own, "person")),
            tables=tables,
            tools={
                tool.name: self._tools.allocate(joined(namespace, tool.name), MAX_TOOL_NAME) for tool in blueprint.tools
            },
            rules={rule: self._number() for rule in rules_in_order(blueprint)},
        )

    def _number(self) -> str:
        self._rules += 1
        return f"R{self._rules}"


def rules_in_order(blueprint: Blueprint) -> list[str]:
    """The numbers of a domain's rules, in the order in which tools state them."""
    numbers = [
        [*(guard.rule for guard in tool.guards), *(effect.rule for effect in tool.effects)] for tool in blueprint.tools
    ]
    return list(dict.fromkeys(chain.from_iterable(numbers)))


class DomainStatements:
    """Rewrites one domain's SQL to the tables of a fused world."""

    def __init__(self, blueprint: Blueprint, member: FusedMember) -> None:
        """Prepare to rewrite; `member` has the domain's names in the fused world."""
        self._blueprint = blueprint
        self._view = member.view
        core = blueprint.core
        self._shared = frozenset(attribute.name for attribute in core.attributes if attribute.shared)
        self._accesses = StatementPreparer(blueprint)
        self._tables = {table.lower(): name for table, name in member.tables.items()}
        self._tables_with_view = {**self._tables, core.table.lower(): member.view}

    def close(self) -> None:
        """Close the tables on which statements are analysed."""
        self._accesses.close()

    def condition(self, holds: str) -> str:
        """A condition over the fused world's tables. WorldError if it cannot be rewritten."""
        return self._routed(holds, self._accesses.of(guard_query(holds)))

    def statement(self, text: str) -> str:
        """A statement over the fused world's tables. WorldError if it cannot be rewritten."""
        access = self._accesses.of(text)
        core = self._blueprint.core
        if core.table in access.inserts | access.deletes:
            verb = "inserts" if core.table in access.inserts else "deletes"
            raise WorldError(
                f"{self._blueprint.server} {verb} its {core.name}, a person whom other domains share, in {text!r}; "
                "such a domain cannot be joined with others"
            )
        return self._routed(text, access)

    def _routed(self, text: str, access: Access) -> str:
        """The text over the fused world's tables; persons are a view only if it touches what is shared."""
        person = self._blueprint.core.table
        touched = access.reads.get(person, set()) | access.updates.get(person, set())
        return rewrite_tables(text, self._tables_with_view if touched & self._shared else self._tables, [self._view])


class _DomainPart:
    """One domain's contract in the names of the fused world."""

    def __init__(self, blueprint: Blueprint, member: FusedMember, shared_person: str) -> None:
        self.blueprint = blueprint
        self._member = member
        self._shared_person = shared_person
        self._shared = frozenset(attribute.name for attribute in blueprint.core.attributes if attribute.shared)
        self._sql = DomainStatements(blueprint, member)

    def close(self) -> None:
        """Close the tables on which statements are analysed."""
        self._sql.close()

    def entities(self, entities: Sequence[Entity]) -> list[FusedEntity]:
        """The domain's tables; the table of its core person has only its own columns."""
        return [
            self._own_person() if entity.name == self.blueprint.core_entity else self._entity(entity)
            for entity in entities
        ]

    def view(self) -> PersonView:
        """The view of the domain's persons, with the columns of its own contract."""
        entity = self._entity(self.blueprint.core)
        return PersonView(
            entity=entity.model_copy(update={"name": self._member.view}),
            own=self._member.person,
            shared=self._shared_person,
            account=self._member.account,
        )

    def tools(self) -> list[FusedTool]:
        """The domain's tools under their names here."""
        rules = self._member.rules
        return [
            FusedTool(
                name=self._member.tools[tool.name],
                server=self._member.server,
                origin=tool.name,
                description=f"{tool.description} ({self._member.title})",
                kind=tool.kind,
                confirm=tool.confirm,
                parameters=[self._parameter(parameter) for parameter in tool.parameters],
                guards=[self._guard(guard, rules) for guard in tool.guards],
                effects=[self._effect(effect, rules) for effect in tool.effects],
                returns=tool.returns.model_copy(update={"select": self._sql.statement(tool.returns.select)}),
                examples=tool.examples,
            )
            for tool in self.blueprint.tools
        ]

    def invariants(self) -> list[FusedInvariant]:
        """The domain's invariants."""
        names = NameAllocator()
        return [
            FusedInvariant(
                id=names.allocate(joined(self._member.namespace, invariant.id)),
                never=self._sql.statement(invariant.never),
                says=invariant.says,
            )
            for invariant in self.blueprint.invariants
        ]

    def events(self) -> list[FusedEvent]:
        """The domain's events."""
        names = NameAllocator()
        return [
            FusedEvent(
                name=names.allocate(joined(self._member.namespace, event.name)),
                pick=self._sql.statement(event.pick),
                effects=[self._sql.statement(effect) for effect in event.effects],
                weight=event.weight,
            )
            for event in self.blueprint.events
        ]

    def _guard(self, guard: Guard, rules: Mapping[str, str]) -> Guard:
        return guard.model_copy(update={"rule": rules[guard.rule], "holds": self._sql.condition(guard.holds)})

    def _effect(self, effect: Effect, rules: Mapping[str, str]) -> Effect:
        return effect.model_copy(update={"rule": rules[effect.rule], "sql": self._sql.statement(effect.sql)})

    def _parameter(self, parameter: Parameter) -> Parameter:
        if parameter.refers_to is None:
            return parameter
        return parameter.model_copy(update={"refers_to": self._reference(parameter.refers_to)})

    def _entity(self, entity: Entity) -> FusedEntity:
        return FusedEntity(
            name=self._member.tables[entity.table],
            server=self._member.server,
            origin=entity.name,
            description=entity.description,
            person=entity.person,
            role_of=entity.role_of,
            prefix=entity.prefix,
            attributes=[self._attribute(attribute) for attribute in entity.attributes],
            rows=InitialRows(),
        )

    def _own_person(self) -> FusedEntity:
        entity = self._entity(self.blueprint.core)
        key, *others = (attribute for attribute in entity.attributes if not attribute.shared)
        account = f"{self._shared_person}.{self._member.account}"
        return entity.model_copy(update={"attributes": [key.model_copy(update={"references": account}), *others]})

    def _attribute(self, attribute: Attribute) -> Attribute:
        references = self._reference(attribute.references) if attribute.references else None
        return attribute.model_copy(update={"references": references, "generate": None})

    def _reference(self, reference: str) -> str:
        entity, attribute = self.blueprint.target(reference)
        if entity.name == self.blueprint.core_entity and attribute.name in self._shared:
            return f"{self._shared_person}.{attribute.name}"
        return f"{self._member.tables[entity.table]}.{attribute.name}"
