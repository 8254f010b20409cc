"""Answers about single worlds: domains, entities, relations, rules, contracts, generators and policies (s01-s07).

The answers follow the entities of the question, not those of the catalogue, and use their new names. They leave out
parts that name a missing table or column, and tools whose effects are no longer possible. SQLite prepares each
statement to decide whether it still works on the given entities.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from sqlglot import TokenType, exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Event, Invariant, Parameter, Tool
from skillweave.schema.entity import Domain, Entity, Relation
from skillweave.schema.record import table_of
from skillweave.world.sql import parse
from skillweave.world.sql import tokens as sql_tokens
from synth.offline.manuals import ManualWriter
from synth.offline.services import OfflineQuestion, ServiceVariant, domains_of
from synth.policy.manual import ManualParts
from synth.policy.review import FaultyRule, RewordedRule, RewordedRules
from synth.questions.types import Contract, Mended, RuleBook, Rules
from synth.search.slots import bound_names
from synth.trial.generator import write_generator
from synth.trial.rule_book import book_of, contract_of

SIMILAR = 0.6
"""Least share of common attribute names at which an unknown entity counts as a renamed one."""


@dataclass(frozen=True)
class AvailableEntities:
    """The entities that the question gives, and the names by which the catalogue knows them."""

    tables: tuple[Entity, ...]
    renamed: dict[str, str]
    """The catalogue's entity name -> the given name, if they differ."""

    @cached_property
    def _connection(self) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        for entity in self.tables:
            connection.execute(f"CREATE TABLE {entity.table} ({', '.join(a.name for a in entity.attributes)})")
        return connection

    def supports(self, sql: str) -> bool:
        """Whether SQLite can prepare a statement on the given tables."""
        try:
            self._connection.execute(f"EXPLAIN {sql}", dict.fromkeys(bound_names(sql)))
        except sqlite3.Error:
            return False
        return True

    def translate(self, sql: str) -> str:
        """The statement with the tables of renamed entities under their new names."""
        changes = {table_of(old): table_of(new) for old, new in self.renamed.items()}
        tokens = sql_tokens(sql)
        for place in range(len(tokens) - 1, -1, -1):
            token = tokens[place]
            bound = place > 0 and tokens[place - 1].token_type in (TokenType.COLON, TokenType.DOT)
            if token.token_type is not TokenType.STRING and token.text in changes and not bound:
                sql = sql[: token.start] + changes[token.text] + sql[token.end + 1 :]
        return sql

    def reference(self, reference: str | None) -> str | None:
        """`Entity.attribute` by the given names; None if there is no such attribute."""
        if reference is None:
            return None
        old, _, attribute = reference.partition(".")
        name = self.renamed.get(old, old)
        for entity in self.tables:
            if entity.name == name and any(a.name == attribute for a in entity.attributes):
                return f"{name}.{attribute}"
        return None


def match_entities(known: Sequence[Entity], given: Sequence[Entity]) -> AvailableEntities:
    """Match the catalogue's entities with given ones: by name, else by the attributes that they share.

    Args:
        known: The catalogue's entities.
        given: The entities of the question.
    """
    names = {entity.name for entity in given}
    free = [entity for entity in given if entity.name not in {entity.name for entity in known}]
    renamed = {}
    for entity in known:
        if entity.name not in names and free:
            best = max(free, key=lambda other: _similarity(entity, other))
            if _similarity(entity, best) >= SIMILAR:
                renamed[entity.name] = best.name
                free.remove(best)
    return AvailableEntities(tuple(given), renamed)


def adapted_relationship(entity: Entity, available: AvailableEntities) -> Entity:
    """The relationship without references to entities that are missing."""
    names = {table.name for table in available.tables}
    attributes = []
    for attribute in entity.attributes:
        target = (attribute.references or "").partition(".")[0]
        name = available.renamed.get(target, target)
        if not attribute.references or name in names:
            references = f"{name}.{attribute.references.partition('.')[2]}" if attribute.references else None
            attributes.append(attribute.model_copy(update={"references": references}))
    return entity.model_copy(update={"attributes": attributes})


def adapted_tool(tool: Tool, available: AvailableEntities) -> Tool | None:
    """The tool on the given entities; None if its effects or its result are not possible there."""
    effects = [effect.model_copy(update={"sql": available.translate(effect.sql)}) for effect in tool.effects]
    if not all(available.supports(effect.sql) for effect in effects):
        return None
    select = _adapted_select(available.translate(tool.returns.select), available)
    if select is None:
        return None
    guards = [guard.model_copy(update={"holds": available.translate(guard.holds)}) for guard in tool.guards]
    guards = [guard for guard in guards if available.supports(f"SELECT (\n{guard.holds}\n)")]
    used = bound_names(select).union(*(bound_names(e.sql) for e in effects), *(bound_names(g.holds) for g in guards))
    parameters = [adapted for p in tool.parameters if p.name in used and (adapted := _adapted_parameter(p, available))]
    if used & {p.name for p in tool.parameters} - {p.name for p in parameters}:
        return None
    returns = tool.returns.model_copy(update={"select": select})
    return tool.model_copy(update={"effects": effects, "guards": guards, "returns": returns, "parameters": parameters})


def adapted_invariants(invariants: Sequence[Invariant], available: AvailableEntities) -> list[Invariant]:
    """The invariants whose tables and columns are there."""
    translated = [item.model_copy(update={"never": available.translate(item.never)}) for item in invariants]
    return [invariant for invariant in translated if available.supports(invariant.never)]


def adapted_events(events: Sequence[Event], available: AvailableEntities) -> list[Event]:
    """The events whose tables and columns are there."""
    translated = [
        event.model_copy(
            update={
                "pick": available.translate(event.pick),
                "effects": [available.translate(sql) for sql in event.effects],
            }
        )
        for event in events
    ]
    return [event for event in translated if all(available.supports(sql) for sql in [event.pick, *event.effects])]


def _adapted_parameter(parameter: Parameter, available: AvailableEntities) -> Parameter | None:
    reference = available.reference(parameter.refers_to)
    if parameter.refers_to and reference is None:
        return None
    return parameter.model_copy(update={"refers_to": reference})


def _adapted_select(select: str, available: AvailableEntities) -> str | None:
    """The SELECT without the result columns that are not possible; None if nothing is left."""
    if available.supports(select):
        return select
    tree = parse(select).tree
    if not isinstance(tree, exp.Select):
        return None
    columns = [p for p in tree.expressions if available.supports(tree.copy().select(p, append=False).sql("sqlite"))]
    adapted = tree.copy().select(*columns, append=False).sql("sqlite") if columns else ""
    return adapted if adapted and available.supports(adapted) else None


def _similarity(one: Entity, other: Entity) -> float:
    first, second = ({a.name for a in entity.attributes} for entity in (one, other))
    return len(first & second) / len(first | second)


def expand(question: OfflineQuestion) -> list[Domain]:
    """Domains near a seed that are not known yet."""
    known = set(question.many("known", str))
    topic = question.get("seed", str)
    services = question.catalogue.services_for(topic)
    domains = (domain for service in services for domain in domains_of(service, topic, question.seed, known))
    return list(islice(domains, question.get("count", int)))


def entities(question: OfflineQuestion) -> list[Entity]:
    """The entities of a domain, its core person first."""
    rendered = _variant(question).rendered
    ordered = sorted(rendered.entities, key=lambda entity: entity.name != rendered.core_entity)
    return ordered[: question.get("count", int)]


def relations(question: OfflineQuestion) -> list[Relation]:
    """Which of the given entities are related: by a reference, or through a relationship that refers to both."""
    rendered = _variant(question).rendered
    given_entities = question.many("entities", Entity)
    available = match_entities(rendered.entities, given_entities)
    core = available.renamed.get(rendered.core_entity, rendered.core_entity)
    names = {entity.name for entity in given_entities}
    direct = [
        Relation(source=target, target=entity.name, cardinality="one_to_many", label="has")
        for entity in given_entities
        for target in _targets(entity, available)
        if target in names
    ]
    names |= {relationship.name for relationship in rendered.relationships}
    indirect: list[Relation] = []
    for relationship in rendered.relationships:
        targets = [target for target in dict.fromkeys(_targets(relationship, available)) if target in names]
        indirect += _relations_through(relationship.name, core, targets)
    return [*direct, *indirect]


def _relations_through(name: str, core: str, targets: list[str]) -> list[Relation]:
    """What a relationship relates: the core person with each other entity it refers to, or else each with itself."""
    others = [target for target in targets if target != core]
    if core in targets and others:
        return [
            Relation(source=core, target=other, cardinality="many_to_many", through=name, label="has")
            for other in others
        ]
    return [Relation(source=end, target=name, cardinality="one_to_many", through=name) for end in targets]


def book(question: OfflineQuestion) -> RuleBook:
    """The company, its tools and rules, as far as the given tables allow."""
    variant = _variant(question)
    available = _available(variant, question.many("tables", Entity))
    tools = [adapted for tool in variant.rendered.tools if (adapted := adapted_tool(tool, available))]
    return book_of(variant.setting.title, tools)


def relationships(question: OfflineQuestion) -> list[Entity]:
    """The relationships that the graph's relations go through."""
    rendered = _variant(question).rendered
    wanted = {relation.through for relation in question.many("relations", Relation) if relation.through}
    kept = [entity for entity in rendered.relationships if entity.name in wanted]
    available = match_entities([*rendered.entities, *kept], [*question.many("entities", Entity), *kept])
    return [adapted_relationship(entity, available) for entity in kept]


def contracts(question: OfflineQuestion) -> list[Contract]:
    """The contracts of some tools."""
    variant = _variant(question)
    available = _available(variant, question.get("draft", Blueprint).tables)
    wanted = question.many("asked", str)
    tools = (adapted_tool(tool, available) for tool in variant.rendered.tools if tool.name in wanted)
    return [contract_of(tool) for tool in tools if tool]


def rules(question: OfflineQuestion) -> Rules:
    """The invariants of the data, and the events of the back office."""
    variant = _variant(question)
    available = _available(variant, question.many("tables", Entity))
    return Rules(
        invariants=adapted_invariants(variant.rendered.invariants, available),
        events=adapted_events(variant.rendered.events, available),
    )


def mend(question: OfflineQuestion) -> Mended:
    """No changes: the catalogue has no other parts than those in its first answers."""
    return Mended()


def _variant(question: OfflineQuestion) -> ServiceVariant:
    return question.variant(question.get("domain", Domain).name)


def _available(variant: ServiceVariant, tables: list[Entity]) -> AvailableEntities:
    return match_entities([*variant.rendered.entities, *variant.rendered.relationships], tables)


def _targets(entity: Entity, available: AvailableEntities) -> list[str]:
    """The entities that an entity refers to, by the given names."""
    references = [attribute.references.partition(".")[0] for attribute in entity.attributes if attribute.references]
    return [available.renamed.get(name, name) for name in references]


def table_generator(question: OfflineQuestion) -> str:
    """The script that generates the rows of tables that no tool fills."""
    blueprint = question.get("blueprint", Blueprint)
    return write_generator(blueprint.server, blueprint.core_entity, question.many("filled", Entity), blueprint.tables)


def policy_manual(question: OfflineQuestion) -> ManualParts:
    """The manual of a company."""
    return ManualWriter(question.get("blueprint", Blueprint), question.random).parts()


def policy_sentences(question: OfflineQuestion) -> RewordedRules:
    """The sentences unchanged: the catalogue has no others."""
    return RewordedRules(
        sentences=[RewordedRule(rule=rule.rule, says=rule.sentence) for rule in question.many("rules", FaultyRule)]
    )
