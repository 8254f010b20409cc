"""What a run was told can be played again without a server; a question whose words have changed fails, and no other."""

from pathlib import Path

import pytest

from skillweave.llm.question import Question
from tests.authors.conftest import Faulty
from tests.authors.runs import Ran, Runner, by
from tests.pipeline.small import artifacts, differing

CHANGED = "blueprint.contracts"


def replayed(run: Runner, faulty: Faulty, outputs: Path, *more: str) -> Ran:
    return run(outputs, by({"model": f"replay/{faulty.cassette}"}), *more)


def test_a_replay_makes_the_same_bytes(run: Runner, faulty: Faulty, tmp_path: Path) -> None:
    again = replayed(run, faulty, tmp_path / "outputs", "--until", "s05")
    assert again.code == 0, again.shown[-3000:]
    made, recorded = artifacts(again.outputs), artifacts(faulty.ran.outputs)
    assert "blueprints.json" in made
    assert differing({path: recorded[path] for path in made}, made) == []


@pytest.mark.long
def test_a_whole_replay_makes_the_same_bytes(run: Runner, faulty: Faulty, tmp_path: Path) -> None:
    again = replayed(run, faulty, tmp_path / "outputs")
    assert again.code == faulty.ran.code
    assert differing(artifacts(faulty.ran.outputs), artifacts(again.outputs)) == []


def test_a_changed_prompt_is_missed_and_no_other(
    run: Runner, faulty: Faulty, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    render = Question.render

    def reworded(self: Question[object], variables: dict[str, object]) -> object:
        system, user = render(self, variables)
        if self.name == CHANGED:
            system = system.model_copy(update={"content": f"{system.content}\nBe brief."})
        return system, user

    monkeypatch.setattr(Question, "render", reworded)
    again = replayed(run, faulty, tmp_path / "outputs", "--until", "s05")
    assert again.code == 1
    states = {item["step"][:3]: item["state"] for item in again.manifest["items"]}
    assert states == {"s01": "done", "s02": "done", "s03": "done", "s04": "failed", "s05": "skipped"}
    (reason,) = next(item["reasons"] for item in again.manifest["items"] if item["state"] == "failed")
    assert f"holds no answer to question {CHANGED!r}" in reason
    assert "its prompt or what it is asked about has changed; record it again" in reason
    missed = {
        asking["question"]: asking["complaints"].get("unreached", 0)
        for item in again.manifest["items"]
        for asking in item.get("askings", ())
        if "complaints" in asking
    }
    asked = {
        asking["question"]: asking["asked"] for item in again.manifest["items"] for asking in item.get("askings", ())
    }
    assert {question for question, count in missed.items() if count} == {CHANGED}
    assert missed[CHANGED] == asked[CHANGED] > 0
