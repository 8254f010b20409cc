import asyncio
import json
from random import Random

import pytest
import sqlglot
from pydantic import BaseModel, ConfigDict

from skillweave.base.errors import AuthorError
from skillweave.llm.ask import ask
from skillweave.llm.backends.backend import OfflineBackend, Request
from skillweave.llm.parse import ParseError, parse
from skillweave.llm.question import Question
from tests.llm.fault_injection import INJECTED_FAULTS, FaultInjector, InjectedFault, spoil

from ..conftest import Maker


class Guard(BaseModel):
    model_config = ConfigDict(extra="forbid")
    rule: str
    holds: str
    cents: int


ANSWER = json.dumps([{"rule": "R1", "holds": "EXISTS (SELECT 1 FROM slot WHERE starts_at > :now)", "cents": 5}])


@pytest.mark.parametrize("fault", [fault for fault in INJECTED_FAULTS if fault not in ("invalid_sql", "wall_clock")])
@pytest.mark.parametrize("seed", range(5))
def test_a_spoiled_answer_is_refused(fault: InjectedFault, seed: int) -> None:
    with pytest.raises(ParseError):
        parse(Question("q", list[Guard]), spoil(ANSWER, fault, Random(seed)))


def test_spoiled_sql_has_the_right_form_and_the_wrong_meaning() -> None:
    (broken,) = parse(Question("q", list[Guard]), spoil(ANSWER, "invalid_sql", Random(0)))
    with pytest.raises(sqlglot.ParseError):
        sqlglot.parse_one(broken.holds, dialect="sqlite")
    (clocked,) = parse(Question("q", list[Guard]), spoil(ANSWER, "wall_clock", Random(0)))
    assert "datetime('now')" in clocked.holds


def test_faults_depend_on_seed_item_and_attempt_only() -> None:
    async def texts(seed: int, keys: str) -> dict[str, str]:
        backend = FaultInjector(OfflineBackend(lambda _: ANSWER), seed, 0.5)
        return {key: (await backend.complete(Request(messages=(), question="q", key=key))).text for key in keys}

    assert asyncio.run(texts(1, "abcdefgh")) == asyncio.run(texts(1, "hgfedcba"))
    assert asyncio.run(texts(1, "abcdefgh")) != asyncio.run(texts(2, "abcdefgh"))


def test_a_bounded_loop_survives_a_faulty_author(a_question: Maker) -> None:
    question = a_question(list[Guard])

    async def outcome(seed: int) -> str:
        backend = FaultInjector(OfflineBackend(lambda _: ANSWER), seed, 0.5, ("truncated", "prose", "duplicate_key"))
        try:
            guards: list[Guard] = await ask(backend, question, key="k", variables={"thing": 1}, repairs=3)
            return guards[0].rule
        except AuthorError as error:
            return "rejected" if error.reasons else "without reason"

    outcomes = [asyncio.run(outcome(seed)) for seed in range(40)]
    assert set(outcomes) == {"R1", "rejected"}
    assert outcomes.count("R1") > 30
