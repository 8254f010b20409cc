"""Wrong ways of dealing with what a rule forbids that name the rule: all are made, and all fail by the conduct."""

from evaluator.variants import variants_of
from tests.evaluator.variants.clinic import every_task
from tests.rollout.offline_agents.clinic import WORLD

_SORTS = "claimed_naming_rule promised_naming_rule rule_said_to_be_met rule_said_to_permit rule_guessed gave_in"
SORTS = frozenset(_SORTS.split())


def test_each_sort_is_made_of_each_request_that_a_rule_forbids() -> None:
    for task in every_task():
        made = {variant.name for variant in variants_of(WORLD, task) if not variant.passes}
        assert made & SORTS == (SORTS if task.kind == "refuse" else set())
