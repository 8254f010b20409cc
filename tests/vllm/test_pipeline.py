"""The pipeline's questions put to a real vLLM server.

Its model knows nothing, but it is held to each answer's schema while it decodes. So every answer has its form, and what
it says is nonsense, which the gates have to turn away.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evaluator.judge.questions import JUDGE
from skillweave.llm.backends.guided_schema import guided
from skillweave.llm.cassette import Take
from skillweave.llm.models import AuthorSpec, connect
from skillweave.llm.question import Question
from skillweave.llm.request import Reply, Request, Sampling
from skillweave.llm.serve import VllmServer
from skillweave.manifest import ItemRecord
from skillweave.schema.asking import Asking, summed
from skillweave.schema.message import Message
from synth.engine.pipeline import load_pipeline
from tests.pipeline.small import begin

pytestmark = pytest.mark.vllm
STEPS = load_pipeline("synth.steps").steps
QUESTIONS = {question.name: question for step in STEPS for question in step.questions} | {JUDGE.name: JUDGE}
ASKED = [question.name for step in STEPS[:5] for question in step.questions]
"""The questions of s01 to s05."""
LIMIT_S = 600


def an_author(server: VllmServer, **more: object) -> dict[str, object]:
    """The server as an author of the configuration."""
    return {"model": f"vllm/{server.model}", "base_url": server.base_url, "max_tokens": 8000, **more}


def run(outputs: Path, api_url: str, until: str, settings: dict[str, object]) -> tuple[int, str, list[ItemRecord]]:
    """Run the pipeline's first steps as users do: exit status, what was printed, what became of the items."""
    overrides = tuple(f"{key}={json.dumps(value)}" for key, value in settings.items())
    process = begin(outputs, api_url=api_url, overrides=overrides, more=("--until", until))
    printed = process.communicate(timeout=LIMIT_S)[0]
    items = json.loads((outputs / "manifest.json").read_text("utf-8"))["items"]
    assert "Traceback" not in printed
    return process.returncode, printed, [ItemRecord.model_validate(item) for item in items]


def askings_of(records: list[ItemRecord], server: VllmServer) -> list[Asking]:
    """What the server was asked."""
    return [asking for record in records for asking in record.askings if asking.author == f"vllm/{server.model}"]


def takes_of(cassette: Path, server: VllmServer) -> list[Take]:
    """The server's replies."""
    takes = [Take.model_validate_json(line) for line in cassette.read_text("utf-8").splitlines()]
    return [take for take in takes if take.reply.model == server.model]


def faults_of(question: Question[Any], text: str) -> list[str]:
    """Where an answer breaks the schema that was sent."""
    assert question.schema is not None
    return [fault.message for fault in Draft202012Validator(guided(question.schema)).iter_errors(json.loads(text))]


def test_the_schema_of_every_question_is_taken_and_kept_to(server: VllmServer) -> None:
    questions = {name: question for name, question in QUESTIONS.items() if question.schema is not None}

    async def go() -> dict[str, Reply]:
        backend = connect(AuthorSpec("vllm", server.model, base_url=server.base_url))

        async def put(question: Question[Any]) -> Reply:
            said = Message(role="user", content=question.answer_format)
            return await backend.complete(Request((said,), question.schema, sampling=Sampling(max_tokens=8000)))

        try:
            return dict(zip(questions, await asyncio.gather(*map(put, questions.values())), strict=True))
        finally:
            await backend.close()

    replies = asyncio.run(go())
    assert {name: reply.stop for name, reply in replies.items()} == dict.fromkeys(questions, "stop")
    assert {name: faults_of(questions[name], reply.text) for name, reply in replies.items()} == {
        name: [] for name in questions
    }


def test_every_answer_has_its_form_and_who_follows_makes_up_for_the_nonsense(
    server: VllmServer, tmp_path: Path, api_url: str
) -> None:
    cassette = tmp_path / "cassette.jsonl"
    author = an_author(server, fallback=[{"model": "offline/author"}])
    code, printed, records = run(
        tmp_path / "outputs",
        api_url,
        "s05",
        {
            "domains.seeds": ["dental clinic"],
            "steps.s01_domain_expansion.target_domains": 1,
            "llm.textual": author,
            "llm.coding": author,
            "llm.record": str(cassette),
        },
    )
    assert code == 0, printed
    assert {record.state for record in records} == {"done"}

    askings, takes = askings_of(records, server), takes_of(cassette, server)
    assert {asking.question for asking in askings} == set(ASKED)
    assert {take.question: faults_of(QUESTIONS[take.question], take.reply.text) for take in takes} == {
        name: [] for name in ASKED
    }
    # So what counts as a fault of form is what no schema says: which names there can be, what excludes each other.
    total = summed(askings)
    assert total.rejected == total.asked
    assert set(total.complaints) <= {"form", "check"}
    assert sum(total.complaints.values()) == total.replies == len(takes)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 6])
def test_a_gate_turns_nonsense_away_with_its_reason(
    server: VllmServer, tmp_path: Path, api_url: str, number: int
) -> None:
    step = STEPS[number - 1]
    author = an_author(server, max_tokens=2000)
    seeds = ["bicycle repair", "tool library"] if number == 1 else ["hotel"]
    code, printed, records = run(
        tmp_path / "outputs",
        api_url,
        step.short,
        {
            "domains.seeds": seeds,
            "steps.s01_domain_expansion.target_domains": len(seeds),
            f"steps.{step.name}.llm": {"textual": author, "coding": author},
        },
    )
    assert code == 1
    assert {record.state for record in records if record.step != step.name} <= {"done"}
    [record] = [record for record in records if record.step == step.name]
    assert (record.state, record.outputs) == ("rejected", [])
    assert all(reason in " ".join(printed.split()) for reason in record.reasons)
    [last] = printed.strip().splitlines()[-1:]
    assert "1 of 1 rejected" in last
