import asyncio
import json
from collections.abc import Mapping, Sequence

import pytest

from rollout.agent import Agent, AgentSettings, AgentStep
from rollout.conversation import RolloutLimits
from rollout.react.task import GeneralReactTask, ReactRuntime
from rollout.react.tools import FunctionTool
from rollout.task import Answer, RolloutError, RolloutOutcome, Runtime
from rollout.trajectory import RolloutSettings, Trajectory
from skillweave.base.errors import BudgetError, ProviderError, WorldError
from skillweave.llm.backends.backend import Reply
from skillweave.schema.record import Json
from skillweave.schema.trajectory import ErrorKind, Message, RolloutScore, StopReason, TrajectoryRecord
from tests.rollout.talks import Said, Script, a_question, calling, check_history, held, said_by, talk
from tests.rollout.visits import BOOK, a_visit

SUM = calling(("add", '{"a": 2, "b": 3}'))
BROKEN = calling(("add", '{"a": 2, '))


def kind_of(record: TrajectoryRecord) -> ErrorKind | None:
    return record.error.kind if record.error else None


def test_a_visit_goes_from_its_opening_to_its_score() -> None:
    record = talk(calling(BOOK, text="One moment."), "It is booked.", task=a_visit("Thank you. ###STOP###"))
    assert (record.id, record.world, record.stop_reason, record.error) == (
        "SmallClinic-1#0",
        "SmallClinic",
        "user_stop",
        None,
    )
    assert record.score is not None
    assert record.score.passed
    assert [message.role for message in record.messages] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert (record.metadata["total_turns"], record.metadata["tool_call_count"]) == (1, 1)
    check_history(record.messages)


def test_a_right_write_and_then_a_wrong_one_fail() -> None:
    wrong = calling(("cancel_appointment", '{"appointment_id": "APT-0001"}'))
    record = talk(calling(BOOK), wrong, "It is booked.", task=a_visit())
    assert record.score is not None
    assert record.score.passed is False


def test_a_transfer_ends_it() -> None:
    transfer = calling(("transfer_to_human", '{"reason": "user_request", "summary": "s"}'), BOOK)
    record = talk(transfer, task=a_visit())
    assert record.stop_reason == "transfer"
    assert json.loads(said_by(record, "tool")[1].content or "")["error"]["code"] == "session_ended"
    check_history(record.messages)


@pytest.mark.parametrize(
    ("said", "limits", "reason"),
    [
        ([SUM], RolloutLimits(max_calls=3), "max_calls"),
        ([calling(*[("add", "{}")] * 5)], RolloutLimits(max_calls=3), "max_calls"),
        ([calling(("nothing", "{}"))], RolloutLimits(max_calls=4), "max_calls"),
    ],
)
def test_calls_are_limited_and_each_recorded_one_was_made(
    said: list[Said], limits: RolloutLimits, reason: StopReason
) -> None:
    record = talk(*said, limits=limits)
    assert (record.stop_reason, record.error) == (reason, None)
    assert len(said_by(record, "tool")) == record.metadata["tool_call_count"]
    assert "too_many" not in record.model_dump_json()
    check_history(record.messages)


def test_turns_are_limited() -> None:
    record = talk("Hm.", task=a_visit("Go on."), limits=RolloutLimits(max_turns=3))
    assert (record.stop_reason, record.metadata["total_turns"]) == ("max_turns", 3)


@pytest.mark.parametrize("empty", [Reply(text=""), Reply(text=" \n"), Reply(text="", stop="length"), BROKEN])
def test_three_unreadable_replies_in_a_row_are_the_agents_error(empty: Reply) -> None:
    record = talk(empty)
    assert (record.stop_reason, kind_of(record)) == ("error", "agent")
    assert "3 replies in a row" in (record.error.message if record.error else "")
    assert record.score is not None
    assert record.score.passed is False
    check_history(record.messages)


def test_two_of_them_are_not() -> None:
    record = talk(BROKEN, BROKEN, SUM, BROKEN, Reply(text=""), "5")
    assert (record.stop_reason, record.error) == ("agent_stop", None)
    assert (record.metadata["malformed_calls"], record.metadata["tool_error_count"]) == (3, 3)
    assert "not valid JSON" in (said_by(record, "tool")[0].content or "")
    check_history(record.messages)


def test_a_readable_call_beside_a_malformed_one_is_made() -> None:
    record = talk(calling(("add", '{"a": 2, "b": 3}'), ("add", "{")), "5")
    good, bad = said_by(record, "tool")
    assert good.content == "5"
    assert "invalid_arguments" in (bad.content or "")
    assert record.error is None


@pytest.mark.parametrize(
    ("reply", "reason", "kind"),
    [
        (Reply(text="", stop="content_filter", refusal="I will not."), "error", "agent"),
        (Reply(text="I", stop="content_filter"), "error", "agent"),
        (Reply(text="I was about to", stop="context_window"), "context_window", None),
        (Reply(text="", stop="context_window", tool_calls=SUM.tool_calls), "context_window", None),
    ],
)
def test_refusals_and_full_windows_end_it_and_are_scored(
    reply: Reply, reason: StopReason, kind: ErrorKind | None
) -> None:
    record = talk(SUM, reply)
    assert (record.stop_reason, kind_of(record)) == (reason, kind)
    assert record.score is not None
    assert record.score.passed is False
    check_history(record.messages)


@pytest.mark.parametrize("field", ["refusal", "withheld"])
def test_the_words_of_a_refusal_are_in_the_error(field: str) -> None:
    record = talk(Reply(text="", stop="content_filter", **{field: "Not this."}))  # type: ignore[arg-type]
    assert record.error is not None
    assert "Not this." in record.error.message


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ProviderError("gone"), "provider"),
        (WorldError("cracked"), "world"),
        (RolloutError("user", "invented"), "user"),
        (RolloutError("infrastructure", "crashed"), "infrastructure"),
        (ValueError("a bug \udc00"), "infrastructure"),
        (TimeoutError("of a socket"), "infrastructure"),
    ],
)
def test_errors_are_whose_they_are_and_are_not_scored(error: Exception, kind: ErrorKind) -> None:
    record = talk(SUM, error)
    assert (record.stop_reason, kind_of(record), record.score) == ("error", kind, None)
    assert record.model_dump_json()


async def hang() -> None:
    """Wait for ever."""
    await asyncio.Event().wait()


def test_a_tool_that_hangs_is_a_timeout_and_owed() -> None:
    record = talk(calling(("hang", "{}")), task=a_question(tools=[hang]), limits=RolloutLimits(timeout_s=0.1))
    assert (record.stop_reason, kind_of(record), record.score) == ("timeout", "infrastructure", None)
    assert record.owed


def test_a_tool_with_a_limit_of_its_own_costs_one_call() -> None:
    task = GeneralReactTask("q", "?", "5", tools=[FunctionTool(hang, timeout_s=0.05)])
    record = talk(calling(("hang", "{}")), "5", task=task)
    assert (record.stop_reason, record.metadata["tool_error_count"]) == ("agent_stop", 1)


class Frail(GeneralReactTask):
    """A task that breaks down where it is told to, a number of times."""

    def __init__(self, where: str, times: int, how: Exception | None = None) -> None:
        super().__init__("frail", "?", "5")
        self.where = where
        self.times = times
        self.how = how
        self.closed = 0

    async def breaks(self, where: str) -> None:
        if where == self.where and self.times > 0:
            self.times -= 1
            if self.how is None:
                await hang()
            else:
                raise self.how

    async def initialize_runtime(self) -> ReactRuntime:
        await self.breaks("initialize")
        return FrailRuntime(self)

    async def complete_runtime(self, runtime: Runtime, messages: Sequence[Message]) -> dict[str, Json]:
        await self.breaks("complete")
        return {"kept": True}

    async def evaluate_result(self, outcome: RolloutOutcome) -> RolloutScore:
        await self.breaks("evaluate")
        return RolloutScore(passed=True, reward=1.0, checks=outcome.result)

    @property
    def notes(self) -> dict[str, Json]:
        """Broken where it is told to be."""
        if self.where == "notes":
            raise ValueError("a bug")
        return {}


class FrailRuntime(ReactRuntime):
    def __init__(self, task: Frail) -> None:
        super().__init__([], None)
        self.task = task

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Answer:
        await self.task.breaks("call")
        return Answer("1")

    async def close(self) -> None:
        self.task.closed += 1
        await self.task.breaks("close")


CRASH = RolloutError("infrastructure", "the server crashed")


@pytest.mark.parametrize(
    ("where", "how"),
    [
        *((where, how) for where in ("initialize", "call", "complete") for how in (CRASH, ValueError("a bug"))),
        ("initialize", None),
        ("complete", None),
    ],
)
def test_a_runtime_that_breaks_down_costs_a_retry(where: str, how: Exception | None) -> None:
    task = Frail(where, 1, how)
    record = talk(calling(("f", "{}")), calling(("f", "{}")), "5", task=task, limits=RolloutLimits(timeout_s=0.2))
    assert (record.stop_reason, record.error) == ("agent_stop", None)
    assert record.score == RolloutScore(passed=True, reward=1.0, checks={"kept": True})
    assert task.closed == (1 if where == "initialize" else 2)


@pytest.mark.parametrize("where", ["initialize", "call", "complete", "evaluate"])
def test_and_then_it_is_an_infrastructure_error(where: str) -> None:
    record = talk(calling(("f", "{}")), calling(("f", "{}")), "5", task=Frail(where, 9, CRASH))
    assert (record.stop_reason, kind_of(record), record.score) == ("error", "infrastructure", None)
    assert record.owed


@pytest.mark.parametrize("how", [ValueError("a bug"), None])
def test_a_runtime_that_cannot_be_closed_takes_nothing_away(how: Exception | None) -> None:
    record = talk("5", task=Frail("close", 9, how), limits=RolloutLimits(timeout_s=0.1))
    assert (record.stop_reason, record.error) == ("agent_stop", None)


def test_a_task_that_cannot_say_what_it_is_costs_itself_only() -> None:
    record = talk("5", task=Frail("notes", 0))
    assert (record.stop_reason, kind_of(record)) == ("error", "infrastructure")
    assert "a bug" in (record.error.message if record.error else "")


class Clumsy(Agent):
    async def step(self) -> AgentStep:
        """Broken."""
        raise KeyError("a bug")


def test_an_agent_with_a_bug_is_an_infrastructure_error() -> None:
    record = held(a_question(), RolloutSettings(backend=Script("5").backend, agent_class=Clumsy))
    assert kind_of(record) == "infrastructure"


def test_an_instruction_that_cannot_be_made_closes_what_was_opened() -> None:
    class Silent(Frail):
        def get_instruction(self, runtime: Runtime) -> list[Message]:
            raise ValueError("no words")

    task = Silent("nowhere", 0)
    record = talk("5", task=task)
    assert kind_of(record) == "infrastructure"
    assert task.closed == 2


def test_a_spent_budget_leaves_no_record_and_nothing_open() -> None:
    task = Frail("nowhere", 0)
    backend = Script(calling(("f", "{}")), BudgetError("spent")).backend
    trajectory = Trajectory(task, 0, 1, RolloutSettings(backend=backend))

    async def go() -> None:
        await trajectory.initialize_trajectory()
        await trajectory.generate_trajectory()

    with pytest.raises(BudgetError):
        asyncio.run(go())
    assert trajectory.result is None
    assert task.closed == 1


def test_settings_reach_the_agent() -> None:
    script = Script("5")
    held(a_question(), RolloutSettings(backend=script.backend, agent=AgentSettings(calls_first=1)))
    assert script.heard[0].tool_choice == "required"
