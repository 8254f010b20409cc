"""A blueprint in the making: the draft as far as it has got, its check, and the form that later steps read."""

import re
from collections.abc import Mapping, Sequence

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Invariant, Parameter, Tool
from skillweave.schema.entity import Domain, Entity
from skillweave.world.contract import ContractProblem, problems
from skillweave.world.contract.check import table_problems
from synth.search.slots import bound_names

PLACEHOLDER_INVARIANT = Invariant(id="placeholder", never="SELECT 1 WHERE 0")


def draft_of(
    domain: Domain, entities: Sequence[Entity], relationships: Sequence[Entity] = (), title: str = ""
) -> Blueprint:
    """The blueprint of a domain without its tools and rules; its first entity is the person whom it serves."""
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


def table_faults(draft: Blueprint) -> list[str]:
    """What is wrong with the tables of a draft, in words for their author."""
    return [problem_text(problem) for problem in table_problems(draft)]


def faults_by_table(faults: Sequence[str], tables: Sequence[Entity]) -> list[list[str]]:
    """Faults by the table that they begin with, maybe behind the word `entity`; others are the first table's."""
    found: dict[str, list[str]] = {entity.name: [] for entity in tables}
    for fault in faults:
        named = fault.removeprefix("entity ")
        length = next((n for n, mark in enumerate(named) if not (mark.isalnum() or mark == "_")), len(named))
        found[named[:length] if named[:length] in found else tables[0].name].append(fault)
    return list(found.values())


def fatal_faults(draft: Blueprint) -> list[str]:
    """Why a draft cannot be run, in words for its author."""
    return [problem_text(problem) for problem in problems(draft) if problem.fatal]


def problem_text(problem: ContractProblem) -> str:
    """A problem with its place."""
    return f"{problem.where}: {problem.message}"


def formulate(draft: Blueprint, initials: str) -> Blueprint:
    """A blueprint with numbered rules, allocated prefixes and settled parameters."""
    numbers = rule_numbers(draft)
    return with_prefixes(draft, initials).model_copy(
        update={"tools": [_settled(tool, numbers) for tool in draft.tools]}
    )


def with_prefixes(draft: Blueprint, initials: str) -> Blueprint:
    """A blueprint whose tables have prefixes for their ids, unlike each other."""
    taken: set[str] = set()
    tables = [_prefixed(entity, initials, taken) for entity in draft.tables]
    count = len(draft.entities)
    return draft.model_copy(update={"entities": tables[:count], "relationships": tables[count:]})


def rule_numbers(draft: Blueprint) -> dict[str, str]:
    """The author's name of each rule -> `R1`, `R2`, ... in the order in which tools state them."""
    rules = [rule for tool in draft.tools for rule in (*(g.rule for g in tool.guards), *(e.rule for e in tool.effects))]
    return {rule: f"R{number}" for number, rule in enumerate(dict.fromkeys(rules), start=1)}


def server_initials(servers: list[str]) -> dict[str, str]:
    """Two or more letters for each server, unlike any other's."""
    found: dict[str, str] = {}
    for server in sorted(servers):
        words = re.findall(r"[A-Z][a-z0-9]*|[a-z0-9]+", server)
        longest = "".join(word[:3].upper() for word in words)
        choices = ["".join(word[0].upper() for word in words), "".join(word[:2].upper() for word in words), longest]
        choices += [f"{longest}{number}" for number in range(2, 100)]
        found[server] = next(c for c in choices if len(c) > 1 and c not in found.values())
    return found


def _prefixed(entity: Entity, initials: str, taken: set[str]) -> Entity:
    letters = re.sub(r"[^A-Z]", "", entity.name.upper())
    for middle in range(1, len(letters)):
        prefix = initials + letters[0] + letters[middle : middle + 2]
        if prefix not in taken:
            break
    taken.add(prefix)
    return entity.model_copy(update={"prefix": prefix})


def _settled(tool: Tool, numbers: Mapping[str, str]) -> Tool:
    shown = frozenset[str]().union(*(bound_names(effect.sql) for effect in tool.effects))
    guards = [guard.model_copy(update={"rule": numbers[guard.rule]}) for guard in tool.guards]
    effects = [effect.model_copy(update={"rule": numbers[effect.rule]}) for effect in tool.effects]
    parameters = [
        parameter.model_copy(update={"observable": parameter.name in shown} | _repaired(parameter))
        for parameter in tool.parameters
    ]
    return tool.model_copy(update={"guards": guards, "effects": effects, "parameters": parameters})


def _repaired(parameter: Parameter) -> dict[str, object]:
    """Small slips of an author: a description without its full stop, an enum with a value twice."""
    repaired: dict[str, object] = {"description": parameter.description.strip().rstrip(".") + "."}
    if parameter.enum:
        repaired["enum"] = list(dict.fromkeys(parameter.enum))
    return repaired
