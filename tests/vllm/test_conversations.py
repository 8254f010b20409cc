"""Whole conversations with a real vLLM server.

Its model has random weights: its words are noise, its calls are held to their schemas while they are decoded.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import pytest
from pydantic import Field

from rollout.agent import Agent, AgentSettings
from rollout.conversation import RolloutLimits
from rollout.dispatcher import PipelinedDispatcher, Width
from rollout.react.agent import ReactAgent
from rollout.react.task import GeneralReactTask
from rollout.task import RolloutTask
from rollout.trajectory import AgentClass, RolloutSettings, Trajectory
from skillweave.llm.backends.backend import Sampling
from skillweave.llm.backends.vllm import VllmServer
from skillweave.llm.models import AuthorSpec, connect
from skillweave.schema.trajectory import TrajectoryRecord
from tests.rollout.talks import check_history, said_by
from tests.rollout.visits import a_booking, a_visit
from tests.vllm.conftest import LONGEST

pytestmark = pytest.mark.vllm
Digit = Annotated[int, Field(ge=0, le=9)]
MOST_EMPTY = 2
"""Empty replies of one conversation; one reply in some hundreds is."""


def paint(room: Literal["hall", "attic"], coats: Digit, primer: bool) -> str:
    """Paint a room."""
    return f"{room} painted {coats} times"


def a_painting(id: str) -> GeneralReactTask:
    return GeneralReactTask(id, "Paint the hall twice.", lambda answer: True, tools=[paint])


def held(
    server: VllmServer,
    tasks: Sequence[RolloutTask],
    *,
    agent: AgentSettings,
    agent_class: AgentClass = Agent,
    limits: RolloutLimits | None = None,
    stream: bool = False,
) -> list[TrajectoryRecord]:
    """Conversations, eight at once."""
    found: list[TrajectoryRecord] = []

    def finished(trajectory: Trajectory) -> None:
        assert trajectory.result is not None
        found.append(trajectory.result)

    async def go() -> None:
        author = AuthorSpec("vllm", server.model, base_url=server.base_url, timeout=300.0, record_tokens=True)
        backend = connect(replace(author, stream=stream))
        setting = RolloutSettings(backend, agent=agent, agent_class=agent_class, limits=limits or RolloutLimits())
        try:
            batch = (Trajectory(task, 0, 1, setting) for task in tasks)
            await PipelinedDispatcher(Width(8, 8, 8)).dispatch(batch, finished)
        finally:
            await backend.close()

    asyncio.run(go())
    for record in found:
        check_history(record.messages)
    return found


def sampled(record: TrajectoryRecord) -> None:
    """Each message has its tokens, with one probability each, and all tokens together are those paid for."""
    prompts = answers = 0
    for message in said_by(record, "assistant"):
        extra = message.model_extra or {}
        assert len(extra["token_ids"]) == len(extra["logprobs"]) > 0
        assert all(logprob <= 0 for logprob in extra["logprobs"])
        assert all(0 <= token < LONGEST for token in [*extra["token_ids"], *extra["prompt_token_ids"]])
        prompts += len(extra["prompt_token_ids"])
        answers += len(extra["token_ids"])
    paid = record.usage.agent
    # A reply that ended at once was one token, paid for, and is no message.
    empty = paid.output_tokens - answers
    assert 0 <= empty <= MOST_EMPTY
    assert prompts == paid.input_tokens if empty == 0 else prompts < paid.input_tokens


@pytest.mark.parametrize("stream", [False, True])
def test_calls_keep_to_their_schemas_and_tokens_are_kept(server: VllmServer, stream: bool) -> None:
    settings = AgentSettings(sampling=Sampling(temperature=1.0, max_tokens=1000), calls_first=3)
    records = held(server, [a_painting(f"t{n}") for n in range(6)], agent=settings, stream=stream)
    made = [call for record in records for said in said_by(record, "assistant") for call in said.tool_calls or ()]
    # One that is cut off by max_tokens in the middle of its arguments is no whole one.
    whole = [call for call in made if str(call.function.arguments).endswith("}")]
    assert len(whole) >= 6
    for call in whole:
        arguments = json.loads(str(call.function.arguments))
        assert arguments["room"] in ("hall", "attic")
        assert arguments["coats"] in range(10)
        assert arguments["primer"] in (True, False)
    painted = [said for record in records for said in said_by(record, "tool") if "painted" in (said.content or "")]
    assert len(painted) == len(whole)
    assert {record.stop_reason for record in records} == {"agent_stop"}
    for record in records:
        sampled(record)


def test_a_visit_to_a_world_goes_to_its_end(server: VllmServer) -> None:
    settings = AgentSettings(sampling=Sampling(temperature=1.0, max_tokens=300), calls_first=1)
    visits = [a_visit("Go on.", "Bye. ###STOP###", record=a_booking(f"SmallClinic-{n}")) for n in range(4)]
    records = held(server, visits, agent=settings, limits=RolloutLimits(max_calls=5))
    assert {record.stop_reason for record in records} <= {"user_stop", "transfer", "max_calls"}
    for record in records:
        sampled(record)
        assert record.error is None
        assert record.score is not None
        assert record.score.passed is False


def test_calls_as_text_need_nothing_of_the_server(server: VllmServer) -> None:
    settings = AgentSettings(sampling=Sampling(temperature=1.0, max_tokens=50))
    [record] = held(server, [a_painting("t")], agent=settings, agent_class=ReactAgent)
    assert (record.stop_reason, len(record.messages)) == ("agent_stop", 3)
    sampled(record)


def test_a_conversation_longer_than_the_window_ends_there(server: VllmServer) -> None:
    task = GeneralReactTask("long", "noise " * LONGEST, "5")
    [record] = held(server, [task], agent=AgentSettings(sampling=Sampling(max_tokens=10)))
    assert (record.stop_reason, record.error) == ("context_window", None)


def test_a_seed_and_no_temperature_give_the_same_words_twice(server: VllmServer) -> None:
    settings = AgentSettings(sampling=Sampling(temperature=0.0, max_tokens=30, seed=1))
    first, second = (held(server, [a_painting("t")], agent=settings)[0] for _ in range(2))
    assert first.messages == second.messages
    assert first.agent.model == second.agent.model == server.model
    assert first.agent.sampling == {"max_tokens": 30, "seed": 1, "temperature": 0.0}
