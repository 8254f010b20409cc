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
