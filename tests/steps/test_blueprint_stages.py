"""A blueprint in stages: each fault goes to whoever can mend it, and what stays wrong costs as little as it can."""

from pathlib import Path

from skillweave.schema.contract import Returns
from skillweave.schema.entity import Entity
from synth.artifacts import DRAFTS
from synth.questions.types import Contract, Mended, Rewording, Rules, in_groups
from synth.trial.rule_book import book_faults
from tests.questions.library import answer
from tests.trial.company import KEY, SEARCH, TOOLS, blueprinted, book, complaints, contracts, in_sql

RULES: Rules = answer("blueprint.rules")
RESERVATION = Entity.model_validate(
    {
        "name": "Reservation",
        "attributes": [
            {"name": "reservation_id", "type": "string"},
            {"name": "member_id", "type": "string", "references": "Member.member_id"},
            {"name": "book_id", "type": "string", "references": "Book.book_id"},
            {"name": "ready_on", "type": "date"},
        ],
    }
)


def test_a_company_without_faults_is_asked_nothing_twice(tmp_path: Path) -> None:
    record, stage = blueprinted(tmp_path)
    assert record.state == "done", record.reasons
    assert record.rejected == {}
    assert [tool.name for tool in stage.read(DRAFTS, KEY).tools] == list(TOOLS)
    asked = [request.question for request in stage.requests]
    assert asked == ["blueprint.relationships", "blueprint.book", "blueprint.contracts", "blueprint.rules"]


def test_a_sentence_stands_once_for_all_its_tools(tmp_path: Path) -> None:
    _, stage = blueprinted(tmp_path)
    tools = {tool.name: tool for tool in stage.read(DRAFTS, KEY).tools}
    renew, back = ({g.rule: g.says for g in tools[name].guards} for name in ("renew_loan", "return_book"))
    assert renew["running_loan"] == back["running_loan"] == "Only a loan that is still out can be renewed or returned."


def test_a_tool_that_stays_wrong_is_left_out(tmp_path: Path) -> None:
    made = contracts()
    made["return_book"] = in_sql(made["return_book"], "date(:now)", "date('now')")
    record, stage = blueprinted(tmp_path, made=made)
    assert record.state == "done", record.reasons
    assert record.rejected == {"no sound contract for a tool": 1}
    assert "return_book" not in [tool.name for tool in stage.read(DRAFTS, KEY).tools]
    assert "tool return_book, effect closed: gives 'now' to a date function" in complaints(stage, "blueprint.contracts")


def test_too_few_sound_tools_cost_the_domain(tmp_path: Path) -> None:
    made = {name: one for name, one in contracts().items() if name in ("find_member", "list_my_loans")}
    record, _ = blueprinted(tmp_path, made=made)
    assert record.state == "rejected"
    assert "only 2 tools of LendingLibrary are sound; at least 3 make a world" in record.reasons[0]


def test_a_rule_that_concerns_a_tool_stands_in_its_contract(tmp_path: Path) -> None:
    made = contracts()
    made["return_book"] = made["return_book"].model_copy(update={"guards": made["return_book"].guards[:1]})
    _, stage = blueprinted(tmp_path, made=made)
    assert "contract of return_book: rule running_loan concerns it, and stands at none of its guards" in complaints(
        stage, "blueprint.contracts"
    )


def test_a_sentence_that_says_more_than_its_sql_goes_back_and_can_be_reworded(tmp_path: Path) -> None:
    told = book()
    says = "A loan can be renewed as long as it was renewed fewer than 3 times within 30 days."
    rules = [rule.model_copy(update={"says": says}) if rule.name == "renewal_limit" else rule for rule in told.rules]
    wide = told.model_copy(update={"rules": rules})
    _, stage = blueprinted(tmp_path / "one", rule_book=wide)
    assert "the sentence says 30 days, the SQL does not" in complaints(stage, "blueprint.contracts")
    made = contracts()
    better = Rewording(rule="renewal_limit", kind="quota", says="A loan can be renewed fewer than 3 times.")
    made["renew_loan"] = made["renew_loan"].model_copy(update={"reworded": [better]})
    record, stage = blueprinted(tmp_path / "two", rule_book=wide, made=made)
    assert record.rejected == {}
    (guard,) = (g for t in stage.read(DRAFTS, KEY).tools for g in t.guards if g.rule == "renewal_limit")
    assert guard.says == better.says


def test_what_is_wrong_with_the_rules_goes_to_their_author(tmp_path: Path) -> None:
    never = RULES.invariants[0].model_copy(update={"never": "SELECT shelf FROM loan"})
    record, stage = blueprinted(tmp_path, rules=RULES.model_copy(update={"invariants": [never]}))
    assert record.state == "rejected"
    told = complaints(stage, "blueprint.rules")
    assert "invariant lent_once: " in told
    assert "no such column: shelf" in told


def test_a_table_that_nothing_fills_is_mended_by_its_author(tmp_path: Path) -> None:
    given = RESERVATION.model_dump(exclude_none=True)
    given["attributes"][3]["generate"] = {"low": 1, "high": 9}
    whole = Entity.model_validate(given | {"rows": {"count": 20}})
    record, stage = blueprinted(tmp_path, tables=(RESERVATION,), mended=Mended(tables=[whole]))
    assert record.state == "done", record.reasons
    assert record.rejected == {}
    assert stage.read(DRAFTS, KEY).entity("Reservation") == whole
    (asked,) = (request for request in stage.requests if request.question == "blueprint.mend")
    assert "1. nothing fills the table reservation: no tool inserts into it" in str(asked.messages[-1].content)


def test_a_table_that_nobody_fills_is_taken_out_and_the_world_lives(tmp_path: Path) -> None:
    record, stage = blueprinted(tmp_path, tables=(RESERVATION,))
    assert record.state == "done", record.reasons
    assert record.rejected == {"a table that nothing fills": 1}
    assert [entity.name for entity in stage.read(DRAFTS, KEY).relationships] == ["Loan"]


def test_a_table_that_is_drawn_needs_no_rows_that_only_tools_make(tmp_path: Path) -> None:
    given = RESERVATION.model_dump(exclude_none=True)
    given["attributes"][2] = {"name": "loan_id", "type": "string", "references": "Loan.loan_id"}
    given["attributes"][3]["generate"] = {"low": 1, "high": 9}
    record, stage = blueprinted(tmp_path, tables=(Entity.model_validate(given | {"rows": {"count": 9}}),))
    assert record.rejected == {"a table that nothing fills": 1}
    asked = str(next(r for r in stage.requests if r.question == "blueprint.mend").messages[-1].content)
    assert "Reservation.loan_id names rows that tools make, of which there are none yet" in asked
    assert stage.read(DRAFTS, KEY).entity("Loan")


def test_a_tool_that_nobody_can_use_goes_back_with_what_stands_in_its_way(tmp_path: Path) -> None:
    made = contracts()
    good = made["borrow_book"]
    made["borrow_book"] = Contract.model_validate_json(
        good.model_dump_json()
        .replace("'out') < 5", "'out') < 0")
        .replace(
            '"reworded":[]', '"reworded":[{"rule":"loan_limit","kind":"quota","says":"Fewer than 0 loans may be out."}]'
        )
    )
    right = good.model_copy(
        update={"reworded": [Rewording(rule="loan_limit", kind="quota", says="Fewer than 5 loans may be out.")]}
    )
    record, stage = blueprinted(tmp_path, made=made, mended=Mended(contracts=[right]))
    assert record.state == "done", record.reasons
    assert record.rejected == {}
    asked = str(next(r for r in stage.requests if r.question == "blueprint.mend").messages[-1].content)
    assert "nobody can make one lawful call of borrow_book" in asked
    assert "nearest fail at loan_limit ('Fewer than 0 loans may be out.')" in asked
    assert "borrow_book" in [tool.name for tool in stage.read(DRAFTS, KEY).tools]


def test_an_invariant_that_a_call_breaks_is_told_with_the_call_and_taken_out_if_it_stays(tmp_path: Path) -> None:
    never = RULES.invariants[0].model_copy(update={"id": "no_loans", "never": "SELECT loan_id FROM loan"})
    rules = RULES.model_copy(update={"invariants": [*RULES.invariants, never]})
    record, stage = blueprinted(tmp_path, rules=rules)
    assert record.state == "done", record.reasons
    assert record.rejected == {"an invariant that does not hold": 1}
    assert "no_loans" not in [one.id for one in stage.read(DRAFTS, KEY).invariants]
    asked = str(next(r for r in stage.requests if r.question == "blueprint.mend").messages[-1].content)
    assert "after the lawful call borrow_book(" in asked
    assert "invariant no_loans" in asked


def test_rows_that_no_read_shows_are_told_and_the_world_lives_with_it(tmp_path: Path) -> None:
    made = contracts()
    hidden = SEARCH.replace("book_id, title", "title").replace("title, book_id", "title")
    made["search_books"] = Contract(tool="search_books", returns=Returns(rows="many", select=hidden))
    record, stage = blueprinted(tmp_path, made=made)
    assert record.state == "done", record.reasons
    asked = str(next(r for r in stage.requests if r.question == "blueprint.mend").messages[-1].content)
    assert "borrow_book.book_id names a row of Book, and nobody can find one: no read returns Book.book_id" in asked


def test_no_agent_is_held_to_what_no_read_shows(tmp_path: Path) -> None:
    made = contracts()
    shown = made["list_my_loans"].returns.select.replace("l.due_on, l.status", "l.status").replace("l.due_on, ", "")
    made["list_my_loans"] = Contract(tool="list_my_loans", returns=Returns(rows="many", select=shown))
    _, stage = blueprinted(tmp_path, made=made, agent_rules=1.0)
    held = {g.rule: g.enforced_by for t in stage.read(DRAFTS, KEY).tools for g in t.guards}
    assert held["not_overdue"] == "tool"
    assert held["loan_limit"] == "agent"


def test_a_mend_that_does_not_fit_is_sent_back(tmp_path: Path) -> None:
    wrong = Mended(contracts=[Contract(tool="fly", returns=Returns(rows="one", select="SELECT 1 AS one"))])
    record, stage = blueprinted(tmp_path, tables=(RESERVATION,), mended=wrong)
    assert record.rejected == {"a table that nothing fills": 1}
    assert "contract of fly: there is no such tool; add it to `tools`" in complaints(stage, "blueprint.mend")


def test_what_a_later_step_sends_back_goes_to_the_mender(tmp_path: Path) -> None:
    _, stage = blueprinted(tmp_path, sent_back=("people want to pay late fees, and nothing takes them",))
    asked = str(next(r for r in stage.requests if r.question == "blueprint.mend").messages[-1].content)
    assert "1. people want to pay late fees, and nothing takes them" in asked


def test_faults_of_a_rule_book() -> None:
    told = book()
    rules = [rule.model_copy(update={"tools": ["fly", *rule.tools]}) for rule in told.rules[:1]]
    found = book_faults(told.model_copy(update={"rules": rules}), 9)
    assert "there are 6 tools; at least 9 are needed" in found
    assert any("rule known_member: there is no tool 'fly'" in fault for fault in found)
    assert "renew_loan is a write, and no rule of kind effect says what it brings about" in found


def test_groups_are_few_and_of_nearly_equal_size() -> None:
    assert [len(group) for group in in_groups([f"t{n}" for n in range(14)], 5)] == [5, 4, 5]
    assert in_groups(["a"], 5) == [["a"]]
