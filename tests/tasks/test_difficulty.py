"""The level of a task follows from what there is to do and from the forms in which it is asked for."""

import pytest

from synth.tasks.difficulty import difficulty_of, level_expected, level_of
from tests.gates.clinic_tasks import WORLD, a_combination, a_template, call


@pytest.mark.parametrize(
    ("level", "figures"),
    [
        (1, {"calls": 1, "writes": 0, "told": 1}),
        (1, {"calls": 3, "writes": 1}),
        (2, {"calls": 6, "writes": 1}),
        (2, {"calls": 4, "writes": 1, "forms": ["choice"]}),
        (3, {"calls": 7, "writes": 1}),
        (3, {"calls": 6, "writes": 1, "forms": ["choice"]}),
        (3, {"calls": 5, "writes": 2}),
        (2, {"calls": 4, "writes": 3}),
        (3, {"calls": 5, "writes": 1, "forms": ["choice", "condition"]}),
        (3, {"calls": 5, "writes": 2, "domains": 2}),
        (3, {"calls": 5, "writes": 2, "forms": ["batch"]}),
        (3, {"calls": 7, "writes": 3}),
        (4, {"calls": 8, "writes": 3}),
        (4, {"calls": 8, "writes": 2, "domains": 2}),
        (4, {"calls": 7, "writes": 3, "forms": ["batch"]}),
        (4, {"calls": 8, "writes": 1, "forms": ["condition"], "is_foreseen": True}),
        (4, {"calls": 8, "writes": 1, "forms": ["choice", "condition", "errands"]}),
        (2, {"calls": 2, "writes": 0, "forms": ["aggregate"], "amounts": 11}),
        (4, {"calls": 2, "writes": 0, "forms": ["aggregate"], "amounts": 12}),
        (5, {"calls": 10, "writes": 2, "forms": ["choice", "what_if", "errands"]}),
        (5, {"calls": 12, "writes": 5, "forms": ["batch"]}),
        (5, {"calls": 10, "writes": 3, "forms": ["choice", "condition", "batch", "errands"]}),
    ],
)
def test_the_level_follows_the_table(level: int, figures: dict[str, object]) -> None:
    assert level_of(**figures) == level  # type: ignore[arg-type]


def test_one_form_named_twice_is_one_form() -> None:
    assert level_of(calls=3, writes=1, forms=["choice", "choice"]) == 2


def test_a_combination_has_the_figures_of_its_golden_calls() -> None:
    calls = [call("list_appointments"), call("cancel_appointment", appointment_id=("A1", "user"))]
    found = difficulty_of(WORLD, a_combination(calls), facts=3, shortest=2)
    assert (found.level, found.calls, found.writes, found.domains, found.facts, found.shortest) == (1, 2, 1, 1, 3, 2)


def test_what_has_more_forms_is_expected_to_be_harder() -> None:
    plain = a_template(id="x")
    assert level_expected(plain, 1) < level_expected(plain.model_copy(update={"forms": ["choice", "condition"]}), 1)
