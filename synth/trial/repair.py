"""Repair of a blueprint: put in the parts that its author has rewritten, and take out what stays wrong."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Invariant
from skillweave.schema.entity import Entity
from skillweave.world.contract.check import table_problems
from skillweave.world.sql import parse
from synth.policy.audit import audit
from synth.questions.types import BookRule, Contract, Mended, RuleBook
from synth.trial.draft import PLACEHOLDER_INVARIANT, fatal_faults, problem_text
from synth.trial.faults import BlueprintFault, tables_in
from synth.trial.rule_book import book_of, book_with, contract_faults, contract_of, tools_of

REMOVAL_REASONS = {
    "table": "a table that nothing fills",
    "tool": "a tool that nobody could use",
    "invariant": "an invariant that does not hold",
    "event": "an event that cannot happen",
}
"""Why a part is taken out."""


def apply_repair(blueprint: Blueprint, repair: Mended) -> Blueprint:
    """The blueprint with the parts that its author has rewritten, each in the place of the part of its name."""
    book = _repaired_book(blueprint, repair)
    contracts = {tool.name: contract_of(tool) for tool in blueprint.tools} | {one.tool: one for one in repair.contracts}
    kept = [contracts[tool.name] for tool in book.tools if tool.name in contracts]
    invariants = {one.id: one for one in blueprint.invariants} | {one.id: one for one in repair.invariants}
    events = {one.name: one for one in blueprint.events} | {one.name: one for one in repair.events}
    return _with_tables(blueprint, repair).model_copy(
        update={
            "tools": tools_of(book, kept),
            "invariants": [one for one in invariants.values() if one.id not in repair.drop] or [PLACEHOLDER_INVARIANT],
            "events": [one for one in events.values() if one.name not in repair.drop],
        }
    )


def _with_tables(blueprint: Blueprint, repair: Mended) -> Blueprint:
    """The blueprint with the tables that were rewritten or added."""
    tables = {entity.name: entity for entity in repair.tables}
    known_tables = {entity.name for entity in blueprint.tables}
    added = [entity for entity in repair.tables if entity.name not in known_tables]
    return blueprint.model_copy(
        update={
            "entities": [tables.get(entity.name, entity) for entity in blueprint.entities],
            "relationships": [*(tables.get(entity.name, entity) for entity in blueprint.relationships), *added],
        }
    )


def _repaired_book(blueprint: Blueprint, repair: Mended) -> RuleBook:
    book = book_of(blueprint.title, blueprint.tools)
    tools = {tool.name: tool for tool in book.tools} | {tool.name: tool for tool in repair.tools}
    rules = {rule.name: rule for rule in book.rules} | {rule.name: rule for rule in repair.rules}
    kept = {name: tool for name, tool in tools.items() if name not in repair.drop}
    return book.model_copy(update={"tools": list(kept.values()), "rules": list(rules.values())})


def repair_faults(blueprint: Blueprint, repair: Mended) -> list[str]:
    """Why rewritten parts cannot be used, in words for their author."""
    book = _repaired_book(blueprint, repair)
    tools = {tool.name for tool in book.tools}
    known = {tool.name for tool in blueprint.tools} | {one.id for one in blueprint.invariants}
    known |= {event.name for event in blueprint.events}
    faults = [f"drop: there is no tool, invariant or event {name!r}" for name in repair.drop if name not in known]
    faults += [*_person_faults(blueprint, repair.tables)]
    faults += [
        f"contract of {one.tool}: there is no such tool; add it to `tools`"
        for one in repair.contracts
        if one.tool not in tools
    ]
    with_contract = {one.tool for one in repair.contracts} | {tool.name for tool in blueprint.tools}
    faults += [
        f"the tool {tool.name} is new and has no contract" for tool in repair.tools if tool.name not in with_contract
    ]
    if faults:
        return faults
    draft = _with_tables(blueprint, repair).model_copy(update={"tools": []})
    faults = [problem_text(problem) for problem in table_problems(draft)]
    for contract in [] if faults else repair.contracts:
        faults += contract_faults(contract, draft, book_with(book, repair.contracts))
    if faults:
        return faults
    repaired = apply_repair(blueprint, repair)
    return fatal_faults(repaired) or audit(repaired)


def _person_faults(blueprint: Blueprint, tables: Sequence[Entity]) -> Iterator[str]:
    """What is changed of the person served, who must stay as they are because other worlds share them."""
    core = blueprint.core
    for entity in tables:
        shared = [one for one in entity.attributes if one.shared]
        if entity.name != core.name and shared:
            yield f"{entity.name}.{shared[0].name} is shared; only {core.name}, the person served, shares attributes"
        if entity.name == core.name:
            kept = [one for one in core.attributes if one.shared]
            if (entity.person, entity.role_of, shared) != (True, core.role_of, kept):
                names = ", ".join(one.name for one in kept)
                yield f"{core.name} is the person served: `person`, `role_of` and the shared {names} stay as they are"


def without_part(blueprint: Blueprint, fault: BlueprintFault) -> Blueprint | None:
    """The blueprint without the part at fault, and without what refers to it; None if it cannot be spared."""
    if fault.part == "tool":
        return blueprint.model_copy(update={"tools": [tool for tool in blueprint.tools if tool.name != fault.name]})
    if fault.part == "invariant":
        kept = [one for one in blueprint.invariants if one.id != fault.name]
        return blueprint.model_copy(update={"invariants": kept or [PLACEHOLDER_INVARIANT]})
    if fault.part == "event":
        return blueprint.model_copy(update={"events": [one for one in blueprint.events if one.name != fault.name]})
    if fault.part == "table" and fault.name != blueprint.core_entity:
        return _without_table(blueprint, blueprint.entity(fault.name))
    return None


def _without_table(blueprint: Blueprint, gone: Entity) -> Blueprint:
    """Without a table, the columns that point to it, and whatever reads either."""
    columns = {
        (entity.table, one.name)
        for entity in blueprint.tables
        for one in entity.attributes
        if (one.references or "").partition(".")[0] == gone.name
    }

    def is_free(*statements: str) -> bool:
        return not any(gone.table in tables_in(sql) or _reads(sql, columns) for sql in statements)

    def left(entity: Entity) -> Entity:
        kept = [one for one in entity.attributes if (entity.table, one.name) not in columns]
        return entity.model_copy(update={"attributes": kept})

    tools = [
        tool
        for tool in blueprint.tools
        if is_free(
            *(f"SELECT (\n{guard.holds}\n)" for guard in tool.guards),
            *(effect.sql for effect in tool.effects),
            tool.returns.select,
        )
        and not any((one.refers_to or "").partition(".")[0] == gone.name for one in tool.parameters)
    ]
    return blueprint.model_copy(
        update={
            "entities": [left(entity) for entity in blueprint.entities if entity.name != gone.name],
            "relationships": [left(entity) for entity in blueprint.relationships if entity.name != gone.name],
            "tools": tools,
            "invariants": [one for one in blueprint.invariants if is_free(one.never)] or [PLACEHOLDER_INVARIANT],
            "events": [one for one in blueprint.events if is_free(one.pick, *one.effects)],
        }
    )


def _reads(sql: str, columns: set[tuple[str, str]]) -> bool:
    """Whether a statement names one of these columns of a table that it names, too."""
    tables = tables_in(sql)
    names = {name for table, name in columns if table in tables}
    tree = parse(sql).tree
    written = {one.name for one in tree.find_all(exp.Identifier)}
    return bool(names & written)


class RepairContext(NamedTuple):
    """What bears on some faults: all that its author needs to see of a blueprint beside the names."""

    drawn: list[Entity]
    """Tables that are at fault, with how their rows are drawn."""
    contracts: list[Contract]
    rules: list[BookRule]
    """Of the tools whose contracts these are."""
    invariants: list[Invariant]


def repair_context(blueprint: Blueprint, faults: Sequence[BlueprintFault]) -> RepairContext:
    """What bears on the faults; the tools of a fault that names none are those whose names occur in its words."""
    names = {name for fault in faults for name in fault.tools}
    for fault in faults:
        names |= set() if fault.tools else _words_of(fault.says)
    tools = [tool for tool in blueprint.tools if tool.name in names]
    if not tools and any(fault.part == "company" for fault in faults):
        tools = blueprint.tools
    at_fault = {fault.name for fault in faults}
    return RepairContext(
        [one for one in blueprint.tables if one.name in at_fault],
        [contract_of(tool) for tool in tools],
        book_of(blueprint.title, tools).rules,
        [one for one in blueprint.invariants if one.id in at_fault],
    )


def _words_of(text: str) -> set[str]:
    return set("".join(mark if mark.isalnum() or mark == "_" else " " for mark in text).split())
