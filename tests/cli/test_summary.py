"""The end of a run fits a screen, and what it advises can be run as it stands."""

import re
import shlex
from pathlib import Path

import pytest

from synth.cli.app import main
from synth.cli.display import duration
from tests.engine.conftest import PLACE, Toy, toy

__all__ = ["toy"]
SCREEN = (24, 100)


def command(toy: Toy, *words: str) -> list[str]:
    """The lines that another command prints."""
    toy.capture.readouterr()
    with pytest.raises(SystemExit):
        main(PLACE, list(words))
    shown = toy.capture.readouterr()
    return [*shown.out.splitlines(), *shown.err.splitlines()]


def advised(line: str) -> list[str]:
    """The words of the command after `next: python -m synth`."""
    return shlex.split(line.partition("next: python -m synth ")[2])


def summary(lines: list[str]) -> list[str]:
    """The lines after the progress."""
    return lines[lines.index("") + 1 :]


def test_the_summary_of_many_rejections_fits_a_screen(toy: Toy) -> None:
    toy.configure(*(f"{kind}{number}" for kind in ("broken", "mute", "alpha") for number in range(12)))
    _, lines = toy.run("--set", "steps.s03_notes.max_rejected=1.0")
    shown = summary(lines)
    assert len(shown) <= SCREEN[0]
    assert all(len(line) <= SCREEN[1] for line in shown[:-2])
    assert any(re.match(r"  s03 +\d+ x rare letter \(alpha0: the letter z\)", line) for line in shown)


def test_a_second_run_says_how_much_was_as_it_was(toy: Toy) -> None:
    toy.finish()
    _, lines = toy.run()
    assert summary(lines)[0].startswith("all 11 items as they were, in 4 steps; took ")
    (toy.outputs / "blobs" / "beta.bin").unlink()
    _, lines = toy.run()
    assert summary(lines)[0].startswith("1 item done now, 10 of 11 as they were, in 4 steps; took ")


def test_a_retry_with_nothing_rejected_says_so(toy: Toy) -> None:
    toy.finish()
    assert "nothing was rejected, so there is nothing to retry" in toy.run("--retry-rejected")[1]


def test_advice_repeats_the_settings_of_the_last_run(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(toy.folder)
    setting = ["--set", "steps.s02_lengths.most=3", "--seed", "11"]
    toy.run(*setting)
    outputs = str(toy.outputs)
    for given in (["status", "--outputs-dir", outputs], ["status", "--outputs-dir", outputs, "--seed", "11"]):
        words = advised(command(toy, *given)[-1])
        assert words[:2] == ["run", "--dry-run"]
        assert words[words.index("--seed") + 1] == "11"
    again = command(toy, *advised(command(toy, "status", "--outputs-dir", outputs)[-1]))
    assert "everything is up to date; nothing would run" in again
    (toy.outputs / "notes" / "alpha.md").write_text("edited")
    words = advised(command(toy, "verify", outputs)[-1])
    assert [words[0], "steps.s02_lengths.most=3" in words] == ["run", True]


def test_an_error_about_a_setting_names_the_setting(toy: Toy) -> None:
    for setting, complaint in [
        ("steps.s02_lengths.mots=3", "unknown key 'steps.s02_lengths.mots'; did you mean 'most'?"),
        ("execution.workers=0", "execution.workers is 0; it should be greater than or equal to 1"),
        ("steps.s02=3", "steps.s02 is 3; it should be a valid dictionary"),
        ("seed.x=1", "cannot set 'seed.x'"),
    ]:
        code, lines = toy.run("--set", "seed=7", "--set", setting)
        assert code == 2
        assert lines[0].startswith(f"error: --set {setting}: ") or setting == "seed.x=1"
        assert complaint in lines[0]


def test_only_who_asks_needs_a_key(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GATEWAY_KEY"):
        monkeypatch.delenv(variable, raising=False)
    gateway = '{"model": "openai/m", "base_url": "http://127.0.0.1:9/v1", "api_key_env": "GATEWAY_KEY"}'
    models = ["--set", "llm.textual=openai/m", "--set", f"llm.coding={gateway}"]
    code, lines = toy.run(*models)
    assert (code, len(lines)) == (2, 1)
    assert "OPENAI_API_KEY" in lines[0]
    code, lines = toy.run(*models, "--dry-run")
    assert code == 0
    (note,) = [line for line in lines if "key" in line and "set " in line and "--set" not in line]
    assert note.startswith("before the run, set the key that it will need: OPENAI_API_KEY")
    toy.run()
    outputs = str(toy.outputs)
    for words in (["status", *models], ["verify", outputs, *models], ["list-steps"], ["init-config", "-"]):
        at = ["--outputs-dir", outputs] if words[0] == "status" else []
        config = ["--config", str(toy.folder / "config.yaml")] if words[0] in ("status", "verify") else []
        assert not any("API key" in line for line in command(toy, *words, *at, *config)), words


@pytest.mark.parametrize("dry", [["--dry-run"], []])
def test_a_dry_run_refuses_what_the_run_refuses(toy: Toy, monkeypatch: pytest.MonkeyPatch, dry: list[str]) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    code, lines = toy.run("--set", "llm.textual=openai/m", "--set", "llm.budget_usd=1", *dry)
    assert (code, len(lines)) == (2, 1)
    assert "nobody knows what 'openai/m' costs" in lines[0]


@pytest.mark.parametrize("dry", [["--dry-run"], []])
def test_seed_domains_that_the_offline_author_does_not_know_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], dry: list[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(None, ["run", "--set", "domains.seeds=[shoe repair]", "--outputs-dir", str(tmp_path / "out"), *dry])
    (line,) = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert "knows no service for 'shoe repair'" in line
    assert "python -m synth list-services" in line


def test_services_are_listed_with_seed_domains(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(None, ["list-services"])
    lines = capsys.readouterr().out.splitlines()
    assert any(re.match(r"dental_clinic +dental clinic appointments", line) for line in lines)


def test_times_are_told_in_the_largest_units() -> None:
    assert [duration(seconds) for seconds in (4.21, 845, 7380)] == ["4.2 s", "14 min 5 s", "2 h 3 min"]
