"""A user that repeats its agent is none: it is not chosen in silence, and it does not talk for forty turns."""

import json
from pathlib import Path

import pytest

from skillweave.llm.backends.backend import Reply, Request
from skillweave.llm.models import AuthorSpec
from tests.commands import Done, ran
from tests.rollout.offline_agents.clinic import a_dataset, tasks

HERE = "tests.rollout.test_broken_user"


class Reader:
    """It says the same to everybody."""

    def __init__(self, spec: AuthorSpec) -> None:
        self.name = spec.name

    async def complete(self, request: Request) -> Reply:
        return Reply("Welcome, what can I do for you today?")

    async def close(self) -> None:
        return None


class Echo(Reader):
    """It says what it hears, in a few more blanks."""

    async def complete(self, request: Request) -> Reply:
        return Reply("  " + (request.messages[-1].content or "").replace(" ", "  "))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    a_dataset(tmp_path / "outputs", tasks()[:1])
    return tmp_path


def rolled(place: Path, *more: str) -> Done:
    return ran("rollout", "run", "--outputs", "outputs", *more, place=place)


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_an_agent_of_ones_own_does_not_become_the_user_unasked(place: Path, dry: tuple[str, ...]) -> None:
    done = rolled(place, "--agent", f"{HERE}:Reader/x", *dry)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"the agent '{HERE}:Reader/x' is a class of your own, and nothing says who plays the user" in done.stderr
    assert f"--user: {HERE}:Reader/x if it can play one, or a model such as openai/gpt-5" in done.stderr
    assert not (place / "rollouts" / "SmallClinic.jsonl").exists()


@pytest.mark.parametrize("user", ["Reader", "Echo"])
def test_a_user_that_repeats_the_agent_is_lost_to_the_user_after_a_few_turns(place: Path, user: str) -> None:
    done = rolled(place, "--agent", f"{HERE}:Reader/x", "--user", f"{HERE}:{user}/x")
    assert "1 of 1 conversations lost to the user" in done.stdout
    record = json.loads((place / "rollouts" / "SmallClinic.jsonl").read_text())
    assert record["error"]["kind"] == "user"
    assert "it repeats the assistant's own words" in record["error"]["message"]
    assert len([message for message in record["messages"] if message["role"] == "assistant"]) == 3


def test_an_own_agent_may_be_named_the_user_and_questions_need_none(place: Path) -> None:
    (place / "q.jsonl").write_text(json.dumps({"id": "q", "question": "1?", "answer": "1"}))
    parts = "rollout.parts={tasks: react, options: {questions: q.jsonl}}"
    done = rolled(place, "--agent", f"{HERE}:Reader/x", "--set", parts)
    assert (done.returncode, done.stderr) == (0, "")
