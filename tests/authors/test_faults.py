"""A quarter of the replies is broken, in twenty ways: the run ends, what is kept is right, and everything is counted."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from skillweave.config.models import AuthorConfig, LlmConfig
from skillweave.errors import AuthorError
from skillweave.llm.ask import ask
from skillweave.llm.cassette import Take
from skillweave.llm.connections import Connections
from skillweave.llm.ledger import Ledger
from skillweave.llm.parse import parse
from skillweave.llm.question import Question
from skillweave.schema.message import Message
from synth.engine.pipeline import load_pipeline
from tests.authors.conftest import SEED, Direct, Faulty
from tests.authors.faults import FAULTS, Faults
from tests.authors.runs import WORLD, Ran, Runner, by
from tests.authors.served import Answered, ServedAuthor, read_takes, total
from tests.authors.ways import CHAT, WAYS, Way
from tests.pipeline.small import artifacts, differing

QUERIES = f"queries/{WORLD}.jsonl"


def assert_sound(run: Runner, ran: Ran, log: Sequence[Answered]) -> None:
    """What has to hold however a run came out."""
    assert ran.code in (0, 1), ran.shown[-3000:]
    assert "Traceback" not in ran.shown
    counted, asked = total(log), ran.asked()
    entered = asked.model_dump()
    assert {name: entered[name] for name in counted} == counted
    assert asked.asked == asked.first_try + asked.repaired + asked.rejected
    for item in ran.manifest["items"]:
        assert item["state"] == "done" or any(reason.strip() for reason in item["reasons"]), item
        assert all(reason.strip() for reason in item.get("rejected", {})), item
    verified = run.told(["verify", str(ran.outputs)], ran.outputs)
    assert verified.code == 0, verified.shown[-3000:]


def assert_no_worse(direct: Direct, ran: Ran) -> None:
    """Nothing is in the dataset that is not in the direct one, and nothing is missing but tasks without words."""
    expected, made = direct.artifacts, artifacts(ran.outputs)
    assert set(differing(expected, made)) <= {QUERIES}
    kept, all_tasks = set(made[QUERIES].splitlines()), set(expected[QUERIES].splitlines())
    assert kept < all_tasks
    assert len(all_tasks - kept) == sum(
        item.get("rejected", {}).get("no words for it", 0) for item in ran.manifest["items"]
    )


def test_a_run_through_faults_ends_with_what_is_right_and_counts_everything(
    run: Runner, direct: Direct, faulty: Faulty
) -> None:
    log = [one for author in faulty.authors for one in author.log]
    assert_sound(run, faulty.ran, log)
    assert_no_worse(direct, faulty.ran)
    assert {one.fault for one in log if one.fault} == set(FAULTS)
    assert all(not author.unknown for author in faulty.authors)


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_way_to_a_model_stands_the_faults(run: Runner, direct: Direct, tmp_path: Path, way: Way) -> None:
    with ServedAuthor(direct.cassette, spoil=Faults(read_takes(direct.cassette), SEED)) as author:
        ran = run(tmp_path / "outputs", timeout=5.0, **by(way.author(author.url)))
    assert_sound(run, ran, author.log)
    assert_no_worse(direct, ran)


@dataclass(frozen=True)
class Again(Question[Any]):
    """A question whose words are those of a take."""

    said: tuple[Message, ...] = ()

    def render(self, variables: object) -> tuple[Message, Message]:
        system, user = self.said
        return system, user


def again(take: Take) -> Again:
    known = {each.name: each for step in load_pipeline("synth.steps").steps for each in step.questions}
    found = known[take.question]
    return Again(found.name, found.returns, found.role, found.package, found.form, said=tuple(take.messages))


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_each_fault_is_mended_or_told(direct: Direct, way: Way) -> None:
    ledger = Ledger()
    takes = read_takes(direct.cassette)
    faults = Faults(takes, SEED)
    chosen = {name: place for place, name in reversed(faults.dealt.items())}
    asked = {name: next(take for take in takes if (take.question, take.key) == chosen[name]) for name in FAULTS}

    async def answer(author: ServedAuthor) -> dict[str, object]:
        llm = LlmConfig(timeout=2.0)
        backend = Connections(llm, ledger=ledger, caches=False).connect(
            AuthorConfig.model_validate(way.author(author.url))
        )

        async def put(take: Take) -> object:
            question = again(take)
            right = parse(question, take.reply.text)
            return await ask(
                backend,
                question,
                key=take.key,
                variables={},
                check=lambda answer: [] if answer == right else ["it is not right"],
                repairs=5,
                continuations=3,
                ledger=ledger,
            ) == right

        try:
            answers = await asyncio.gather(*map(put, asked.values()), return_exceptions=True)
        finally:
            await backend.close()
        return dict(zip(asked, answers, strict=True))

    with ServedAuthor(direct.cassette, spoil=faults) as author:
        answers = asyncio.run(answer(author))
    refused = answers.pop("refused")
    assert isinstance(refused, AuthorError)
    assert "refused to answer: 'I cannot help with that.'" in str(refused)
    assert answers == dict.fromkeys(answers, True)
    counted, entered = total(author.log), ledger.total().model_dump()
    assert {name: entered[name] for name in counted} == counted
    assert {one.fault for one in author.log} >= set(FAULTS)
