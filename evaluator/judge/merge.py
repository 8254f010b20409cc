"""A judgement taken into the result of its trajectory; it changes the reward only where the task says so."""

from evaluator.judge.judge import Judged
from evaluator.score import reward_of
from skillweave.schema.result import Divergence, FailureRecord, Result, ResultError
from skillweave.schema.score import JudgedCheck
from skillweave.schema.task import Task


def with_judgement(result: Result, task: Task, judged: Judged) -> Result:
    """The result with what the judge says. One that could not be scored stays as it is."""
    if result.error is not None:
        return result
    checks = result.checks.model_copy(update={"rubric": judged.rubric, "subjective": judged.subjective})
    if "rubric" not in task.criteria.reward_basis:
        return result.model_copy(update={"checks": checks})
    if judged.rubric is None:
        error = ResultError(kind="judge", message=judged.fault or "the judge was not asked")
        none = {"passed": None, "reward": None, "failure": None}
        return result.model_copy(update={"checks": checks, "error": error, **none})
    reward = reward_of(task, checks)
    passed = None if reward is None else reward == 1
    failure = (result.failure or _unmet(judged.rubric)) if passed is False else None
    return result.model_copy(update={"checks": checks, "reward": reward, "passed": passed, "failure": failure})


def _unmet(rubric: JudgedCheck) -> FailureRecord | None:
    """The first point that was not met; None where all were, and the failure is another check's to explain."""
    for answer in rubric.answers:
        if answer.score < 1:
            place = Divergence(turn=None, message=None, call=None, expected=answer.question, got=answer.why)
            return FailureRecord(class_="other", first_divergence=place)
    return None
