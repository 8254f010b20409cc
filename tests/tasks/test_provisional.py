"""The provisional task is the final one in bare words."""

from collections import Counter
from random import Random

from evaluator.scoring.selftest import variants_of
from skillweave.schema.combination import Combination, ValidatedTask
from skillweave.schema.entity import Domain
from skillweave.schema.request import FactWords, Telling
from skillweave.schema.task import Task
from synth.gates.variants import check_variants
from synth.tasks.assembly import TaskAssembler, persona_of, provisional_task
from synth.tasks.requests import request_of
from tests.gates.clinic_tasks import WORLD, a_combination, a_move, a_template, call, judged, value

TEMPLATE = a_template(calls=[{"tool": "move_appointment"}], title="Move an appointment")
DOMAIN = Domain(name="SmallClinic", topic="teeth", summary="A clinic.", person="Patient", seed="dentists")


def the_told_one(validated: ValidatedTask) -> Task:
    """The task as an author might tell it."""
    assembly = TaskAssembler(WORLD, [DOMAIN])
    persona = persona_of(assembly.person("PAT-0001"), WORLD.now, Random(3))
    request = request_of(WORLD.blueprint, TEMPLATE, validated.combination, persona, Random(3))
    facts = [FactWords(id=thing.id, text=f"It is {thing.words}!", tell="asked") for thing in request.known]
    telling = Telling(id="1", first_message="Hi, my appointment does not suit me.", goal="You want it.", facts=facts)
    return assembly.task(validated, request, telling, "test")


def the_provisional_one(validated: ValidatedTask) -> Task:
    return provisional_task(WORLD, validated.combination, TEMPLATE, validated.criteria, validated.gates)


def test_id_calls_and_criteria_are_those_of_the_told_one() -> None:
    validated = judged(a_move(), template=TEMPLATE)
    bare, told = the_provisional_one(validated), the_told_one(validated)
    same = ("id", "golden", "criteria", "initial_state", "now", "env_variables", "tools_hidden", "login", "domains")
    assert {name: getattr(bare, name) for name in same} == {name: getattr(told, name) for name in same}
    assert bare.messages != told.messages


def test_the_told_one_has_the_same_variants_and_figures() -> None:
    validated = judged(a_move(), template=TEMPLATE)
    bare, told = the_provisional_one(validated), the_told_one(validated)
    sorts = [Counter(variant.name for variant in variants_of(WORLD, task)) for task in (bare, told)]
    assert sorts[0] == sorts[1]
    found = check_variants(WORLD, told)
    assert found == check_variants(WORLD, bare)
    assert validated.gates.mutants == found.mutants


def test_what_the_user_knows_is_in_the_words_and_secrets_are_kept() -> None:
    validated = judged(a_move(), template=TEMPLATE)
    bare = the_provisional_one(validated)
    assert "Dr Iyer" in (bare.messages[0].content or "")
    facts = {"email": "ana@example.com", "date_of_birth": "1981-03-01"}
    signing_in = call("identify_patient", **{name: (fact, "user") for name, fact in facts.items()})
    wish = call("set_reminders", wanted=(False, "user"))
    signed = a_combination(
        [signing_in, wish], login="conversation", credentials=facts, values=[value(1, "wanted", False)]
    )
    known = _provisional(signed)
    assert "ana@example.com" not in (known.messages[0].content or "")
    assert any(fact.tell == "asked" and fact.value == "ana@example.com" for fact in known.scenario.facts)


def _provisional(combination: Combination) -> Task:
    template = a_template(calls=[{"tool": combination.golden[-1].tool}])
    validated = judged(combination, template=template)
    return provisional_task(WORLD, combination, template, validated.criteria, validated.gates)
