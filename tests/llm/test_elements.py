"""A list that is repaired element by element: what is sound stays, what is asked for again is the rest."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from skillweave.base.errors import AuthorError
from skillweave.llm.ask import ask
from skillweave.llm.backends.backend import OfflineBackend
from skillweave.llm.elements import ElementCheck

from .conftest import Maker
from .test_ask import Script


class Goal(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    calls: int = 1


def judge(goals: Sequence[Goal]) -> list[list[str]]:
    return [[f"{goal.name}: {goal.calls} calls"] * 2 if goal.calls < 1 else [] for goal in goals]


def parts(*wanted: str) -> ElementCheck[list[Goal]]:
    return ElementCheck(judge, lambda goal: goal.name, wanted)


def said(**goals: Any) -> str:
    return json.dumps({"things": [{"name": name, "calls": calls} for name, calls in goals.items()]})


@pytest.fixture
def put(a_question: Maker) -> Any:
    def do(taken: ElementCheck[list[Goal]], script: Script, *more: Script, repairs: int = 2) -> dict[str, int]:
        authors = [OfflineBackend(one, "script") for one in (script, *more)]
        question = a_question(list[Goal])
        given: dict[str, Any] = {
            "key": "k",
            "variables": {"thing": 1},
            "check": taken,
            "repairs": repairs,
            "fallback": authors[1:],
        }
        return {goal.name: goal.calls for goal in asyncio.run(ask(authors[0], question, **given))}

    return do


def complaint(script: Script, attempt: int) -> str:
    return str(script.requests[attempt].messages[-1].content)


def test_what_is_sound_is_kept_and_the_rest_asked_for_alone(put: Any) -> None:
    script = Script(said(a=1, b=0, c=2), said(b=3))
    assert put(parts(), script) == {"a": 1, "b": 3, "c": 2}
    assert complaint(script, 1) == (
        "What is wrong with your answer:\n\n- b: 0 calls\n\n"
        "2 of 3 are accepted and kept; do not send them again: a, c.\n"
        "Send only the others, mended, in the same form."
    )


def test_an_element_without_the_right_form_takes_no_other_with_it(put: Any) -> None:
    script = Script(said(a=1, b="two"), said(b=2))
    assert put(parts(), script) == {"a": 1, "b": 2}
    assert "- things.1 (b).calls: Input should be a valid integer" in complaint(script, 1)
    assert "1 of 2 are accepted" in complaint(script, 1)


def test_an_element_that_was_mended_stands_where_it_first_came(put: Any) -> None:
    assert [*put(parts(), Script(said(a="one", b=0, c=2), said(b=1), said(a=1)))] == ["a", "b", "c"]


def test_one_element_may_come_without_its_list_and_an_answer_without_its_name(put: Any) -> None:
    assert put(parts(), Script(said(a=1, b=0), '{"name": "b", "calls": 4}')) == {"a": 1, "b": 4}
    assert put(parts(), Script('[{"name": "a"}]')) == {"a": 1}


def test_what_is_wanted_must_be_there(put: Any) -> None:
    script = Script(said(a=1), said(c=1))
    assert put(parts("a", "c"), script) == {"a": 1, "c": 1}
    assert "- things: there is none for 'c'\n\n1 of 2 are accepted" in complaint(script, 1)


def test_names_stand_once(put: Any) -> None:
    twice = json.dumps({"things": [{"name": "a"}, {"name": "a", "calls": 1}, {"name": "b"}, {"name": "b", "calls": 2}]})
    script = Script(twice, said(c=1))
    assert put(parts(), script) == {"a": 1, "b": 1, "c": 1}
    assert "- things.3 (b): 'b' is given twice, and differently; the first is taken\n\n2 of 3" in complaint(script, 1)


def test_where_nothing_is_sound_all_is_asked_for_again(put: Any) -> None:
    script = Script("no", said(a=0), said(a=1))
    assert put(parts(), script) == {"a": 1}
    assert [complaint(script, n).splitlines()[-1] for n in (1, 2)] == [
        "Answer again, in full and in the same form."
    ] * 2


def test_what_does_not_come_again_when_all_was_asked_for_is_given_up(put: Any) -> None:
    script = Script(said(a=0, b=0), said(c=0, d=0), said(d=1))
    assert put(parts(), script) == {"d": 1}
    assert "- a: 0 calls\n- b: 0 calls\n" in complaint(script, 1)
    assert "- c: 0 calls\n- d: 0 calls\n" in complaint(script, 2)
    assert "a: 0 calls" not in complaint(script, 2)


def test_a_repair_that_cannot_be_read_costs_nothing_that_was_kept(put: Any) -> None:
    script = Script(said(a=1, b=0), "sorry", said(b=1))
    assert put(parts(), script) == {"a": 1, "b": 1}
    assert complaint(script, 2).endswith("Send only the others, mended, in the same form.")


def test_what_stays_faulty_or_does_not_come_again_is_left_out_with_its_reason(put: Any) -> None:
    taken = parts("a", "e")
    script = Script(said(a=1, b=0, c=0, d="x"), said(b=-1), said(b=-2))
    with pytest.raises(AuthorError, match="in 3 answers"):
        put(taken, script)
    kept, left_out = asyncio.run(taken.drop_faulty())
    assert kept == [Goal(name="a")]
    assert [reason.partition(":")[0] for reason in left_out] == ["things.3 (d).calls", "things", "b", "c"]


def test_an_author_that_repeats_itself_is_stopped(put: Any) -> None:
    script = Script(said(a=1, b=0), said(b=0), said(b=0), said(b=1))
    with pytest.raises(AuthorError, match="in 3 answers"):
        put(parts(), script, repairs=9)


def test_the_next_author_begins_anew(put: Any) -> None:
    assert put(parts(), Script(said(a=1, b=0)), Script(said(c=1)), repairs=0) == {"c": 1}


def test_what_leant_on_something_left_out_goes_with_it(put: Any) -> None:
    def leaning(goals: Sequence[Goal]) -> list[list[str]]:
        names = {goal.name for goal in goals}
        return [["b: 0 calls"] if not goal.calls else ["a needs b"] * ("b" not in names) for goal in goals]

    taken: ElementCheck[list[Goal]] = ElementCheck(leaning, lambda goal: goal.name)
    with pytest.raises(AuthorError):
        put(taken, Script(said(a=1, b=0)), repairs=0)
    assert asyncio.run(taken.drop_faulty()) == ([], ["b: 0 calls", "a needs b"])


@pytest.mark.parametrize(
    "text",
    ['{"things": {"name": 3}}', '{"things": [null, 7, [], {"name": ["x"]}, {"name": {}}]}', '{"things": "a", "b": 1}'],
)
def test_no_reply_makes_it_fail_otherwise(put: Any, text: str) -> None:
    assert put(parts(), Script(text, said(a=1))) == {"a": 1}
