"""A lending library whose contracts are whole: what an author answers in s04, to be spoiled by tests."""

import json
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from skillweave.manifest import ItemRecord
from skillweave.schema.contract import Returns
from skillweave.schema.entity import Entity
from skillweave.schema.graph import EntityGraph, Relation
from synth.artifacts import DOMAIN_TOPICS, ENTITIES, ENTITY_GRAPH
from synth.questions.types import Contract, Mended, RuleBook, Rules
from synth.steps.s04_blueprint_generation import BlueprintParams, blueprint_generation
from tests.fusion.stage import Stage
from tests.questions.library import FIND_MEMBER, LIST_MY_LOANS, NOW, answer, domain

KEY = "LendingLibrary"
OWN = "EXISTS (SELECT 1 FROM loan WHERE loan_id = :loan_id AND member_id = :caller)"
OUT = "EXISTS (SELECT 1 FROM loan WHERE loan_id = :loan_id AND status = 'out')"
SEARCH = "SELECT book_id, title, category, late_fee_cents FROM book ORDER BY title, book_id"
LOAN = {"name": "loan_id", "type": "string", "refers_to": "Loan.loan_id", "description": "The loan."}
BOOK: RuleBook = answer("blueprint.book")
TOOLS = ("find_member", "list_my_loans", "search_books", "borrow_book", "renew_loan", "return_book")


def book() -> RuleBook:
    """The rule book of the prompt's example, without the tools that the library has no contract for."""
    rules = [
        rule.model_copy(update={"tools": kept})
        for rule in BOOK.rules
        if (kept := [name for name in rule.tools if name in TOOLS])
    ]
    tools = [tool for tool in BOOK.tools if tool.name in TOOLS]
    return BOOK.model_copy(update={"tools": tools, "rules": rules})


def contracts() -> dict[str, Contract]:
    """A contract for each tool."""
    (renew,) = answer("blueprint.contracts")
    own = [{"rule": "own_loan", "error": "not_your_loan", "holds": OWN}]
    running = [{"rule": "running_loan", "error": "loan_not_out", "holds": OUT}]
    found = [
        Contract(
            tool="find_member",
            parameters=[p.model_dump(include={"name", "type", "description"}) for p in FIND_MEMBER.parameters],
            guards=[{"rule": "known_member", "error": "not_found", "holds": FIND_MEMBER.guards[0].holds}],
            returns=FIND_MEMBER.returns,
        ),
        Contract(tool="list_my_loans", returns=LIST_MY_LOANS.returns),
        Contract(tool="search_books", returns=Returns(rows="many", select=SEARCH)),
        Contract.model_validate(
            {
                "tool": "borrow_book",
                "parameters": [
                    {"name": "book_id", "type": "string", "refers_to": "Book.book_id", "description": "The book."}
                ],
                "guards": [
                    {"rule": "known_book", "error": "no_such_book", "holds": "EXISTS (SELECT 1 FROM book WHERE book_id = :book_id)"},
                    {"rule": "book_is_in", "error": "book_is_out", "holds": "NOT EXISTS (SELECT 1 FROM loan WHERE book_id = :book_id AND status = 'out')"},
                    {"rule": "loan_limit", "error": "too_many_loans", "holds": "(SELECT COUNT(*) FROM loan WHERE member_id = :caller AND status = 'out') < 5"},
                ],
                "effects": [
                    {"rule": "lent", "sql": "INSERT INTO loan (loan_id, member_id, book_id, lent_on, due_on, renewals, status) VALUES (:new_id, :caller, :book_id, date(:now), date(:now, '+28 days'), 0, 'out')"}
                ],
                "returns": {"rows": "one", "select": "SELECT loan_id, due_on FROM loan WHERE loan_id = :new_id"},
            }
        ),
        renew,
        Contract.model_validate(
            {
                "tool": "return_book",
                "parameters": [LOAN],
                "guards": [*own, *running],
                "effects": [{"rule": "closed", "sql": "UPDATE loan SET status = 'returned', returned_on = date(:now) WHERE loan_id = :loan_id"}],
                "returns": {"rows": "one", "select": "SELECT loan_id, returned_on FROM loan WHERE loan_id = :loan_id"},
            }
        ),
    ]  # fmt: skip
    return {contract.tool: contract for contract in found}


def in_sql(contract: Contract, old: str, new: str) -> Contract:
    """A contract with other SQL."""
    text = contract.model_dump_json()
    assert old in text
    return Contract.model_validate_json(text.replace(old, new))


def blueprinted(
    folder: Path,
    *,
    rule_book: RuleBook | None = None,
    made: dict[str, Contract] | None = None,
    tables: tuple[Entity, ...] = (),
    rules: Rules | None = None,
    mended: Mended | None = None,
    **params: Any,
) -> tuple[ItemRecord, Stage]:
    """s04 on the library, with an author who answers so, every time; `tables`: relationships beside its loans."""
    given = made or contracts()
    relationships = [*answer("blueprint.relationships").relationships, *tables]
    through = [Relation(source="Member", target="Book", cardinality="many_to_many", through=one.name) for one in tables]
    answers = {
        "blueprint.relationships": {"relationships": relationships},
        "blueprint.book": rule_book or book(),
        "blueprint.contracts": {"contracts": list(given.values())},
        "blueprint.rules": rules or answer("blueprint.rules"),
        "blueprint.mend": mended or Mended(),
    }
    said = {name: json.dumps(to_jsonable_python(value, exclude_none=True)) for name, value in answers.items()}
    stage = Stage(folder, NOW, said)
    stage.give(DOMAIN_TOPICS, KEY, domain())
    stage.give(ENTITIES, KEY, answer("entities.extract"))
    relations = [*answer("graph.relate"), *through]
    stage.give(ENTITY_GRAPH, KEY, EntityGraph(domain=KEY, core_entity="Member", relations=relations))
    return stage.run(blueprint_generation, KEY, BlueprintParams(min_tools=3, contracts_at_once=40, **params)), stage


def complaints(stage: Stage, question: str) -> str:
    """All that was sent back to the author of a question."""
    return "\n".join(str(r.messages[-1].content) for r in stage.requests if r.question == question and r.attempt)
