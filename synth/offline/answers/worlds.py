"""Answers about single worlds: domains, entities, relations, rules, contracts, generators and policies (s01-s07).

The entities of the question decide, not the catalogue's. A renamed entity is followed. What names a missing table or
column is left out, down to the tool whose effects are no longer possible. Whether a statement still works on the
entities at hand is decided by SQLite, which prepares it.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import sqlglot
from sqlglot import TokenType, exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Event, Invariant, Parameter, Tool
from skillweave.schema.entity import Domain, Entity, Relation
from skillweave.schema.record import table_of
from synth.offline.manuals import ManualWriter
from synth.offline.question import OfflineQuestion
from synth.offline.services import ServiceVariant, domains_of, services_for
from synth.policy.manual import ManualParts
from synth.policy.review import FaultyRule, RewordedRule, RewordedRules
from synth.questions.types import Contract, Mended, RuleBook, Rules
from synth.search.slots import bound_names
from synth.trial.generator import write_generator
from synth.trial.rule_book import book_of, contract_of

SIMILAR = 0.6
"""Share of attribute names that makes an unknown entity a renamed one."""


@dataclass(frozen=True)
class AvailableEntities:
    """The entities at hand, as tables, and the names by which the catalogue knows them."""

    tables: tuple[Entity, ...]
    renamed: dict[str, str]
    """Catalogue's entity name -> the name at hand, where they differ."""

    @cached_property
    def _connection(self) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        for entity in self.tables:
            connection.execute(f"CREATE TABLE {entity.table} ({', '.join(a.name for a in entity.attributes)})")
        return connection

    def supports(self, sql: str) -> bool:
        """Whether a statement prepares on the tables at hand."""
        try:
            self._connection.execute(f"EXPLAIN {sql}", dict.fromkeys(bound_names(sql)))
        except sqlite3.Error:
            return False
        return True

    def named(self, sql: str) -> str:
        """A statement with the tables of renamed entities called by their new names."""
        changes = {table_of(old): table_of(new) for old, new in self.renamed.items()}
        tokens = sqlglot.tokenize(sql, dialect="sqlite")
        for place in range(len(tokens) - 1, -1, -1):
            token = tokens[place]
            bound = place > 0 and tokens[place - 1].token_type in (TokenType.COLON, TokenType.DOT)
            if token.token_type is not TokenType.STRING and token.text in changes and not bound:
                sql = sql[: token.start] + changes[token.text] + sql[token.end + 1 :]
        return sql

    def reference(self, reference: str | None) -> str | None:
        """`Entity.attribute` by the names at hand; None where there is no such thing."""
        if reference is None:
            return None
        old, _, attribute = reference.partition(".")
        name = self.renamed.get(old, old)
        for entity in self.tables:
            if entity.name == name and any(a.name == attribute for a in entity.attributes):
                return f"{name}.{attribute}"
        return None


def match_entities(known: Sequence[Entity], given: Sequence[Entity]) -> AvailableEntities:
    """Match the catalogue's entities with those at hand: by name, else by what they have in common."""
    names = {entity.name for entity in given}
    free = [entity for entity in given if entity.name not in {entity.name for entity in known}]
    renamed = {}
    for entity in known:
        if entity.name not in names and free:
            best = max(free, key=lambda other: _likeness(entity, other))
            if _likeness(entity, best) >= SIMILAR:
                renamed[entity.name] = best.name
                free.remove(best)
    return AvailableEntities(tuple(given), renamed)


def adapted_relationship(entity: Entity, on: AvailableEntities) -> Entity:
    """A relationship without references to what is not there any more."""
    there = {table.name for table in on.tables}
    kept = []
    for attribute in entity.attributes:
        target = (attribute.references or "").partition(".")[0]
        name = on.renamed.get(target, target)
        if not attribute.references or name in there:
            references = f"{name}.{attribute.references.partition('.')[2]}" if attribute.references else None
            kept.append(attribute.model_copy(update={"references": references}))
    return entity.model_copy(update={"attributes": kept})


def adapted_tool(tool: Tool, on: AvailableEntities) -> Tool | None:
    """A tool on the entities at hand; None where its effects or its result cannot be had there."""
    effects = [effect.model_copy(update={"sql": on.named(effect.sql)}) for effect in tool.effects]
    if not all(on.supports(effect.sql) for effect in effects):
        return None
    select = _carried_select(on.named(tool.returns.select), on)
    if select is None:
        return None
    guards = [guard.model_copy(update={"holds": on.named(guard.holds)}) for guard in tool.guards]
    guards = [guard for guard in guards if on.supports(f"SELECT (\n{guard.holds}\n)")]
    used = bound_names(select).union(*(bound_names(e.sql) for e in effects), *(bound_names(g.holds) for g in guards))
    parameters = [carried for p in tool.parameters if p.name in used and (carried := _carried_parameter(p, on))]
    if used & {p.name for p in tool.parameters} - {p.name for p in parameters}:
        return None
    returns = tool.returns.model_copy(update={"select": select})
    return tool.model_copy(update={"effects": effects, "guards": guards, "returns": returns, "parameters": parameters})


def adapted_invariants(invariants: Sequence[Invariant], on: AvailableEntities) -> list[Invariant]:
    """The invariants that still speak of something."""
    named = [invariant.model_copy(update={"never": on.named(invariant.never)}) for invariant in invariants]
    return [invariant for invariant in named if on.supports(invariant.never)]


def adapted_events(events: Sequence[Event], on: AvailableEntities) -> list[Event]:
    """The events that can still happen."""
    named = [
        event.model_copy(update={"pick": on.named(event.pick), "effects": [on.named(sql) for sql in event.effects]})
        for event in events
    ]
    return [event for event in named if all(on.supports(sql) for sql in [event.pick, *event.effects])]


def _carried_parameter(parameter: Parameter, on: AvailableEntities) -> Parameter | None:
    reference = on.reference(parameter.refers_to)
    if parameter.refers_to and reference is None:
        return None
    return parameter.model_copy(update={"refers_to": reference})


def _carried_select(select: str, on: AvailableEntities) -> str | None:
    """A SELECT without the result columns that cannot be had; None where nothing sensible is left."""
    if on.supports(select):
        return select
    tree = sqlglot.parse_one(select, dialect="sqlite")
    if not isinstance(tree, exp.Select):
        return None
    kept = [p for p in tree.expressions if on.supports(tree.copy().select(p, append=False).sql("sqlite"))]
    left = tree.copy().select(*kept, append=False).sql("sqlite") if kept else ""
    return left if left and on.supports(left) else None


def _likeness(one: Entity, other: Entity) -> float:
    first, second = ({a.name for a in entity.attributes} for entity in (one, other))
    return len(first & second) / len(first | second)


def expand(asked: OfflineQuestion) -> list[Domain]:
    """Domains near a seed that are not known yet."""
    known = set(asked.many("known", str))
    topic = asked.get("seed", str)
    found = [domain for service in services_for(topic) for domain in domains_of(service, topic)]
    return [domain for domain in found if domain.name not in known][: asked.get("count", int)]


def entities(asked: OfflineQuestion) -> list[Entity]:
    """The entities of a domain, its core person first."""
    rendered = asked.variant(asked.get("domain", Domain).name).rendered
    ordered = sorted(rendered.entities, key=lambda entity: entity.name != rendered.core_entity)
    return ordered[: asked.get("count", int)]


def relations(asked: OfflineQuestion) -> list[Relation]:
    """Which of the given entities are related: by a reference, or through a relationship that names both."""
    made = asked.variant(asked.get("domain", Domain).name)
    given = asked.many("entities", Entity)
    on = match_entities(made.rendered.entities, given)
    core = on.renamed.get(made.rendered.core_entity, made.rendered.core_entity)
    names = {entity.name for entity in given}
    found = [
        Relation(source=target, target=entity.name, cardinality="one_to_many", label="has")
        for entity in given
        for target in _targets(entity, on)
        if target in names
    ]
    names |= {relationship.name for relationship in made.rendered.relationships}
    for relationship in made.rendered.relationships:
        targets = [target for target in dict.fromkeys(_targets(relationship, on)) if target in names]
        others = [target for target in targets if target != core]
        if core in targets and others:
            found += [
                Relation(source=core, target=other, cardinality="many_to_many", through=relationship.name, label="has")
                for other in others
            ]
        else:
            found += [
                Relation(source=end, target=relationship.name, cardinality="one_to_many", through=relationship.name)
                for end in targets
            ]
    return found


def book(asked: OfflineQuestion) -> RuleBook:
    """The company, its tools and rules, as far as the tables at hand carry them."""
    made, on = _on(asked, asked.many("tables", Entity))
    tools = [carried for tool in made.rendered.tools if (carried := adapted_tool(tool, on))]
    return book_of(made.setting.title, tools)


def relationships(asked: OfflineQuestion) -> list[Entity]:
    """The relationships that the graph's relations go through."""
    made = asked.variant(asked.get("domain", Domain).name)
    given = asked.many("entities", Entity)
    wanted = {relation.through for relation in asked.many("relations", Relation) if relation.through}
    kept = [entity for entity in made.rendered.relationships if entity.name in wanted]
    on = match_entities([*made.rendered.entities, *kept], [*given, *kept])
    return [adapted_relationship(entity, on) for entity in kept]


def contracts(asked: OfflineQuestion) -> list[Contract]:
    """The contracts of some tools."""
    draft = asked.get("draft", Blueprint)
    made, on = _on(asked, draft.tables)
    wanted = asked.many("asked", str)
    found = (adapted_tool(tool, on) for tool in made.rendered.tools if tool.name in wanted)
    return [contract_of(tool) for tool in found if tool]


def rules(asked: OfflineQuestion) -> Rules:
    """What is never true of the data, and what the back office does."""
    made, on = _on(asked, asked.many("tables", Entity))
    return Rules(
        invariants=adapted_invariants(made.rendered.invariants, on), events=adapted_events(made.rendered.events, on)
    )


def mend(asked: OfflineQuestion) -> Mended:
    """Nothing: the catalogue has no other parts than those that were given."""
    return Mended()


def _on(asked: OfflineQuestion, tables: list[Entity]) -> tuple[ServiceVariant, AvailableEntities]:
    made = asked.variant(asked.get("domain", Domain).name)
    return made, match_entities([*made.rendered.entities, *made.rendered.relationships], tables)


def _targets(entity: Entity, on: AvailableEntities) -> list[str]:
    references = [attribute.references.partition(".")[0] for attribute in entity.attributes if attribute.references]
    return [on.renamed.get(name, name) for name in references]


def table_generator(asked: OfflineQuestion) -> str:
    """The script that draws the rows of the tables that no tool fills."""
    blueprint = asked.get("blueprint", Blueprint)
    return write_generator(blueprint.server, blueprint.core_entity, asked.many("filled", Entity), blueprint.tables)


def policy_manual(asked: OfflineQuestion) -> ManualParts:
    """The manual of a company."""
    return ManualWriter(asked.get("blueprint", Blueprint), asked.random).parts()


def policy_sentences(asked: OfflineQuestion) -> RewordedRules:
    """The sentences as they are: the catalogue has no others."""
    return RewordedRules(
        sentences=[RewordedRule(rule=rule.rule, says=rule.sentence) for rule in asked.many("rules", FaultyRule)]
    )
