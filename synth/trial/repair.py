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
    contracts = {tool.name: contract_of(tool) for tool in blueprint.tools} | {
        contract.tool: contract for contract in repair.contracts
    }
    kept = [contracts[tool.name] for tool in book.tools if tool.name in contracts]
    invariants = {invariant.id: invariant for invariant in blueprint.invariants} | {
        invariant.id: invariant for invariant in repair.invariants
    }
    events = {event.name: event for event in blueprint.events} | {event.name: event for event in repair.events}
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
    known = {tool.name for tool in blueprint.tools} | {invariant.id for invariant in blueprint.invariants}
    known |= {event.name for event in blueprint.events}
    faults = [f"drop: there is no tool, invariant or event {name!r}" for name in repair.drop if name not in known]
    faults += [*_person_faults(blueprint, repair.tables)]
    faults += [
        f"contract of {contract.tool}: there is no such tool; add it to `tools`"
        for contract in repair.contracts
        if contract.tool not in tools
    ]
    with_contract = {contract.tool for contract in repair.contracts} | {tool.name for tool in blueprint.tools}
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
    if repair == Mended():
        return []  # All parts stay as they were accepted.
    repaired = apply_repair(blueprint, repair)
    return fatal_faults(repaired) or audit(repaired)


def _person_faults(blueprint: Blueprint, tables: Sequence[Entity]) -> Iterator[str]:
    """What is changed of the person served, who must stay as they are because other worlds share them."""
    core = blueprint.core
    for entity in tables:
        shared = [attribute for attribute in entity.attributes if attribute.shared]
        if entity.name != core.name and shared:
            yield f"{entity.name}.{shared[0].name} is shared; only {core.name}, the person served, shares attributes"
        if entity.name == core.name:
            kept = [attribute for attribute in core.attributes if attribute.shared]
            if (entity.person, entity.role_of, shared) != (True, core.role_of, kept):
                names = ", ".join(one.name for one in kept)
                yield f"{core.name} is the person served: `person`, `role_of` and the shared {names} stay as they are"


def without_part(blueprint: Blueprint, fault: BlueprintFault) -> Blueprint | None:
    """The blueprint without the part at fault, and without what refers to it; None if it cannot be spared."""
    if fault.part == "tool":
        return blueprint.model_copy(update={"tools": [tool for tool in blueprint.tools if tool.name != fault.name]})
    if fault.part == "invariant":
        kept = [invariant for invariant in blueprint.invariants if invariant.id != fault.name]
        return blueprint.model_copy(update={"invariants": kept or [PLACEHOLDER_INVARIANT]})
    if fault.part == "event":
        return blueprint.model_copy(
            update={"events": [event for event in blueprint.events if event.name != fault.name]}
        )
    if fault.part == "table" and fault.name != blueprint.core_entity:
        return _without_table(blueprint, blueprint.entity(fault.name))
    return None


def _without_table(blueprint: Blueprint, gone: Entity) -> Blueprint:
    """The blueprint without a table, the columns that refer to it, and everything that reads either."""
    columns = {
        (entity.table, attribute.name)
        for entity in blueprint.tables
        for attribute in entity.attributes
        if (attribute.references or "").partition(".")[0] == gone.name
    }

    def is_independent(*statements: str) -> bool:
        return not any(gone.table in tables_in(sql) or _reads(sql, columns) for sql in statements)

    def left(entity: Entity) -> Entity:
        kept = [attribute for attribute in entity.attributes if (entity.table, attribute.name) not in columns]
        return entity.model_copy(update={"attributes": kept})

    tools = [
        tool
        for tool in blueprint.tools
        if is_independent(
            *(f"SELECT (\n{guard.holds}\n)" for guard in tool.guards),
            *(effect.sql for effect in tool.effects),
            tool.returns.select,
        )
        and not any((parameter.refers_to or "").partition(".")[0] == gone.name for parameter in tool.parameters)
    ]
    return blueprint.model_copy(
        update={
            "entities": [left(entity) for entity in blueprint.entities if entity.name != gone.name],
            "relationships": [left(entity) for entity in blueprint.relationships if entity.name != gone.name],
            "tools": tools,
            "invariants": [invariant for invariant in blueprint.invariants if is_independent(invariant.never)]
            or [PLACEHOLDER_INVARIANT],
            "events": [event for event in blueprint.events if is_independent(event.pick, *event.effects)],
        }
    )


def _reads(sql: str, columns: set[tuple[str, str]]) -> bool:
    """Whether a statement names one of these (table, column), and the column's table too."""
    tables = tables_in(sql)
    names = {name for table, name in columns if table in tables}
    tree = parse(sql).tree
    written = {one.name for one in tree.find_all(exp.Identifier)}
    return bool(names & written)


class RepairContext(NamedTuple):
    """What the author of a repair needs to see of a blueprint, beside the names of all its parts."""

    drawn: list[Entity]
    """Tables that are at fault, with how their rows are drawn."""
    contracts: list[Contract]
    """Of the tools that the faults are about."""
    rules: list[BookRule]
    """Of the same tools."""
    invariants: list[Invariant]
    """Those that are at fault."""


def repair_context(blueprint: Blueprint, faults: Sequence[BlueprintFault]) -> RepairContext:
    """What an author needs to see to repair the faults.

    If a fault names no tools, it is about those whose names occur in its words.
    """
    names = {name for fault in faults for name in fault.tools}
    for fault in faults:
        names |= set() if fault.tools else _words_of(fault.says)
    tools = [tool for tool in blueprint.tools if tool.name in names]
    if not tools and any(fault.part == "company" for fault in faults):
        tools = blueprint.tools
    at_fault = {fault.name for fault in faults}
    return RepairContext(
        [entity for entity in blueprint.tables if entity.name in at_fault],
        [contract_of(tool) for tool in tools],
        book_of(blueprint.title, tools).rules,
        [invariant for invariant in blueprint.invariants if invariant.id in at_fault],
    )


def _words_of(text: str) -> set[str]:
    return set("".join(mark if mark.isalnum() or mark == "_" else " " for mark in text).split())
