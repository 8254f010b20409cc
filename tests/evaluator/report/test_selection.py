from random import Random

from evaluator.report.results import order_of, sample_key_of, select
from skillweave.schema.result import Result
from tests.evaluator.results import a_failure, a_result, an_error

CLASSES = ("wrong_argument", "missing_write", "loop")


def failed(name: str, number: int) -> Result:
    task = f"{name}-{number}"
    return a_result(task, passed=False, failure=a_failure(name), trajectory_digest=task)


def shown(results: list[Result], most: int) -> list[str]:
    chosen = select(results, most).chosen
    return [result.task_id for result in sorted(results, key=order_of) if sample_key_of(result) in chosen]


def test_every_class_is_represented_however_rare_it_is() -> None:
    results = [failed("wrong_argument", number) for number in range(300)]
    results += [failed("missing_write", number) for number in range(3)] + [failed("loop", 0)]
    counts = [sum(name.startswith(start) for name in shown(results, 10)) for start in CLASSES]
    assert counts == [6, 3, 1]


def test_failures_come_first_and_passes_fill_what_is_left() -> None:
    results = [a_result(f"p-{number}", trajectory_digest=str(number)) for number in range(20)]
    results += [failed("loop", number) for number in range(4)]
    names = shown(results, 6)
    assert [name.partition("-")[0] for name in names] == ["loop"] * 4 + ["p"] * 2
    found = select(results, 6)
    assert found.hidden == 18


def test_every_agent_is_represented_however_much_another_failed() -> None:
    results = [failed("loop", number) for number in range(300)]
    results += [one.model_copy(update={"agent": "other", "id": f"o{one.id}"}) for one in results[:2]]
    results += [a_result(f"p-{number}", agent=f"v/{number}", trajectory_digest=str(number)) for number in range(3)]
    chosen = {id for _, id, _ in select(results, 6).chosen}
    assert len(chosen) == 6
    assert {one.id for one in results if one.agent == "other"} < chosen
    passes = [one for one in results if one.passed]
    assert {id for _, id, _ in select([*passes, *passes[:1] * 9], 3).chosen} == {one.id for one in passes}


def test_the_order_of_the_results_does_not_matter() -> None:
    results = [failed(name, number) for name in CLASSES for number in range(40)]
    results += [a_result(f"p-{number}", trajectory_digest=str(number)) for number in range(40)]
    shuffled = Random(1).sample(results, len(results))
    for most in (1, 7, 130):
        assert select(results, most) == select(shuffled, most)
        assert len(select(results, most).chosen) == most


def test_results_that_share_an_id_are_told_apart_by_their_trajectories() -> None:
    results = [a_result("t", trajectory_digest=digest) for digest in ("one", "two", "two")]
    assert len(select(results, 5).chosen) == 2


def test_what_could_not_be_scored_is_counted_with_an_example_and_not_chosen() -> None:
    results = [
        an_error("provider", "b"),
        an_error("provider", "a"),
        an_error("task", "c", agent="v/other"),
        a_result("d", passed=None),
    ]
    found = select(results, 5)
    assert found.chosen == frozenset()
    assert [(*key, one.count, one.example) for key, one in found.unscored.items()] == [
        (("v/other", "offline/user"), "task", 1, ("c#0", "so it was")),
        (("vendor/strong", "offline/user"), "no_reward", 1, ("d#0", "a check that counts was not made")),
        (("vendor/strong", "offline/user"), "provider", 2, ("a#0", "so it was")),
    ]
