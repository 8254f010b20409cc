"""A draft: a blueprint as far as its author has got, its checks, and the form that later steps read.

Every part of a draft is checked as soon as it is there, so that its author hears at once what is wrong.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Invariant, Parameter, Tool
from skillweave.schema.entity import Domain, Entity
from skillweave.world.contract import ContractProblem, problems
from skillweave.world.contract.check import table_problems
from synth.questions.types import Rules
from synth.search.slots import bound_names

PLACEHOLDER_INVARIANT = Invariant(id="placeholder", never="SELECT 1 WHERE 0")
"""Stands in a draft that has no invariants yet, because a blueprint must have one."""
STEPS = (1, 1, 1, 2, 3, 5)
"""From one rule's number to the next. Every policy has gaps, so that none tells which sections a task leaves out."""


def draft_of(
    domain: Domain, entities: Sequence[Entity], relationships: Sequence[Entity] = (), title: str = ""
) -> Blueprint:
    """The blueprint of a domain without tools, rules and events.

    Args:
        domain: The domain that it is made for.
        entities: Its entities, the person whom it serves first.
        relationships: The tables of what happens between entities.
        title: The company's name, if it has one already.
    """
    return Blueprint(
        server=domain.name,
        domain=domain.topic,
        title=title,
        core_entity=entities[0].name,
        entities=list(entities),
        relationships=list(relationships),
        tools=[],
        invariants=[PLACEHOLDER_INVARIANT],
    )


def with_rules(draft: Blueprint, rules: Rules) -> Blueprint:
    """The draft with an author's invariants and events."""
    return draft.model_copy(update={"invariants": rules.invariants, "events": rules.events})


def relationship_faults(
    domain: Domain, entities: Sequence[Entity], relation_names: Collection[str], relationships: Sequence[Entity]
) -> list[list[str]]:
    """What is wrong with each of a domain's relationships, in words for their author.

    Args:
        domain: The domain.
        entities: Its entities, the person whom it serves first.
        relation_names: The names that relations go through.
        relationships: The author's answer.

    Returns:
        One list of faults for each relationship, in their order.
    """
    if not relationships:
        return []
    faults = [
        f"{entity.name}.{attribute.name} is shared; only {entities[0].name}, the person served, shares attributes"
        for entity in relationships
        for attribute in entity.attributes
        if attribute.shared
    ]
    faults += [
        f"{entity.name} is in no relation; leave it out"
        for entity in relationships
        if entity.name not in relation_names
    ]
    faults = faults or table_faults(draft_of(domain, entities, relationships))
    return faults_by_table(faults, relationships) if relationships else []


def table_faults(draft: Blueprint) -> list[str]:
    """What is wrong with the tables of a draft, in words for their author."""
    return [problem_text(problem) for problem in table_problems(draft)]


def faults_by_table(faults: Sequence[str], tables: Sequence[Entity]) -> list[list[str]]:
    """Sort faults by the table whose name they begin with, maybe behind the word `entity`.

    Returns:
        One list of faults for each table, in their order. A fault that names no table is the first table's.
    """
    by_table: dict[str, list[str]] = {entity.name: [] for entity in tables}
    for fault in faults:
        text = fault.removeprefix("entity ")
        length = next((n for n, mark in enumerate(text) if not (mark.isalnum() or mark == "_")), len(text))
        by_table[text[:length] if text[:length] in by_table else tables[0].name].append(fault)
    return list(by_table.values())


def fatal_faults(draft: Blueprint) -> list[str]:
    """Why a draft cannot be run, in words for its author."""
    return [problem_text(problem) for problem in problems(draft) if problem.fatal]


def problem_text(problem: ContractProblem) -> str:
    """A problem of a contract with the place where it is."""
    return f"{problem.where}: {problem.message}"


def formulate(draft: Blueprint, initials: str, steps: Sequence[int] = STEPS) -> Blueprint:
    """The blueprint that later steps read: rules numbered, prefixes allocated, parameters completed.

    Args:
        draft: An accepted draft, whose rules have the names that their author gave them.
        initials: The letters that this server's prefixes begin with (`server_initials`).
        steps: What may lie between the number of a rule and the next one's.
    """
    numbers = rule_numbers(draft, steps)
    tools = [_formulated_tool(tool, numbers) for tool in draft.tools]
    return with_prefixes(draft, initials).model_copy(update={"tools": tools})


def with_prefixes(draft: Blueprint, initials: str) -> Blueprint:
    """The blueprint with a prefix for the ids of each table, no two the same."""
    taken: set[str] = set()
    tables = [_with_prefix(entity, initials, taken) for entity in draft.tables]
    count = len(draft.entities)
    return draft.model_copy(update={"entities": tables[:count], "relationships": tables[count:]})


def rule_numbers(draft: Blueprint, steps: Sequence[int] = STEPS) -> dict[str, str]:
    """The author's name of each rule -> its number, `R4`, in the order in which tools state them, with gaps."""
    rules = [
        rule
        for tool in draft.tools
        for rule in (*(guard.rule for guard in tool.guards), *(effect.rule for effect in tool.effects))
    ]
    random, distinct = Random(f"{draft.server}/rules"), list(dict.fromkeys(rules))
    numbers = accumulate(random.choice(steps) for _ in distinct)
    return {rule: f"R{number}" for rule, number in zip(distinct, numbers, strict=True)}


def server_initials(servers: list[str]) -> dict[str, str]:
    """Two or more letters for each server, no two servers the same."""
    initials: dict[str, str] = {}
    for server in sorted(servers):
        words = re.findall(r"[A-Z][a-z0-9]*|[a-z0-9]+", server)
        longest = "".join(word[:3].upper() for word in words)
        choices = ["".join(word[0].upper() for word in words), "".join(word[:2].upper() for word in words), longest]
        choices += [f"{longest}{number}" for number in range(2, 100)]
        initials[server] = next(c for c in choices if len(c) > 1 and c not in initials.values())
    return initials


def _with_prefix(entity: Entity, initials: str, taken: set[str]) -> Entity:
    letters = re.sub(r"[^A-Z]", "", entity.name.upper())
    for middle in range(1, len(letters)):
        prefix = initials + letters[0] + letters[middle : middle + 2]
        if prefix not in taken:
            break
    taken.add(prefix)
    return entity.model_copy(update={"prefix": prefix})


def _formulated_tool(tool: Tool, numbers: Mapping[str, str]) -> Tool:
    stored = frozenset[str]().union(*(bound_names(effect.sql) for effect in tool.effects))
    guards = [guard.model_copy(update={"rule": numbers[guard.rule]}) for guard in tool.guards]
    effects = [effect.model_copy(update={"rule": numbers[effect.rule]}) for effect in tool.effects]
    parameters = [
        parameter.model_copy(update={"observable": parameter.name in stored} | _without_slips(parameter))
        for parameter in tool.parameters
    ]
    return tool.model_copy(update={"guards": guards, "effects": effects, "parameters": parameters})


def _without_slips(parameter: Parameter) -> dict[str, object]:
    """Fields in which small slips of an author are corrected: a missing full stop, an enum value given twice."""
    fields: dict[str, object] = {"description": parameter.description.strip().rstrip(".") + "."}
    if parameter.enum:
        fields["enum"] = list(dict.fromkeys(parameter.enum))
    return fields
