"""Whole conversations through the official SDKs, with real servers on the loopback that do what a script says."""

import asyncio
import json
import time

import pytest

from rollout.agent import Agent
from rollout.conversation import RolloutLimits
from rollout.react.agent import ReactAgent
from rollout.task import RolloutTask
from rollout.trajectory import RolloutSettings, Trajectory
from skillweave.base.errors import AccessError
from skillweave.llm.models import connect
from skillweave.schema.trajectory import TrajectoryRecord
from tests.llm.scripted import CLOSED, GARBAGE, HANG, RESET, ScriptedServer, fault, soon
from tests.rollout.talks import a_question, check_history, said_by
from tests.rollout.visits import BOOK, a_visit
from tests.rollout.wires import WIRES, Wire

EVERY = pytest.mark.parametrize("wire", WIRES, ids=str)
PASSING = {"500": soon(fault(500)), "503": soon(fault(503)), "reset": RESET, "closed": CLOSED, "cut": None}
STAYING = {**PASSING, "429": soon(fault(429)), "garbage": GARBAGE, "hang": HANG}
SUM = ("add", '{"a": 2, "b": 3}', "c1")


def conversed(
    wire: Wire, server: ScriptedServer, *, task: RolloutTask | None = None, react: bool = False, **spec: object
) -> TrajectoryRecord:
    """A conversation with a server, to its score. What it leaves behind is checked."""

    async def hold() -> TrajectoryRecord:
        backend = connect(wire.spec(server.url, **spec))
        setting = RolloutSettings(backend, agent_class=ReactAgent if react else Agent)
        trajectory = Trajectory(task or a_question(), 0, 1, setting)
        try:
            await trajectory.initialize_trajectory()
            await trajectory.generate_trajectory()
            await trajectory.evaluate_trajectory()
        finally:
            await backend.close()
        assert trajectory.result is not None
        return trajectory.result

    record = asyncio.run(hold())
    check_history(record.messages)
    assert TrajectoryRecord.model_validate_json(record.model_dump_json()) == record
    return record


def ended(record: TrajectoryRecord) -> tuple[str, str | None, bool | None]:
    kind = None if record.error is None else record.error.kind
    return record.stop_reason, kind, None if record.score is None else record.score.passed


RIGHT = ("agent_stop", None, True)
LOST = ("error", "provider", None)
FAILED = ("error", "agent", False)


@EVERY
def test_parallel_calls_have_a_result_each_in_their_order(wire: Wire) -> None:
    calls = wire.calls(("add", '{"a": 10, "b": 20}', "x"), SUM, ("add", '{"a": 0, "b": 0}', "y"), text="One moment.")
    with ScriptedServer(calls, wire.says("5")) as server:
        record = conversed(wire, server)
        assert wire.results(server.heard[1]) == [("x", "30"), ("c1", "5"), ("y", "0")]
    assert ended(record) == RIGHT
    assert said_by(record, "assistant")[0].content == "One moment."
    assert record.agent.model == ("m-2026" if wire.provider == "openai" else "claude-2026")
    assert (record.usage.agent.input_tokens, record.usage.agent.output_tokens) == (14, 6)


@EVERY
def test_a_visit_to_a_world_is_held_and_scored(wire: Wire) -> None:
    with ScriptedServer(wire.calls((*BOOK, "c1")), wire.says("It is booked.")) as server:
        record = conversed(wire, server, task=a_visit("Thank you. ###STOP###"))
        tools = server.heard[0].body["tools"]
    assert ended(record) == ("user_stop", None, True)
    assert len(tools) == len(record.tools)


@EVERY
def test_calls_as_text_need_no_tools(wire: Wire) -> None:
    call = 'Thought: I add.\nAction: add\nAction Input: {"a": 2, "b": 3}\nObservation: 6'
    with ScriptedServer(wire.says(call), wire.says("Answer: 5")) as server:
        record = conversed(wire, server, react=True)
        assert "tools" not in server.heard[0].body
    assert ended(record) == RIGHT
    assert said_by(record, "tool")[0].content == "5"


@EVERY
def test_a_rate_limit_is_waited_for_as_long_as_it_says(wire: Wire) -> None:
    with ScriptedServer(fault(429, "slow down", retry_after=0.4), wire.says("5")) as server:
        began = time.monotonic()
        assert ended(conversed(wire, server)) == RIGHT
        assert time.monotonic() - began >= 0.4
        assert len(server.heard) == 2


@EVERY
@pytest.mark.parametrize("trouble", PASSING)
def test_trouble_that_passes_leaves_no_trace(wire: Wire, trouble: str) -> None:
    act = PASSING[trouble] or wire.cut()
    with ScriptedServer(wire.calls(SUM), act, wire.says("5")) as server:
        record = conversed(wire, server)
        assert len(server.heard) == 3
    assert ended(record) == RIGHT


@EVERY
@pytest.mark.parametrize("trouble", STAYING)
def test_trouble_that_stays_is_the_providers_and_owed(wire: Wire, trouble: str) -> None:
    act = STAYING[trouble] or wire.cut()
    with ScriptedServer(wire.calls(SUM), act) as server:
        record = conversed(wire, server, max_retries=0, timeout=1.5 if trouble == "hang" else 20.0)
    assert ended(record) == LOST
    assert record.owed
    assert len(said_by(record, "tool")) == 1


@EVERY
def test_a_wrong_key_stops_the_run_at_once(wire: Wire) -> None:
    with (
        ScriptedServer(wire.calls(SUM), fault(401, "who are you?")) as server,
        pytest.raises(AccessError, match="check the key"),
    ):
        conversed(wire, server)
    assert len(server.heard) == 2


@EVERY
@pytest.mark.parametrize("arguments", ['{"a": 2, "b"', "{'a': 2, 'b': 3}", "[2, 3]", '{"a": 2, "b": 3}}'])
def test_malformed_arguments_are_told_back_and_it_goes_on(wire: Wire, arguments: str) -> None:
    with ScriptedServer(wire.calls(("add", arguments, "c0")), wire.calls(SUM), wire.says("5")) as server:
        record = conversed(wire, server)
        (_, complaint), _ = wire.results(server.heard[2])
    assert ended(record) == RIGHT
    assert json.loads(complaint)["error"]["code"] == "invalid_arguments"
    assert record.metadata["malformed_calls"] == 1


@EVERY
def test_three_malformed_replies_in_a_row_are_the_agents_error(wire: Wire) -> None:
    with ScriptedServer(wire.calls(("add", '{"a"', None))) as server:
        record = conversed(wire, server)
        assert len(server.heard) == 3
    assert ended(record) == FAILED


@EVERY
def test_unknown_tools_are_told_back(wire: Wire) -> None:
    with ScriptedServer(wire.calls(("conjure", "{}", "c0")), wire.says("5")) as server:
        record = conversed(wire, server)
        [(_, complaint)] = wire.results(server.heard[1])
    assert ended(record) == RIGHT
    assert json.loads(complaint)["error"]["code"] == "unknown_tool"


@EVERY
def test_a_refusal_is_the_agents(wire: Wire) -> None:
    with ScriptedServer(wire.calls(SUM), wire.refuses("I will not.")) as server:
        record = conversed(wire, server)
    assert ended(record) == FAILED
    assert "I will not." in (record.error.message if record.error else "")


@EVERY
def test_a_conversation_that_no_longer_fits_ends_there(wire: Wire) -> None:
    with ScriptedServer(wire.calls(SUM), wire.overflows()) as server:
        record = conversed(wire, server)
        assert len(server.heard) == 2
    assert ended(record) == ("context_window", None, False)
    assert len(said_by(record, "tool")) == 1


@EVERY
def test_empty_replies_are_asked_for_again_and_then_the_agents_error(wire: Wire) -> None:
    with ScriptedServer(wire.says(""), wire.says(""), wire.says("5")) as server:
        assert ended(conversed(wire, server)) == RIGHT
    with ScriptedServer(wire.says("")) as server:
        assert ended(conversed(wire, server)) == FAILED
        assert len(server.heard) == 3


@EVERY
@pytest.mark.parametrize("id", ["same", None, "x" * 100])
def test_ids_of_calls_are_unique_whatever_was_sent(wire: Wire, id: str | None) -> None:
    twice = wire.calls(("add", '{"a": 1, "b": 1}', id), ("add", '{"a": 2, "b": 2}', id))
    with ScriptedServer(twice, twice, wire.says("5")) as server:
        record = conversed(wire, server)
        results = wire.results(server.heard[2])
    assert ended(record) == RIGHT
    assert len({id for id, _ in results}) == 4
    assert [content for _, content in results] == ["2", "4", "2", "4"]


@EVERY
def test_a_server_that_never_answers_costs_the_conversation_its_time(wire: Wire) -> None:
    async def hold(server: ScriptedServer) -> TrajectoryRecord | None:
        backend = connect(wire.spec(server.url))
        trajectory = Trajectory(a_question(), 0, 1, RolloutSettings(backend, limits=RolloutLimits(timeout_s=0.3)))
        await trajectory.initialize_trajectory()
        await trajectory.generate_trajectory()
        await backend.close()
        return trajectory.result

    with ScriptedServer(HANG) as server:
        record = asyncio.run(hold(server))
    assert record is not None
    assert (record.stop_reason, record.owed) == ("timeout", True)
