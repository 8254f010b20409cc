"""Rows of a generator: each way in which they do not fit is told with its place, so that its author can mend it."""

from typing import Any

import pytest

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Invariant
from skillweave.schema.summary import Coverage, Summary
from synth.history.build import Built
from synth.history.generation import generated
from synth.steps.s06_database_generation import idle_tools
from tests.questions.library import NOW, answer, blueprint

SCRIPT = str(answer("database.generator"))


@pytest.fixture(scope="module")
def library() -> Blueprint:
    """The library without the loans, which tools make."""
    contract = blueprint()
    invariants = [invariant for invariant in contract.invariants if "loan" not in invariant.never]
    return contract.model_copy(update={"relationships": [], "tools": [], "invariants": invariants})


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("LLMEM-{number:04d}", "LLMEM-{number}", "member, row 1: member_id is 'LLMEM-1'; of person 1 it is"),
        ("people, start=1)", "people[::-1], start=1)", "member, row 1: full_name is "),
        ("people, start=1)", "people[1:], start=1)", "member has 39 rows; it must have one for each of the 40 people"),
        ('"shelf": f', '"shelve": f', "book has no column 'shelve'; it has book_id, bought_on, category"),
        ('"late_fee_cents": fee', '"late_fee_cents": fee / 7', "book, row 1 ('LLBOO-0001'): "),
        ('"LLBOO-{number:04d}"', '"BOOK-{number:04d}"', "book: key 'BOOK-0001' does not begin with LLBOO-"),
        (', "book": books(seed, today)}', "}", "table 'book' has no rows"),
        ('"title": title', '"title": {}', "the result is not {table: [row, ...]} of plain values: book.0.title"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(library: Blueprint, old: str, new: str, complaint: str) -> None:
    assert old in SCRIPT
    _, faults = generated(SCRIPT.replace(old, new), library, 7, NOW)
    assert faults
    assert faults[0].startswith(complaint)


def test_a_broken_invariant_is_told_with_its_query_and_the_row(library: Blueprint) -> None:
    cheap = Invariant(id="cheap", never="SELECT title FROM book WHERE late_fee_cents > 20")
    _, faults = generated(SCRIPT, library.model_copy(update={"invariants": [cheap]}), 7, NOW)
    assert faults == [
        "invariant cheap is broken: no row may ever come of 'SELECT title FROM book WHERE late_fee_cents > 20', and "
        "('Bees of the North',) does"
    ]


def test_tools_that_nobody_could_use_are_named() -> None:
    counts: dict[str, Any] = dict.fromkeys(Coverage.model_fields, 0)
    lists: dict[str, Any] = {"idle_effects": [], "unmet": [], "unsound": [], "failing_tools": ["renew_loan"]}
    summary = Summary(server="Library", rows={}, values={}, calls={}, events={}, coverage=Coverage(**counts | lists))
    (told,) = idle_tools(Built({}, summary))
    assert "nobody could make one lawful call of renew_loan" in told
    assert idle_tools(Built({}, None, "invariant lent_once is broken")) == []
