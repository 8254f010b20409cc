"""Authors are asked anew about what was rejected where the user wants it, and about nothing else."""

import json
from pathlib import Path

from tests.engine.conftest import Toy, done
from tests.llm.protocols import a_completion
from tests.llm.scripted import Act, Heard, ScriptedServer, reply


class Moody:
    """A model that has no answer about `beta` until its mood turns."""

    def __init__(self) -> None:
        self.is_well = False

    def __call__(self, heard: Heard) -> Act:
        is_well = self.is_well or "beta" not in str(heard.body["messages"])
        return reply(a_completion('"a word"' if is_well else f"{len(heard.body['messages'])} reasons to be silent"))


def test_only_what_was_rejected_is_asked_again_and_is_then_kept(toy: Toy, tmp_path: Path) -> None:
    model = Moody()
    with ScriptedServer(model) as server:
        textual = {"model": "openai/m", "base_url": f"{server.url}/v1", "api": "chat"}
        llm = {"textual": textual, "cache": str(tmp_path / "replies.sqlite"), "max_retries": 0}
        given = ("--set", f"llm={json.dumps(llm)}", "--set", "steps.s03_notes.max_rejected=1.0")
        code, lines = toy.run(*given)
        assert code == 0
        assert any("beta: rejected" in line for line in lines)
        asked = len(server.heard)
        model.is_well = True
        # What was answered is known, and nobody asks again of himself.
        assert toy.run(*given)[0] == 0
        assert len(server.heard) == asked
        code, lines = toy.run(*given, "--retry-rejected")
        assert code == 0
        assert [line for line in lines if "redo" in line] == ["s03 notes/beta: redo, rejected last time"]
        assert "s03 notes/beta" in done(lines)
        assert len(server.heard) == asked + 1
        # The answer of the second round is found when the item is made once more.
        (toy.outputs / "notes" / "beta.md").unlink()
        assert toy.run(*given)[0] == 0
        assert len(server.heard) == asked + 1


class Dull:
    """A model whose notes on `beta` are dull; asked to mend one it says what its list says next."""

    def __init__(self, *mended: str) -> None:
        self.mended = list(mended)

    def __call__(self, heard: Heard) -> Act:
        prompt = str(heard.body["messages"])
        if "You mend" in prompt:
            return reply(a_completion(f'"{self.mended.pop(0)}"'))
        return reply(a_completion('"a dull word"' if "beta" in prompt else '"a word"'))


def asked_of(server: ScriptedServer, kind: str) -> list[str]:
    """The prompts of a kind that a server heard."""
    return [prompt for heard in server.heard if kind in (prompt := str(heard.body["messages"]))]


def by_model(server: ScriptedServer, cache: object) -> tuple[str, ...]:
    textual = {"model": "openai/m", "base_url": f"{server.url}/v1", "api": "chat"}
    llm = {"textual": textual, "cache": cache, "max_retries": 0}
    return ("--set", f"llm={json.dumps(llm)}", "--set", "steps.s04_blobs.max_rejected=1.0")


def test_a_rejection_goes_back_to_the_step_that_it_lies_in(toy: Toy, tmp_path: Path) -> None:
    with ScriptedServer(Dull("a bright word")) as server:
        given = by_model(server, str(tmp_path / "replies.sqlite"))
        code, lines = toy.run(*given)
        assert code == 0
        assert "s04 blobs/beta: rejected, the note on beta is dull" in [line.partition(";")[0] for line in lines]
        (record,) = [one for one in manifest(toy) if one["step"] == "s04_blobs" and one["key"] == "beta"]
        assert (record["lies_in"], record["reasons"]) == ("s03_notes", ["the note on beta is dull"])
        (offer,) = [line for line in lines if "--retry-rejected" in line]
        assert "s03 notes/beta is told: the note on beta is dull" in offer
        assert len(asked_of(server, "Explain")) == 3
        code, lines = toy.run(*given, "--retry-rejected")
        assert code == 0
        assert "s03 notes/beta: redo, sent back, the note on beta is dull" in lines
        # The first question is not asked again, and the author hears what is wrong.
        assert len(asked_of(server, "Explain")) == 3
        assert ["the note on beta is dull" in prompt for prompt in asked_of(server, "You mend")] == [True]
        assert "bright" in (toy.outputs / "notes" / "beta.md").read_text()
        assert (toy.outputs / "blobs" / "beta.bin").exists()
        assert not any("--retry-rejected" in line for line in lines)
        # What was mended stays so, also where it has to be made again.
        assert done(toy.run(*given)[1]) == []
        (toy.outputs / "notes" / "beta.md").unlink()
        assert toy.run(*given)[0] == 0
        assert "bright" in (toy.outputs / "notes" / "beta.md").read_text()
        assert len(server.heard) == 4
        # From other inputs it is made anew: what was sent back was about another outcome.
        toy.run(*given, "--set", "steps.s02_lengths.most=2")
        assert "dull" in (toy.outputs / "notes" / "beta.md").read_text()


def test_what_was_mended_in_vain_is_asked_anew_from_the_start(toy: Toy, tmp_path: Path) -> None:
    with ScriptedServer(Dull("still dull", "no such word")) as server:
        given = by_model(server, str(tmp_path / "replies.sqlite"))
        toy.run(*given)
        _, lines = toy.run(*given, "--retry-rejected")
        assert any("s04 blobs/beta: rejected" in line for line in lines)
        (offer,) = [line for line in lines if "--retry-rejected" in line]
        assert "s03 notes/beta is asked anew" in offer
        _, lines = toy.run(*given, "--retry-rejected")
        assert "s03 notes/beta: redo, mended in vain" in lines
        assert len(asked_of(server, "You mend")) == 1
        assert len(asked_of(server, "Explain")) == 4


def test_a_killed_retry_goes_on_where_it_was(toy: Toy, tmp_path: Path) -> None:
    with ScriptedServer(Dull("a bright word")) as server:
        given = by_model(server, str(tmp_path / "replies.sqlite"))
        toy.run(*given)
        toy.run(*given, "--retry-rejected", "--until", "s03")
        assert toy.run(*given, "--retry-rejected")[0] == 0
        assert (toy.outputs / "blobs" / "beta.bin").exists()
        assert len(server.heard) == 4


def test_a_fault_of_an_offline_author_is_not_offered_to_be_asked_again(toy: Toy) -> None:
    toy.configure("alpha", "dull")
    _, lines = toy.run("--set", "steps.s04_blobs.max_rejected=0.1")
    assert any("s04 blobs/dull: rejected" in line for line in lines)
    assert not any("--retry-rejected" in line for line in lines)
    assert "name a model in llm.textual" in lines[-1]


def manifest(toy: Toy) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads((toy.outputs / "manifest.json").read_text())["items"]
    return found
