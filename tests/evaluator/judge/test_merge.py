from collections.abc import Sequence

import pytest

from evaluator.judge.judge import JudgeVerdict, with_judgement
from skillweave.schema.result import Result, ResultError
from skillweave.schema.score import Checks, JudgedAnswer, JudgedCheck, StateCheck
from tests.evaluator.judge.judging import a_wish

BOTH = ("state", "rubric")


def a_check(*scores: float) -> JudgedCheck:
    answers = [JudgedAnswer(question=f"Point {at}?", score=score, why="See 1.") for at, score in enumerate(scores)]
    return JudgedCheck(score=sum(scores) / len(scores), judge="openai/m", prompt_version="1", answers=answers)


def a_result(state: float = 1.0, basis: Sequence[str] = BOTH) -> Result:
    known = "rubric" not in basis
    return Result(
        id="SmallClinic-1#0",
        task_id="SmallClinic-1",
        trial=0,
        world="SmallClinic",
        domains=["SmallClinic"],
        kind="do",
        split="train",
        checks_version="1",
        passed=state == 1 if known else None,
        reward=state if known else None,
        checks=Checks(state=StateCheck(score=state)),
        trajectory_digest="d",
    )


@pytest.mark.parametrize(
    ("state", "scores", "reward"), [(1.0, (1.0, 1.0), 1.0), (1.0, (1.0, 0.0), 0.5), (0.0, (1.0,), 0.0)]
)
def test_a_rubric_counts_where_the_task_says_so(state: float, scores: tuple[float, ...], reward: float) -> None:
    found = with_judgement(a_result(state), a_wish(BOTH), JudgeVerdict(rubric=a_check(*scores)))
    assert (found.reward, found.passed, found.error) == (reward, reward == 1, None)


def test_the_first_point_that_was_not_met_is_the_failure() -> None:
    found = with_judgement(a_result(), a_wish(BOTH), JudgeVerdict(rubric=a_check(1.0, 0.0, 0.0)))
    assert found.failure is not None
    assert (found.failure.class_, found.failure.first_divergence.expected) == ("other", "Point 1?")


def test_it_counts_nowhere_else() -> None:
    judged = JudgeVerdict(rubric=a_check(0.0), subjective=a_check(0.0))
    found = with_judgement(a_result(basis=["state"]), a_wish(["state"]), judged)
    assert (found.reward, found.passed, found.failure) == (1.0, True, None)
    assert (found.checks.rubric, found.checks.subjective) == (judged.rubric, judged.subjective)


def test_without_an_answer_a_task_that_needs_one_cannot_be_scored() -> None:
    found = with_judgement(a_result(), a_wish(BOTH), JudgeVerdict(fault="it refused"))
    assert found.error == ResultError(kind="judge", message="it refused")
    assert (found.reward, found.passed, found.scored) == (None, None, False)


def test_without_an_answer_any_other_task_is_scored_all_the_same() -> None:
    before = a_result(basis=["state"])
    assert with_judgement(before, a_wish(["state"]), JudgeVerdict(fault="it refused")) == before


def test_what_could_not_be_scored_stays_as_it_is() -> None:
    lost = a_result().model_copy(update={"error": ResultError(kind="world", message="gone")})
    assert with_judgement(lost, a_wish(BOTH), JudgeVerdict(rubric=a_check(1.0))) == lost
