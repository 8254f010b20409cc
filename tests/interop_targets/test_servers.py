"""OpenEnv's own clients, of both lines, play recorded episodes against a server as users start it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interop.in_process import Environment
from skillweave.schema.trajectory import Message
from skillweave.world.dataset import Dataset
from tests.interop.driver import Heard, converse, scripted
from tests.interop.serve.servers import serving, varied
from tests.interop_targets.environments import OPENENV, OPENENV_CORE, TargetEnvironment
from tests.interop_targets.target import command_in, in_target

pytestmark = pytest.mark.interop
TASKS = 50
LINES = pytest.mark.parametrize("line", [OPENENV, OPENENV_CORE], ids=lambda line: line.name)


def calls_of(message: Message) -> list[tuple[str, Any]]:
    """An agent's message as calls of OpenEnv."""
    calls = [(call.function.name, call.function.arguments) for call in message.tool_calls or ()]
    named = [(name, json.loads(given) if isinstance(given, str) else given) for name, given in calls]
    return named or [("reply_to_user", {"text": message.content or ""})]


def recorded(environment: Environment, task_id: str, agent: str) -> dict[str, Any]:
    """What a scripted agent calls in a task."""
    calls: list[tuple[str, Any]] = []

    def take(message: Message) -> Heard:
        calls.extend(calls_of(message))
        step = environment.step(message)
        return Heard(step.observation, step.reward, step.done)

    begun = environment.reset(task_id)
    converse(scripted(agent, environment.factory.dataset), task_id, begun.messages, begun.tools, take)
    return {"task_id": task_id, "calls": calls}


@pytest.fixture(scope="module")
def server(small: Path) -> Iterator[str]:
    with serving("openenv", small) as process:
        yield process.url


@pytest.fixture(scope="module", params=["oracle", "nothing"])
def plans(small: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """Recorded episodes of tasks of all kinds, and the reward of each."""
    file = tmp_path_factory.mktemp("plans") / f"{request.param}.json"
    with Environment(small) as environment:
        ids = varied(Dataset(small), TASKS)
        file.write_text(json.dumps([recorded(environment, id, request.param) for id in ids]), encoding="utf-8")
    return file, float(request.param == "oracle")


@LINES
def test_openenv_s_clients_play_recorded_episodes(
    server: str, plans: tuple[Path, float], line: TargetEnvironment
) -> None:
    file, reward = plans
    played = in_target(line, "openenv_client.py", server, file)
    assert len(played["generic"]) == len(json.loads(file.read_text("utf-8")))
    assert [game for game in played["generic"] if (game["reward"], game["done"]) != (reward, True)] == []
    assert (played["tools"]["reward"], played["tools"]["done"]) == (reward, True)
    assert played["tools"]["listed"][-1] == "reply_to_user"


@LINES
def test_openenv_validates_the_server(server: str, line: TargetEnvironment) -> None:
    report = json.loads(command_in(line, "validate", "--url", server, "--timeout", "30", "--json", program="openenv"))
    assert report["passed"]
    assert report["summary"]["failed_criteria"] == []
    assert report["mode"] == "simulation"
