import json
from collections.abc import Iterable
from itertools import combinations
from random import Random
from statistics import mean
from typing import Any

import pytest

from evaluator.report.summary import SummaryBuilder, summarise
from evaluator.report.terminal import show_summary
from skillweave.schema.evaluation import AgentSummary, EvaluationSummary, RewardFloors
from skillweave.schema.result import Result
from tests.evaluator.results import a_failure, a_result, an_error


def many_results() -> list[Result]:
    random = Random(4)
    kinds = ["provider", "user", "task", "dataset"]
    found = []
    for number in range(120):
        task, trial = f"Clinic-{number // 4}", number % 4
        traits = {"world": f"World{number % 3}", "calls": number // 4 % 13 + 1, "agent": f"v/{number % 2}"}
        usage = {"input_tokens": number, "output_tokens": 1, "cost_usd": random.random()}
        if random.random() < 0.1:
            found.append(an_error(random.choice(kinds), task, trial, **traits))
        else:
            reward = random.choice((0.0, 1 / 3, 0.1, 1.0, 1.0))
            floors = {"floor_nothing": 0.1, "floor_random": 1 / 3, "usage": {"agent": usage, "user": usage}}
            checks = {"communicate": {"score": reward}}
            found.append(a_result(task, trial, passed=reward == 1, reward=reward, checks=checks, **traits, **floors))
    return found


def test_the_bytes_are_the_same_in_any_order_and_are_read_back() -> None:
    results = many_results()
    first = summarise(results, "digest").model_dump_json()
    for seed in range(2):
        assert summarise(Random(seed).sample(results, len(results)), "digest").model_dump_json() == first
    assert EvaluationSummary.model_validate_json(first).model_dump_json() == first
    assert list(json.loads(first))[:3] == ["format", "dataset", "unreadable_lines"]


def only(results: Iterable[Result]) -> AgentSummary:
    """The figures of results that are all of one agent and user."""
    [found] = summarise(results).by_agent
    return found


def test_errors_that_are_not_the_agents_count_in_the_second_rate_alone() -> None:
    found = only(
        [
            a_result("A"),
            a_result("B", passed=False),
            an_error("provider", "C"),
            an_error("user", "A", 1),
        ]
    )
    assert (found.trajectories, found.scored, found.not_scored) == (4, 2, {"provider": 1, "user": 1})
    assert found.not_scored_share == 0.5
    overall = found.overall
    assert (overall.tasks, overall.trials, overall.scored, overall.passed) == (3, 4, 2, 1)
    assert (overall.rate, overall.rate_errors_as_failures, overall.mean_reward) == (0.5, 0.25, 0.5)


@pytest.mark.parametrize("kind", ["trajectory", "task", "dataset"])
def test_a_line_that_is_of_no_trial_is_counted_and_in_neither_rate(kind: str) -> None:
    found = only([a_result("A"), an_error(kind, "Nowhere-1", world="Nowhere")])
    assert found.not_scored == {kind: 1}
    assert (found.overall.trials, found.overall.rate_errors_as_failures) == (1, 1.0)
    assert list(found.by["world"]) == ["SmallClinic"]


def test_a_result_whose_reward_could_not_be_said_is_no_failure() -> None:
    found = only([a_result("A"), a_result("B", passed=None, reward=None)])
    assert found.not_scored == {"no_reward": 1}
    assert (found.overall.trials, found.overall.rate) == (1, 1.0)
    assert found.failures == {}


def test_nothing_scored_gives_no_rate() -> None:
    assert summarise([]).by_agent == []
    overall = only([an_error("world")]).overall
    assert (overall.rate, overall.rate_errors_as_failures, overall.mean_reward) == (None, 0.0, None)
    assert overall.pass_at_k == {}


def test_pass_at_k_and_pass_hat_k_are_means_over_tasks_of_all_subsets_of_trials() -> None:
    passes = {"A": [True, True, False], "B": [False, False, False], "C": [True, True, True]}
    found = only(
        [a_result(task, trial, passed=ok) for task, trials in passes.items() for trial, ok in enumerate(trials)]
    ).overall
    assert list(found.pass_at_k) == list(found.pass_hat_k) == [1, 2, 3]
    for k in (1, 2, 3):
        subsets = [list(combinations(trials, k)) for trials in passes.values()]
        some = found.pass_at_k[k]
        assert some.estimate == pytest.approx(mean(mean(map(any, each)) for each in subsets))
        assert found.pass_hat_k[k].estimate == pytest.approx(mean(mean(map(all, each)) for each in subsets))
        assert some.tasks == 3
        assert some.low <= some.estimate <= some.high


def test_k_goes_to_where_half_of_the_tasks_have_the_trials_and_says_how_many() -> None:
    trials = {"A": 4, "B": 3, "C": 3, "D": 1}
    results = [a_result(task, trial) for task, number in trials.items() for trial in range(number)]
    found = only(results).overall.pass_hat_k
    assert {k: estimate.tasks for k, estimate in found.items()} == {1: 4, 2: 3, 3: 3}


def test_errors_are_no_trials_of_pass_hat_k() -> None:
    found = only([a_result("A", 0), an_error("provider", "A", 1)]).overall
    assert {k: estimate.estimate for k, estimate in found.pass_hat_k.items()} == {1: 1.0}


def test_beyond_eight_k_goes_by_powers_of_two() -> None:
    found = only([a_result("A", trial) for trial in range(40)]).overall
    assert list(found.pass_at_k) == [1, 2, 3, 4, 5, 6, 7, 8, 16, 32]


def test_groups_are_named_and_in_order() -> None:
    found = only(
        [
            a_result("A", calls=12, kind="inform", split="test"),
            a_result("B", calls=10, split="train", passed=False, noise=True),
            a_result("C", calls=2, split="validation", noise=False),
            a_result("D", calls=1, persona=None),
        ]
    ).by
    traits = ["world", "domains", "kind", "form", "level", "split", "difficulty", "persona", "noise"]
    assert list(found) == traits
    assert list(found["difficulty"]) == ["1 call", "2 calls", "10 and more calls"]
    assert list(found["kind"]) == ["do", "inform"]
    assert list(found["split"]) == ["train", "validation", "test"]
    assert list(found["persona"]) == ["brief", "unknown"]
    assert list(found["noise"]) == ["no faults planted", "faults planted", "unknown"]
    assert found["noise"]["faults planted"].rate == 0.0
    assert found["difficulty"]["10 and more calls"].rate == 0.5
    assert found["split"]["train"].rate == 0.5


def test_a_task_counts_for_each_of_its_forms_and_a_plain_one_for_that() -> None:
    found = only(
        [
            a_result("A", forms=["errands", "choice"], level=5),
            a_result("B", forms=["choice"], level=3, passed=False),
            a_result("C", forms=[], level=1),
            a_result("D"),
        ]
    )
    assert {form: group.tasks for form, group in found.by["form"].items()} == {
        "plain": 1,
        "choice": 2,
        "errands": 1,
        "unknown": 1,
    }
    assert list(found.by["level"]) == ["1", "3", "5", "unknown"]
    assert found.by["form"]["choice"].rate == 0.5
    assert found.overall.tasks == 4


def test_results_are_grouped_by_how_many_domains_their_tasks_lie_in() -> None:
    many = [f"Server{number}" for number in range(10)]
    found = only(
        [
            a_result("A", domains=many),
            a_result("B", domains=many[:2], passed=False),
            a_result("C", domains=many[:2]),
            a_result("D"),
            a_result("E", domains=[]),
        ]
    ).by["domains"]
    assert list(found) == ["1 domain", "2 domains", "10 domains", "unknown"]
    assert found["2 domains"].rate == 0.5


def test_floors_are_means_over_the_groups_tasks_and_not_over_trials() -> None:
    found = only(
        [
            *(a_result("A", trial, kind="inform", floor_nothing=0.5, floor_random=0.25) for trial in range(3)),
            a_result("B", floor_nothing=0.0),
        ]
    )
    assert found.overall.floors == RewardFloors(nothing=0.25, random=0.25)
    assert found.by["kind"]["do"].floors == RewardFloors(nothing=0.0, random=None)


def test_failures_are_counted_by_class_with_their_share() -> None:
    classes = ["loop", "extra_write", "extra_write", "missing_write"]
    found = only(
        [
            a_result("Z"),
            an_error("judge", "Y"),
            *(a_result(f"T{at}", passed=False, failure=a_failure(name)) for at, name in enumerate(classes)),
        ]
    ).failures
    assert [(name, one.count, one.share) for name, one in found.items()] == [
        ("extra_write", 2, 0.5),
        ("loop", 1, 0.25),
        ("missing_write", 1, 0.25),
    ]


def test_checks_confirmation_and_replay_are_counted() -> None:
    found = only(
        [
            a_result("A", checks={"state": {"score": 1.0}, "policy": {"score": 1.0}}),
            a_result("B", passed=False, checks={"state": {"score": 0.0}}),
            a_result("C", checks={"policy": {"score": 1.0, "unconfirmed": ["call 3 (cancel)"]}}),
            a_result("D", checks={"policy": {"score": 0.0, "unconfirmed": []}}),
            a_result("E", checks={"replay": {"calls": 4, "differs": [1, 2]}}),
        ]
    )
    assert (found.checks["state"].mean, found.checks["state"].results) == (0.5, 2)
    assert found.checks["policy"].mean == pytest.approx(2 / 3)
    assert found.checks["policy"].results == 3
    assert found.confirmation.model_dump() == {"checked": 2, "unconfirmed": 1}
    assert found.replay.model_dump() == {"calls": 4, "differs": 2, "results_that_differ": 1}


def with_user(task: str, trial: int = 0, *, left: bool = False, faulty: bool = False, **changes: Any) -> Result:
    """A result in which the user was checked."""
    faults = [{"message": 2, "fault": "it said what it cannot know"}] if faulty else []
    check = {"score": float(not faulty), "faults": faults, "left": left}
    return a_result(task, trial, checks={"user": check}, **changes)


def test_what_the_user_did_wrong_is_counted_for_each_agent_with_each_user() -> None:
    found = summarise(
        [
            with_user("A", user="v/kind"),
            with_user("A", user="v/rude", left=True, passed=False),
            with_user("B", user="v/rude", faulty=True, passed=False),
            with_user("C", user="v/rude", faulty=True),
            an_error("user", "D", user="v/rude"),
        ]
    )
    kind, rude = (one.simulated_user for one in found.by_agent)
    assert (kind.lost, kind.left, kind.left_share, kind.is_unreliable) == (0, 0, 0.0, False)
    assert (rude.lost, rude.lost_share, rude.checked, rude.left, rude.left_share) == (1, 0.25, 3, 1, 1 / 3)
    assert (rude.faulty, rude.faulty_failed, rude.is_unreliable) == (2, 1, True)


@pytest.mark.parametrize(("conversations", "is_unreliable"), [(50, False), (49, True)])
def test_a_user_that_leaves_more_than_two_percent_is_warned_of(
    conversations: int, is_unreliable: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    results = [with_user(f"T{at}", left=at == 0, user="v/rude") for at in range(conversations)]
    found = summarise([*results, *(with_user(f"T{at}") for at in range(200))])
    assert [one.simulated_user.is_unreliable for one in found.by_agent] == [False, is_unreliable]
    show_summary(found)
    shown = capsys.readouterr().out
    assert ("WARNING: v/rude left 2.0% of its conversations with vendor/strong early" in shown) is is_unreliable
    assert "lost to the user: not scored, because the user's text could not be used" in shown
    assert "user_left: the user left while" in shown


def usage(agent: float | None, user: float | None) -> dict[str, object]:
    return {
        "agent": {"input_tokens": 10, "output_tokens": 2, "cost_usd": agent},
        "user": {"input_tokens": 5, "output_tokens": 1, "cost_usd": user},
    }


def test_a_cost_is_known_where_that_of_every_result_is() -> None:
    results = [a_result("A", usage=usage(0.1, 0.01)), a_result("B", usage=usage(0.2, None))]
    spent = only(results).spent
    assert spent["agent"].cost_usd == pytest.approx(0.3)
    assert spent["agent"].results_with_cost == 2
    assert (spent["user"].cost_usd, spent["user"].results_with_cost) == (None, 1)
    assert (spent["agent"].input_tokens, spent["user"].output_tokens, spent["user"].results) == (20, 2, 2)
    assert only([*results, a_result("C")]).spent["agent"].cost_usd is None


def test_agents_and_users_are_never_counted_together() -> None:
    results = [
        a_result("A", agent="v/one"),
        a_result("A", agent="v/two", passed=False, checks_version="2"),
        an_error("provider", "B", agent="v/two"),
        a_result("A", agent="v/one", user="v/other"),
        a_result("A", agent=None, user=None, passed=False),
    ]
    found = summarise(results)
    assert found.checks_versions == ["1", "2"]
    assert {(one.agent, one.user): one.overall.rate for one in found.by_agent} == {
        ("unnamed", "unnamed"): 0.0,
        ("v/one", "offline/user"): 1.0,
        ("v/one", "v/other"): 1.0,
        ("v/two", "offline/user"): 0.0,
    }
    assert found.by_agent[3].not_scored_share == 0.5
    # One trial each: nobody has a second one, so there is no pass^2.
    assert {tuple(one.overall.pass_hat_k) for one in found.by_agent} == {(1,)}


def test_another_agent_beside_it_changes_no_figure_of_an_agent() -> None:
    results = many_results()
    mine = [one for one in results if one.agent == "v/1"]
    assert only(mine) in summarise(results).by_agent


def test_the_terminal_shows_each_agent_by_itself_and_all_of_them_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    show_summary(
        summarise(
            [
                *(a_result(task, agent="v/one", kind=kind) for task, kind in (("A", "do"), ("B", "refuse"))),
                *(a_result(task, agent="v/two", kind="do", passed=False) for task in "ABC"),
            ]
        )
    )
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[:2] == [
        "v/one with offline/user: 2 of 2 scored passed, pass@1 100.0% [100.0, 100.0]; none owed",
        "v/two with offline/user: 0 of 3 scored passed, pass@1 0.0% [0.0, 0.0]; none owed",
    ]
    at = lines.index("agent do refuse")
    assert lines[at + 1 : at + 3] == [
        "v/one with offline/user 100.0% of 1 100.0% of 1",
        "v/two with offline/user 0.0% of 3 -",
    ]
    assert not any(line.startswith(("Agents by form", "Agents by level")) for line in lines), "they do not differ"
    # 2 of 5 is the rate of nobody.
    assert not any("40.0%" in line for line in lines)


def test_unknown_tasks_take_no_memory() -> None:
    summary = SummaryBuilder()
    for number in range(50):
        summary.add(an_error("task", f"Nowhere-{number}"))
    assert summary.record().by_agent[0].overall.tasks == 0


def test_hostile_names_are_shown_as_they_are_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    show_summary(
        summarise(
            [
                a_result("A", agent="evil\x1b[31m\nagent", world="[bold]World[/bold]"),
                a_result("B", agent="evil\x1b[31m\nagent"),
                a_result("B", agent="other", passed=False, failure=a_failure("loop"), floor_nothing=0.125),
            ]
        )
    )
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "evil\\x1b[31m agent" in shown
    assert "[bold]World[/bold]" in shown
    assert "loop" in shown
    assert "12.5%/-" in shown


def test_rich_reads_no_markup_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    results = [a_result("A", world="[red]W[/red]"), a_result("B", world=":smile:", passed=False)]
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    show_summary(summarise(results))
    shown = capsys.readouterr().out
    assert "[red]W[/red]" in shown
    assert ":smile:" in shown


def test_the_terminal_shows_agents_by_form_and_level_where_tasks_differ(capsys: pytest.CaptureFixture[str]) -> None:
    hard: dict[str, Any] = {"forms": ["choice", "errands"], "level": 4}
    results = [a_result(task, agent=agent, **of) for agent in ("v/1", "v/2") for task, of in (("A", hard), ("B", {}))]
    show_summary(summarise(results))
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[lines.index("Agents by form: rate") + 1] == "agent choice errands unknown"
    assert lines[lines.index("Agents by level: rate") + 1] == "agent 4 unknown"


def test_a_summary_made_before_tasks_had_forms_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    old = summarise([a_result("A", agent=agent) for agent in ("v/1", "v/2")]).model_dump(mode="json")
    for agent in old["by_agent"]:
        del agent["by"]["form"], agent["by"]["level"]
    show_summary(EvaluationSummary.model_validate(old))
    assert "Agents by kind: rate" in capsys.readouterr().out


def test_only_what_a_rollout_run_repeats_is_owed(capsys: pytest.CaptureFixture[str]) -> None:
    show_summary(
        summarise(
            [
                a_result("A", agent="v/one"),
                *(an_error(kind, f"B-{kind}", agent="v/one") for kind in ("trajectory", "provider", "task")),
            ]
        )
    )
    assert "; 1 owed: 1 provider; 2 not scored: 1 task, 1 trajectory\n" in capsys.readouterr().out
