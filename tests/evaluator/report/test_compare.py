from math import comb
from typing import Any

import pytest

from evaluator.report.compare import compare, flips, results_by_agent, show_comparison, show_flips
from skillweave.schema.result import AgentComparison, Result
from tests.evaluator.results import a_failure, a_result, an_error


def of_two(a: list[Result], b: list[Result]) -> AgentComparison:
    """The comparison of two files that hold one agent each."""
    [found] = compare(results_by_agent(a), results_by_agent(b))
    return found


def compared(found: list[AgentComparison]) -> list[tuple[str, str, str, str]]:
    """Who was compared with whom."""
    return [(one.agent_a, one.user_a, one.agent_b, one.user_b) for one in found]


def trials(task: str, passes: int, number: int, failure: str = "other") -> list[Result]:
    return [
        a_result(task, trial, passed=trial < passes, failure=None if trial < passes else a_failure(failure))
        for trial in range(number)
    ]


def test_common_tasks_are_paired_and_each_counts_the_same() -> None:
    a = [*trials("A", 1, 4), *trials("B", 1, 1), *trials("C", 0, 2)]
    b = [*trials("A", 1, 2), *trials("B", 0, 1), *trials("C", 1, 1), *trials("D", 1, 1)]
    found = of_two(a, b)
    assert (found.tasks, found.only_a, found.only_b) == (3, 0, 1)
    assert found.rate_a == pytest.approx((0.25 + 1 + 0) / 3)
    assert found.rate_b == pytest.approx((0.5 + 0 + 1) / 3)
    assert found.difference == pytest.approx(0.25 / 3)
    # Of all signs of 1/4, -1 and 1 none brings the sum nearer to 0 than 1/4.
    assert found.p == 1.0


def test_rates_are_told_by_kind_form_and_level(capsys: pytest.CaptureFixture[str]) -> None:
    traits: dict[str, dict[str, Any]] = {
        "A": {"forms": ["choice", "batch"], "level": 3},
        "B": {"forms": []},
        "C": {"forms": ["batch"]},
    }
    sides = [[a_result(task, passed=task in passed, **traits[task]) for task in "ABC"] for passed in ("AB", "BC")]
    found = of_two(*sides)
    assert {form: (of.tasks, of.rate_a, of.rate_b) for form, of in found.by["form"].items()} == {
        "plain": (1, 1.0, 1.0),
        "batch": (2, 0.5, 0.5),
        "choice": (1, 1.0, 0.0),
    }
    assert list(found.by["level"]) == ["3", "unknown"]
    show_comparison(found)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "choice 1 100.0% 0.0%" in lines
    assert "By kind" not in lines, "all are of one"


def test_flipped_tasks_are_named_the_worst_for_the_second_first() -> None:
    a = [*trials("Better", 0, 2, "loop"), *trials("Down", 2, 2), *trials("Slightly", 2, 2), *trials("Same", 1, 2)]
    b = [
        *trials("Better", 2, 2),
        *trials("Down", 0, 2, "extra_write"),
        *trials("Slightly", 1, 2),
        *trials("Same", 2, 4),
    ]
    found = of_two(a, b).flipped
    assert [(one.task_id, one.a_passed, one.a_scored, one.b_passed, one.b_scored, one.failure) for one in found] == [
        ("Down", 2, 2, 0, 2, "extra_write"),
        ("Slightly", 2, 2, 1, 2, "other"),
        ("Better", 0, 2, 2, 2, "loop"),
    ]


def test_the_failure_of_the_worse_one_is_its_most_frequent() -> None:
    a = trials("A", 3, 3)
    b = [
        a_result("A", trial, passed=False, failure=a_failure(name))
        for trial, name in enumerate(("loop", "ran_out", "ran_out"))
    ]
    assert of_two(a, b).flipped[0].failure == "ran_out"
    assert of_two(b, a).flipped[0].failure == "ran_out"


def test_significance_is_over_tasks_and_not_over_trials() -> None:
    few = of_two([*trials("A", 0, 100)], [*trials("A", 100, 100)])
    assert few.p == 1.0
    names = [f"T{number}" for number in range(20)]
    many = of_two([a_result(name, passed=False) for name in names], [a_result(name) for name in names])
    assert many.p == 2 / 2**20
    assert (many.low, many.high) == (1.0, 1.0)
    mixed = of_two(
        [a_result(name, passed=at < 4) for at, name in enumerate(names)],
        [a_result(name, passed=at >= 4) for at, name in enumerate(names)],
    )
    assert mixed.p == pytest.approx(2 * sum(comb(20, k) for k in range(5)) / 2**20)


def test_what_is_not_scored_is_counted_and_not_compared() -> None:
    a = [a_result("A"), an_error("provider", "B"), an_error("task", "X")]
    b = [a_result("A"), a_result("B", passed=False), an_error("user", "A", 1)]
    found = of_two(a, b)
    assert (found.tasks, found.only_a, found.only_b) == (1, 0, 1)
    assert (found.unscored_a, found.unscored_b) == (2, 1)


def test_a_task_that_changed_is_not_compared() -> None:
    a = [a_result("A", task_digest="1"), a_result("B", task_digest="1"), a_result("C")]
    b = [a_result("A", task_digest="1"), a_result("B", task_digest="2", passed=False), a_result("C", task_digest="3")]
    found = of_two(a, b)
    assert (found.tasks, found.changed, found.flipped) == (2, 1, [])


def test_nothing_in_common_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    found = of_two([a_result("A")], [a_result("B")])
    assert (found.tasks, found.difference, found.p) == (0, None, None)
    show_comparison(found)
    assert "no task has scored trials on both sides" in capsys.readouterr().out


def test_a_comparison_is_shown_with_its_versions_and_flips(capsys: pytest.CaptureFixture[str]) -> None:
    a = [a_result("T\x1b[2J", passed=True), a_result("U")]
    b = [a_result("T\x1b[2J", passed=False, checks_version="2"), a_result("U"), an_error("world", "V")]
    show_comparison(of_two(a, b), "old", "new")
    shown = capsys.readouterr().out
    assert "vendor/strong with offline/user:" in shown
    assert "2 tasks: old 100.0%, new 50.0%; difference -50.0 points [-100.0, +0.0], p = 1" in shown
    assert "1 results of new not scored" in shown
    assert "not of one version: 1, 2" in shown
    assert "T\\x1b[2J" in shown


def test_the_agents_of_one_folder_are_compared_pair_by_pair() -> None:
    sides = results_by_agent(
        [a_result("A", agent=name, user="u", passed=name != "bad") for name in ("good", "bad", "other")]
    )
    assert compared(compare(sides)) == [
        ("bad", "u", "good", "u"),
        ("bad", "u", "other", "u"),
        ("good", "u", "other", "u"),
    ]
    [found] = compare(sides, agents=["good", "bad"])
    assert (found.agent_a, found.agent_b, found.difference) == ("good", "bad", -1.0)
    assert compared(compare(sides, agents=["good"])) == [("good", "u", "bad", "u"), ("good", "u", "other", "u")]
    assert compare(sides, agents=["good", "good"]) == compare(sides, agents=["nobody"]) == []


def test_in_two_folders_each_agent_is_compared_with_itself_or_with_the_one_named() -> None:
    old = results_by_agent([a_result("A", agent=name, passed=False) for name in ("one", "two")])
    new = results_by_agent([a_result("A", agent=name) for name in ("two", "three")])
    [found] = compare(old, new)
    assert (found.agent_a, found.agent_b, found.rate_a, found.rate_b) == ("two", "two", 0.0, 1.0)
    [found] = compare(old, new, agents=["one", "three"])
    assert (found.agent_a, found.agent_b) == ("one", "three")
    assert compare(old, new, agents=["one"]) == []


def test_agents_are_compared_with_the_same_user_where_they_have_one() -> None:
    users = [("one", "u"), ("one", "v"), ("two", "v"), ("two", "w")]
    sides = results_by_agent([a_result("A", agent=agent, user=user) for agent, user in users])
    assert compared(compare(sides)) == [("one", "v", "two", "v")]


def test_flips_are_results_of_both_that_come_out_otherwise() -> None:
    old = [
        a_result("A"),
        a_result("B", passed=False, failure=a_failure("loop")),
        a_result("C"),
        an_error("world", "D"),
        a_result("Gone"),
        a_result("E", agent="v/one"),
    ]
    new = [
        a_result("D", checks_version="2"),
        a_result("C", checks_version="2"),
        a_result("B", checks_version="2"),
        a_result("A", passed=False, failure=a_failure("extra_write"), checks_version="2"),
        a_result("New", checks_version="2"),
        a_result("E", agent="v/two", passed=False, checks_version="2"),
    ]
    found = [(one.id, one.before, one.after, one.class_before, one.class_after) for one in flips(old, new)]
    assert found == [
        ("D#0", None, True, None, None),
        ("B#0", False, True, "loop", None),
        ("A#0", True, False, None, "extra_write"),
    ]
    assert {(one.version_before, one.version_after) for one in flips(old, new)} == {("1", "2")}


def test_every_flip_is_shown_and_counted_by_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    old = [a_result(f"T{number:03}") for number in range(120)]
    new = [a_result(one.task_id, passed=False, failure=a_failure("loop")) for one in old]
    show_flips(flips(old, new))
    shown = capsys.readouterr().out
    assert "120 results flipped" in shown
    assert all(one.id in shown for one in old)
    assert "vendor/strong with offline/user passed loop 120" in " ".join(shown.split())
