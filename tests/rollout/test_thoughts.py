"""A server without parsers, such as vLLM by default: thoughts and calls arrive in the words of its replies."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from rollout.agent import Agent, AgentSettings
from rollout.react.agent import ONLY_THOUGHT, ReactAgent
from rollout.trajectory import RolloutSettings, Trajectory
from skillweave.llm.models import AuthorSpec, connect
from skillweave.schema.trajectory import TrajectoryRecord
from tests.commands import ran
from tests.llm.protocols import a_completion, chunks_of
from tests.llm.scripted import Act, ScriptedServer, reply, stream
from tests.rollout.offline_agents.clinic import a_dataset, tasks
from tests.rollout.talks import said_by
from tests.rollout.visits import BOOK, a_visit

SECRET = "SECRET-THOUGHT"
LEAVES = json.dumps({"text": "Thank you.", "agrees": None, "wants_human": False, "done": True})
ASKS = json.dumps({"text": "And then?", "agrees": None, "wants_human": False, "done": False})
CALL = f'<tool_call>\n{{"name": "{BOOK[0]}", "arguments": {BOOK[1]}}}\n</tool_call>'


def visited(
    agent: Sequence[str],
    user: Sequence[str],
    *,
    streams: bool = False,
    react: bool = False,
    replay: bool = False,
) -> tuple[TrajectoryRecord, str, list[str]]:
    """A visit whose two models say this; and the bodies of what the user's model was sent, and the agent's."""

    def acts(texts: Sequence[str]) -> list[Act]:
        answers = [a_completion(text) for text in texts]
        return [stream(chunks_of(answer)) if streams else reply(answer) for answer in answers]

    async def hold(agents: ScriptedServer, users: ScriptedServer) -> TrajectoryRecord:
        backends = [
            connect(
                AuthorSpec(
                    provider="vllm",
                    model="m",
                    base_url=f"{server.url}/v1",
                    timeout=5.0,
                    max_retries=0,
                    stream=streams,
                )
            )
            for server in (agents, users)
        ]
        setting = RolloutSettings(
            backends[0], agent=AgentSettings(replay_reasoning=replay), agent_class=ReactAgent if react else Agent
        )
        trajectory = Trajectory(a_visit(user=backends[1]), 0, 1, setting)
        await trajectory.initialize_trajectory()
        await trajectory.generate_trajectory()
        await trajectory.evaluate_trajectory()
        for backend in backends:
            await backend.close()
        assert trajectory.result is not None
        return trajectory.result

    with ScriptedServer(*acts(agent)) as agents, ScriptedServer(*acts(user)) as users:
        record = asyncio.run(hold(agents, users))
        return record, json.dumps([heard.body for heard in users.heard]), [json.dumps(h.body) for h in agents.heard]


STREAMS = pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])


@STREAMS
@pytest.mark.parametrize(
    "written",
    [
        f"<think>\n{SECRET}\n</think>\n\nHello.",
        f"{SECRET}\n</think>\n\nHello.",
        f"[THINK]{SECRET}[/THINK]Hello.",
        f"<|channel|>analysis<|message|>{SECRET}<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>",
    ],
)
def test_nobody_reads_a_thought(written: str, streams: bool) -> None:
    user = [f"<think>{SECRET}</think>{ASKS}", f"<think>{SECRET}</think>{LEAVES}"]
    record, asked, requests = visited([written], user, streams=streams)
    assert SECRET not in asked
    assert SECRET not in "".join(requests)
    assert [message.content for message in said_by(record, "assistant")] == ["Hello."] * 2
    assert [message.reasoning_content for message in said_by(record, "assistant")] == [SECRET] * 2
    assert [message.content for message in said_by(record, "user")][1:] == ["And then?", "Thank you."]
    assert record.stop_reason == "user_stop"


@STREAMS
def test_a_thought_that_is_cut_off_is_no_words(streams: bool) -> None:
    record, asked, requests = visited([f"<think>{SECRET}, and so", "Hello."], [LEAVES], streams=streams)
    assert SECRET not in asked + "".join(requests)
    assert [message.content for message in said_by(record, "assistant")] == ["Hello."]
    record, _, requests = visited([f"<think>{SECRET}"], [LEAVES], streams=streams)
    assert (record.stop_reason, record.error and record.error.kind, len(requests)) == ("error", "agent", 3)


@STREAMS
def test_a_react_agent_is_told_that_it_only_thought(streams: bool) -> None:
    transfer = f"<think>{SECRET}\nAction: transfer_to_human\nAction Input: {{}}"
    said = [transfer, f"{transfer}\n</think>\nThought: I greet.\nAnswer: Hello."]
    record, asked, requests = visited(said, [LEAVES], streams=streams, react=True)
    assert SECRET not in asked + "".join(requests)
    assert json.loads(requests[1])["messages"][-1]["content"].endswith(f"Observation: {ONLY_THOUGHT}")
    [message] = said_by(record, "assistant")
    assert (message.content, message.tool_calls) == ("Hello.", None)
    assert (message.reasoning_content or "").endswith("I greet.")
    assert record.stop_reason == "user_stop"


@pytest.mark.parametrize("react", [False, True])
def test_a_model_that_is_sent_its_thoughts_gets_them_as_it_wrote_them(react: bool) -> None:
    written = f"<think>\n{SECRET}\n</think>\n\nHello."
    _, asked, requests = visited([written], [ASKS, LEAVES], react=react, replay=True)
    assert SECRET not in asked
    [earlier] = [message for message in json.loads(requests[1])["messages"] if message["role"] == "assistant"]
    assert earlier["content"] == written
    assert json.dumps(earlier).count(SECRET) == 1


@STREAMS
@pytest.mark.parametrize("text", [CALL, f"<think>{CALL}</think>Hello."])
def test_a_call_as_text_is_never_made_and_is_counted(text: str, streams: bool) -> None:
    record, _, _ = visited([text], [ASKS, LEAVES], streams=streams)
    assert record.metadata["tool_call_count"] == 0
    assert record.metadata.get("calls_as_text") == (2 if text == CALL else None)


def test_a_run_says_that_calls_arrive_as_text(tmp_path: Path) -> None:
    outputs = a_dataset(tmp_path / "outputs", tasks()[:1]).store.root
    with ScriptedServer(reply(a_completion(CALL))) as agents, ScriptedServer(reply(a_completion(LEAVES))) as users:
        config = tmp_path / "config.yaml"
        config.write_text(
            f"rollout:\n  agent: {{model: vllm/m, base_url: {agents.url}/v1}}\n"
            f"  user: {{model: vllm/m, base_url: {users.url}/v1}}\n"
        )
        places = ["--config", str(config), "--outputs-dir", str(outputs)]
        rollouts = ["--rollouts-dir", str(tmp_path / "rollouts")]
        done = ran("rollout", "run", *places, *rollouts)
    assert done.returncode == 0
    advice = "1 of 1 replies hold a call as text, which nobody made: the server has no parser of tool calls"
    assert advice in done.stderr
    assert "--enable-auto-tool-choice --tool-call-parser" in done.stderr
    scored = ran(
        "evaluator", "run", *rollouts, "--outputs-dir", str(outputs), "--output", str(tmp_path / "results.jsonl")
    )
    assert advice in scored.stdout
    assert advice in (tmp_path / "report.html").read_text()
    result = json.loads((tmp_path / "results.jsonl").read_text().splitlines()[0])
    assert (result["calls_as_text"], result["failure"]["class"]) == (1, "malformed_call")
    assert "a call as text" in result["failure"]["first_divergence"]["got"]
