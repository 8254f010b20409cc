"""Prompts say what the gates check, and begin with what repeats."""

from typing import get_args

import pytest
from jinja2 import Environment, meta

from skillweave.schema.contract import DECLINE, SESSION_TOOLS, TRANSFER, TransferReason
from skillweave.world.contract.tools import RESERVED_ERRORS
from skillweave.world.sql import FUNCTIONS
from synth.servers.skeleton import CLOCKS, FORBIDDEN, MODULES
from synth.simulation.generation import SHARED_ATTRIBUTES, pools
from tests.questions.library import NOW, answer, domain, draft, questions, system

CHECKED = "What is checked"


@pytest.mark.parametrize("name", sorted(questions()))
def test_the_system_message_is_the_same_for_every_item(name: str) -> None:
    assert meta.find_undeclared_variables(Environment().parse(system(name))) <= {"answer_format"}


@pytest.mark.parametrize("name", sorted(questions()))
def test_what_is_checked_is_said(name: str) -> None:
    assert CHECKED in system(name)


def test_two_groups_of_a_companys_contracts_share_all_but_the_last_paragraph() -> None:
    (one, first), (other, second) = contracts_prompt(["find_member"]), contracts_prompt(["renew_loan", "return_book"])
    assert one == other
    assert first.rpartition("\n\n")[0] == second.rpartition("\n\n")[0]
    assert second.rpartition("\n\n")[2] == "Write the contracts of renew_loan, return_book."


def contracts_prompt(asked: list[str]) -> tuple[str, str]:
    """System and user message."""
    given = {"domain": domain(), "draft": draft(), "book": answer("blueprint.book"), "asked": asked, "now": NOW}
    said = questions()["blueprint.contracts"].render(given)
    return str(said[0].content), str(said[1].content)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("blueprint.book", SESSION_TOOLS),
        ("blueprint.contracts", FUNCTIONS | RESERVED_ERRORS),
        ("fusion.mediate", RESERVED_ERRORS),
        ("entities.extract", {f"`{name}` {kind}" for name, kind in SHARED_ATTRIBUTES.items()} | set(pools(1))),
        ("database.generator", set(pools(1))),
        ("server.write", MODULES | FORBIDDEN | CLOCKS),
        ("policy.write", {DECLINE, TRANSFER, *get_args(TransferReason)}),
        ("policy.merge", {DECLINE, TRANSFER, *get_args(TransferReason)}),
    ],
)
def test_closed_lists_are_told_whole(name: str, words: set[str]) -> None:
    told = " ".join(system(name).split())
    assert sorted(word for word in words if word not in told) == []
