"""The pipeline's questions put to a real vLLM server.

Its model knows nothing, but it is held to each answer's schema while it decodes. So every answer has its form, and what
it says is nonsense, which the gates have to turn away.
"""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from jsonschema import Draft202012Validator

from evaluator.judge.prompt import JUDGE
from skillweave.base.manifest import ItemRecord
from skillweave.llm.backends.backend import Reply, Request, Sampling
from skillweave.llm.backends.json_schema import guided
from skillweave.llm.backends.vllm import VllmServer
from skillweave.llm.models import AuthorSpec, connect
from skillweave.llm.question import Question
from skillweave.llm.replay import CassetteEntry
from skillweave.schema.record import Json
from skillweave.schema.reports import total_metrics
from skillweave.schema.trajectory import Message
from synth.cli.app import main
from synth.engine.pipeline import load_pipeline

pytestmark = pytest.mark.vllm
STEPS = load_pipeline("synth.steps").steps
QUESTIONS = {question.name: question for step in STEPS for question in step.questions} | {JUDGE.name: JUDGE}
LONGEST = 8000
"""Tokens; no answer comes near it."""
# A seed for each request would be of use; but vLLM on CPUs dies of one when it takes a long prompt in parts.


class Ran(NamedTuple):
    """What came of a run."""

    code: int
    printed: str
    items: list[ItemRecord]
    takes: list[CassetteEntry]
    """The server's replies."""


Run = Callable[[str, dict[str, Json]], Ran]


@pytest.fixture
def run(
    server: VllmServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    api_url: str,
    capfd: pytest.CaptureFixture[str],
) -> Run:
    """Run the pipeline until a step, with settings; every reply is recorded."""
    monkeypatch.setenv("PREFECT_API_URL", api_url)
    cassette = tmp_path / "cassette.jsonl"

    def run_until(step: str, settings: dict[str, Json]) -> Ran:
        settings = {"llm.record": str(cassette), "llm.timeout": 300.0, "llm.outage_s": 30.0, **settings}
        config, outputs = tmp_path / "config.yaml", tmp_path / "outputs"
        config.write_text("seed: 7\n", encoding="utf-8")
        given = [part for key, value in settings.items() for part in ("--set", f"{key}={json.dumps(value)}")]
        with pytest.raises(SystemExit) as ended:
            main(None, ["run", "--config", str(config), "--outputs", str(outputs), "--until", step, *given])
        assert isinstance(ended.value.code, int)
        printed = "".join(capfd.readouterr())
        assert "Traceback" not in printed
        items = json.loads((outputs / "manifest.json").read_text("utf-8"))["items"]
        takes = [CassetteEntry.model_validate_json(line) for line in cassette.read_text("utf-8").splitlines()]
        return Ran(
            ended.value.code,
            printed,
            [ItemRecord.model_validate(item) for item in items],
            [take for take in takes if take.reply.model == server.model],
        )

    return run_until


def an_author(server: VllmServer, **more: Json) -> dict[str, Json]:
    """The server as an author of the configuration."""
    return {"model": f"vllm/{server.model}", "base_url": server.base_url, "max_tokens": LONGEST, **more}


def faults_of(name: str, reply: Reply) -> list[str]:
    """Where an answer breaks the schema that was sent, if one was."""
    schema = QUESTIONS[name].schema
    if schema is None:
        return []
    if reply.stop != "stop":
        return [f"ended by {reply.stop!r} after {reply.output_tokens} tokens"]
    return [fault.message for fault in Draft202012Validator(guided(schema)).iter_errors(json.loads(reply.text))]


def test_the_schema_of_every_question_is_taken_and_kept_to(server: VllmServer) -> None:
    questions = {name: question for name, question in QUESTIONS.items() if question.schema is not None}

    async def go() -> dict[str, Reply]:
        backend = connect(AuthorSpec("vllm", server.model, base_url=server.base_url, timeout=300.0))

        async def put(question: Question[Any]) -> Reply:
            said = Message(role="user", content=question.answer_format)
            return await backend.complete(Request((said,), question.schema, sampling=Sampling(max_tokens=LONGEST)))

        try:
            return dict(zip(questions, await asyncio.gather(*map(put, questions.values())), strict=True))
        finally:
            await backend.close()

    faults = {name: faults_of(name, reply) for name, reply in asyncio.run(go()).items()}
    assert faults == {name: [] for name in questions}


def test_every_answer_has_its_form_and_who_follows_makes_up_for_the_nonsense(server: VllmServer, run: Run) -> None:
    author = an_author(server, fallback=[{"model": "offline/author"}])
    ran = run(
        "s05",
        {
            "domains.seeds": ["dental clinic"],
            "steps.s01_domain_expansion.target_domains": 1,
            # A list without domains is an answer, too, and nobody is asked after it.
            "steps.s01_domain_expansion.llm": {"textual": "offline/author"},
            "steps.s04_blueprint_generation.repairs": 1,
            "llm.textual": author,
            "llm.coding": author,
        },
    )
    assert ran.code == 0, ran.printed
    assert {item.state for item in ran.items} == {"done"}

    askings = [asking for item in ran.items for asking in item.askings if asking.author == f"vllm/{server.model}"]
    assert {asking.question for asking in askings} == {q.name for step in STEPS[1:5] for q in step.questions}
    assert [fault for take in ran.takes for fault in faults_of(take.question, take.reply)] == []
    # So a fault of form is one that no schema tells: what may be a name, what excludes something else.
    total = total_metrics(askings)
    assert set(total.complaints) <= {"form", "check"}
    assert sum(total.complaints.values()) == total.replies == len(ran.takes)
    assert total.rejected == total.asked


@pytest.mark.parametrize("number", [1, 2, 3, 4, 6])
def test_a_gate_turns_nonsense_away_with_its_reason(server: VllmServer, run: Run, number: int) -> None:
    step = STEPS[number - 1]
    seeds: list[Json] = ["bicycle repair", "tool library"] if number == 1 else ["hotel"]
    ran = run(
        step.short,
        {
            "domains.seeds": seeds,
            "steps.s01_domain_expansion.target_domains": len(seeds),
            # Code ends nowhere by itself.
            f"steps.{step.name}.llm": {"textual": an_author(server), "coding": an_author(server, max_tokens=100)},
        },
    )
    assert ran.code == 1
    assert "rejected, more than" in ran.printed.splitlines()[-1]
    assert {item.state for item in ran.items if item.step != step.name} <= {"done"}
    [item] = [item for item in ran.items if item.state == "rejected"]
    assert item.step == step.name
    assert item.reasons
    assert all(item.reasons)
    assert item.outputs == []
    assert [fault for take in ran.takes for fault in faults_of(take.question, take.reply)] == []
