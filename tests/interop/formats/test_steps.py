"""Golden states: whoever follows the best next calls reaches the end, in as many calls as the cost to go says."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from evaluator.checks.state import check_state
from evaluator.replay.golden import golden_execution_of
from interop.export.format import TaskExample
from interop.export.formats.steps import FORMAT, schema
from interop.export.golden_states import GoldenState, golden_states
from skillweave.schema.contract import SESSION_TOOLS, Call, CallResult
from skillweave.schema.task import Task
from skillweave.world.replay import rebound, spoiled_calls
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from tests.interop.formats.examples import task_examples

NOT_MADE = CallResult(call=Call(tool=""), ok=False)


def one_of_each(outputs: Path) -> Iterator[TaskExample]:
    """A task of each kind, in each form, with and without sign-in and planted faults.

    They are short ones, whose calls can be made in every order.
    """
    seen = set()
    for example in sorted(task_examples(outputs), key=lambda one: len(one.task.golden)):
        task = example.task
        for sort in (*((task.kind, form.name) for form in task.forms), (task.kind, task.login, task.noise is None)):
            if sort not in seen:
                seen.add(sort)
                yield example
                break


def reaches_the_end(world: World, task: Task, state: GoldenState, first: Call) -> bool:
    """Whether a next call, and then other golden calls, do what the task demands, in `cost_to_go` calls."""
    with world.session(task) as session:
        results: list[CallResult] = []
        for call in task.golden[: state.step]:
            results.append(session.call(call.tool, rebound(call, results)))
        assert [result.call for result in results] == [result.call for result in state.made]
        results += [NOT_MADE] * (len(task.golden) - state.step)
        rest = range(state.step, len(task.golden))
        return any(
            finishes(world, task, session, results, place, rest, state.cost_to_go)
            for place in rest
            if task.golden[place].tool == first.tool and bound(task, place, results) == first.arguments
        )


def bound(task: Task, place: int, results: Sequence[CallResult]) -> object:
    try:
        return rebound(task.golden[place], results)
    except LookupError:
        return None


def finishes(
    world: World,
    task: Task,
    session: ContractSession,
    results: list[CallResult],
    place: int,
    rest: Sequence[int],
    calls: int,
) -> bool:
    """Whether the call, and `calls - 1` of the others in some order, end as the criteria demand."""
    call, mark = task.golden[place], session.mark()
    if bound(task, place, results) is None:
        return False
    results[place] = session.call(call.tool, rebound(call, results))
    is_fine = (results[place].ok or call.fault is not None) and not results[place].violations
    others = [other for other in rest if other != place]
    if is_fine and calls == 1:
        end = check_state(task.criteria, session.canonical(), world.comparison)
        is_fine = end.score == 1 and (session.transfer is not None) == (task.golden[-1].tool == "transfer_to_human")
    elif is_fine:
        is_fine = any(finishes(world, task, session, results, other, others, calls - 1) for other in others)
    results[place] = NOT_MADE
    session.forget(mark)
    return is_fine


@pytest.mark.parametrize("fixture", ["small", "joined"])
def test_every_best_call_leads_to_the_end_at_the_cost_that_is_told(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    several = 0
    for example in one_of_each(request.getfixturevalue(fixture)):
        world, task = example.world, example.task
        states = golden_states(world, task)
        assert [state.step for state in states] == [*range(len(task.golden) + 1)]
        for state in states:
            assert bool(state.optimal) == (state.cost_to_go > 0), (task.id, state.step)
            several += len(state.optimal) > 1
            for call in state.optimal:
                assert reaches_the_end(world, task, state, call), (task.id, state.step, call)
    assert several


def test_the_cost_falls_by_one_with_each_golden_call_that_is_among_the_best_and_with_no_other(small: Path) -> None:
    needless = 0
    for example in one_of_each(small):
        task = example.task
        states = golden_states(example.world, task)
        pruned = golden_execution_of(example.world, task).pruned - spoiled_calls(task.golden)
        for state, after, call in zip(states, states[1:], task.golden, strict=False):
            made = Call(tool=call.tool, arguments=after.made[-1].call.arguments)
            assert after.cost_to_go == state.cost_to_go - (made in state.optimal), (task.id, state.step)
            needless += state.step in pruned
            assert state.step not in pruned or made not in state.optimal or task.noise is not None
        assert states[0].digest == task.initial_state.digest
    assert needless


def test_declining_and_handing_over_wait_for_what_comes_before_them(small: Path) -> None:
    found = 0
    for example in one_of_each(small):
        golden = example.task.golden
        for state in golden_states(example.world, example.task):
            if any(call.tool in SESSION_TOOLS for call in state.optimal):
                found += 1
                assert golden[state.step].tool in SESSION_TOOLS or state.cost_to_go == 1
    assert found


def test_rows_hold_the_conversation_so_far_with_arguments_as_text(small: Path) -> None:
    example = next(iter(task_examples(small)))
    table = pa.Table.from_pylist([*FORMAT.rows(example)], schema=schema())
    rows = table.to_pylist()
    assert [row["step"] for row in rows] == [*range(len(example.task.golden) + 1)]
    assert [row["done"] for row in rows] == [row["cost_to_go"] == 0 for row in rows]
    for row in rows:
        calls, results = row["messages"][2::2], row["messages"][3::2]
        assert [message["role"] for message in row["messages"][:2]] == ["system", "user"]
        assert [call["tool_calls"][0]["id"] for call in calls] == [result["tool_call_id"] for result in results]
        assert [call["tool_calls"][0]["function"]["name"] for call in calls] == [
            call.tool for call in example.task.golden[: row["step"]]
        ]
        for call in row["optimal"]:
            assert isinstance(json.loads(call["arguments"]), dict)
