"""A list that comes in pages: whoever adds up its amounts turns them all."""

from functools import cache
from typing import Any

import pytest

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination
from skillweave.world import database
from skillweave.world.world import World
from synth.contracts.visibility import page_parameter
from synth.gates.judging import validate_combination
from synth.tasks.combinations import combination_for
from synth.tasks.kinds import NoInstance
from synth.tasks.replay import NEXT_PAGE, Rejected
from tests.gates.clinic_tasks import RULES
from tests.tasks.forms import clinic

PAGE: dict[str, Any] = {"name": "page", "type": "integer", "required": False, "description": "Which page."}
TEMPLATE = clinic.named("sum_list_fees_amount_cents")


@cache
def paged() -> World:
    """The small clinic, with two fees to a page."""
    data = clinic.WORLD.blueprint.model_dump()
    tool = next(one for one in data["tools"] if one["name"] == "list_fees")
    tool["parameters"].append(PAGE)
    tool["returns"]["select"] += " LIMIT 2 OFFSET 2 * (COALESCE(:page, 1) - 1)"
    blueprint = Blueprint.model_validate(data)
    connection = database.create(blueprint)
    with clinic.WORLD.session() as session:
        for entity in blueprint.tables:
            database.insert(connection, entity, [dict(row) for row in session.rows(entity.table)])
    return World(blueprint, connection, now=clinic.WORLD.now)


def of_ana(**changes: Any) -> Combination:
    return combination_for(paged(), TEMPLATE, "PAT-0001", "session", "7", number=0).model_copy(update=changes)


def test_the_page_is_what_a_read_begins_at() -> None:
    assert page_parameter(paged().blueprint.tool("list_fees")) == "page"
    assert page_parameter(clinic.WORLD.blueprint.tool("list_fees")) is None


@pytest.mark.parametrize("end", ["LIMIT 2 OFFSET :page", "LIMIT 2 OFFSET COALESCE(:page, 0)", "LIMIT 2"])
def test_a_number_of_rows_to_pass_over_is_no_page(end: str) -> None:
    tool = clinic.WORLD.blueprint.tool("list_fees")
    select = f"{tool.returns.select} {end}"
    parameters = [*tool.parameters, *(paged().blueprint.tool("list_fees").parameters[-1:] if ":page" in end else [])]
    changed = tool.model_copy(
        update={"parameters": parameters, "returns": tool.returns.model_copy(update={"select": select})}
    )
    assert page_parameter(changed) is None


def test_a_list_that_goes_on_behind_the_last_page_that_is_turned_is_not_added_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("synth.tasks.forms.aggregate.MOST_PAGES", 2)
    with pytest.raises(NoInstance, match="too many pages"):
        of_ana()


def test_all_pages_with_what_is_meant_are_turned_and_the_first_page_alone_is_another_answer() -> None:
    one = of_ana()
    assert [call.arguments for call in one.golden] == [{}, {"page": 2}]
    assert one.golden[1].grounding == {"page": NEXT_PAGE}
    (fact,) = one.communicate
    assert fact.values == [sum(int(str(part)) for part in fact.parts)]
    assert len(fact.parts) > 2
    first_page = sum(int(str(part)) for part in fact.parts[:2])
    assert first_page in fact.rivals
    found = validate_combination(paged(), one, TEMPLATE, RULES)
    assert found.gates.forms["aggregate"]["summands"] == len(fact.parts)  # type: ignore[index,call-overload]


def test_a_page_that_nothing_leads_to_has_no_source() -> None:
    one = of_ana()
    skipped = [one.golden[0], one.golden[1].model_copy(update={"arguments": {"page": 3}})]
    with pytest.raises(Rejected, match="argument without source"):
        validate_combination(paged(), one.model_copy(update={"golden": skipped}), TEMPLATE, RULES)
