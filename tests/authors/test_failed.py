"""An item that fails loses nothing that it has asked for: its other answers are waited for, and not paid for again."""

from pathlib import Path

from tests.authors.conftest import Direct
from tests.authors.runs import Runner, by
from tests.authors.served import Due, Place, ServedAuthor, Spoilt
from tests.authors.ways import CHAT
from tests.llm.scripted import fault
from tests.pipeline.small import artifacts, differing


def test_what_a_failing_item_has_asked_for_is_kept(run: Runner, direct: Direct, tmp_path: Path) -> None:
    declined: list[Place] = []

    def decline_one(due: Due) -> Spoilt | None:
        if due.place.question != "blueprint.contracts" or declined:
            return None
        declined.append(due.place)
        return Spoilt("400", due.said, fault(400, "no"))

    with ServedAuthor(direct.cassette, spoil=decline_one, delay=0.1) as author:
        llm = by(CHAT.author(author.url))
        failed = run(tmp_path / "outputs", llm, "--until", "s05")
        again = run(tmp_path / "outputs", llm, "--until", "s05")
    assert (failed.code, again.code) == (1, 0), failed.shown + again.shown
    assert "status 400" in failed.shown
    times = author.times()
    assert [one.place for one in author.log if times[one.turns] > 1] == declined * 2
    made = artifacts(again.outputs)
    assert differing({path: direct.artifacts[path] for path in made}, made) == []
