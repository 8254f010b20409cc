"""A lending library whose contracts are whole: what an author answers in s04, to be spoiled by tests."""

import json
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from skillweave.base.manifest import ItemRecord
from skillweave.schema.contract import Returns
from skillweave.schema.entity import Entity, EntityGraph, Relation
from synth.artifacts import DOMAIN_TOPICS, ENTITIES, ENTITY_GRAPH
from synth.questions.types import Contract, Mended, RuleBook, Rules
from synth.steps.s04_blueprint_generation import BlueprintParams, blueprint_generation
from tests.fusion.stage import Stage
from tests.questions.library import FIND_MEMBER, LIST_MY_LOANS, NOW, answer, domain

KEY = "LendingLibrary"
OWN = "EXISTS (SELECT 1 FROM loan WHERE loan_id = :loan_id AND member_id = :caller)"
OUT = "EXISTS (SELECT 1 FROM loan WHERE loan_id = :loan_id AND status = 'out')"
SEARCH = "SELECT book_id, title, category, late_fee_cents FROM book ORDER BY title, book_id"
LIMIT = "(SELECT COUNT(*) FROM loan WHERE member_id = :caller AND status = 'out') < 5"
LEND = (
    "INSERT INTO loan (loan_id, member_id, book_id, lent_on, due_on, renewals, status) "
    "VALUES (:new_id, :caller, :book_id, date(:now), date(:now, '+28 days'), 0, 'out')"
)
RETURN = "UPDATE loan SET status = 'returned', returned_on = date(:now) WHERE loan_id = :loan_id"
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


def contract(tool: str, select: str, **parts: Any) -> Contract:
    """A contract; `select` gives one row."""
    return Contract.model_validate({"tool": tool, "returns": {"rows": "one", "select": select}, **parts})


def guard(rule: str, error: str, holds: str) -> dict[str, str]:
    """One guard."""
    return {"rule": rule, "error": error, "holds": holds}


def contracts() -> dict[str, Contract]:
    """A contract for each tool."""
    (renew,) = answer("blueprint.contracts")
    own, running = guard("own_loan", "not_your_loan", OWN), guard("running_loan", "loan_not_out", OUT)
    taken = "EXISTS (SELECT 1 FROM loan WHERE book_id = :book_id AND status = 'out')"
    found = [
        contract(
            "find_member",
            FIND_MEMBER.returns.select,
            parameters=[p.model_dump(include={"name", "type", "description"}) for p in FIND_MEMBER.parameters],
            guards=[guard("known_member", "not_found", FIND_MEMBER.guards[0].holds)],
        ),
        Contract(tool="list_my_loans", returns=LIST_MY_LOANS.returns),
        Contract(tool="search_books", returns=Returns(rows="many", select=SEARCH)),
        contract(
            "borrow_book",
            "SELECT loan_id, due_on FROM loan WHERE loan_id = :new_id",
            parameters=[{"name": "book_id", "type": "string", "refers_to": "Book.book_id", "description": "The book."}],
            guards=[
                guard("known_book", "no_such_book", "EXISTS (SELECT 1 FROM book WHERE book_id = :book_id)"),
                guard("book_is_in", "book_is_out", f"NOT {taken}"),
                guard("loan_limit", "too_many_loans", LIMIT),
            ],
            effects=[{"rule": "lent", "sql": LEND}],
        ),
        renew,
        contract(
            "return_book",
            "SELECT loan_id, returned_on FROM loan WHERE loan_id = :loan_id",
            parameters=[{"name": "loan_id", "type": "string", "refers_to": "Loan.loan_id", "description": "The loan."}],
            guards=[own, running],
            effects=[{"rule": "closed", "sql": RETURN}],
        ),
    ]
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
    sent_back: tuple[str, ...] = (),
    **params: Any,
) -> tuple[ItemRecord, Stage]:
    """s04 on the library, with an author who answers so, every time; `tables`: relationships beside its loans."""
    given = made or contracts()
    relationships = [*answer("blueprint.relationships"), *tables]
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
    chosen = BlueprintParams(min_tools=3, contracts_at_once=40, judged=False, **params)
    return stage.run(blueprint_generation, KEY, chosen, sent_back), stage


def complaints(stage: Stage, question: str) -> str:
    """All that was sent back to the author of a question."""
    return "\n".join(str(r.messages[-1].content) for r in stage.requests if r.question == question and r.attempt)
