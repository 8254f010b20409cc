"""What a dry run forecasts is what a run of a model took, and what the page on models says."""

import re
from pathlib import Path

import pytest

from docs.models import MEASURED_OF_TWO
from synth.cli.app import main
from tests.shared import ROOT

TOLERANCE = 0.25
MODEL = ("--set", "llm.textual=openai/m")


def forecast(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[float, str]:
    """Thousands of tokens that a dry run says in its last line, and the whole of what it printed."""
    with pytest.raises(SystemExit) as ended:
        main(None, ["run", "--dry-run", "--outputs-dir", str(folder / "none"), *MODEL, *words])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    found = re.search(r"in all about [\d,]+ questions, ([\d,]+) tokens", shown.splitlines()[-1])
    assert found is not None
    return float(found[1].replace(",", "")) / 1000, shown


def domains(number: int) -> tuple[str, str]:
    """The setting for so many domains."""
    return "--set", f"steps.s01_domain_expansion.target_domains={number}"


def test_two_domains_take_what_they_took(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    thousands, _ = forecast(tmp_path, capsys, *domains(2))
    assert abs(thousands - MEASURED_OF_TWO) < TOLERANCE * MEASURED_OF_TWO
    page = " ".join((ROOT / "docs" / "models.md").read_text("utf-8").split())
    assert f"Two domains and the world of both take {thousands:.0f} thousand" in page


def test_twelve_domains_take_more_than_six_pairs_and_less_than_the_pairs_of_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, _ = forecast(tmp_path, capsys, *domains(1), "--set", "task_mode=single")
    two, _ = forecast(tmp_path, capsys, *domains(2))
    twelve, _ = forecast(tmp_path, capsys, *domains(12))
    assert 2 * one < two < 3 * one
    assert 6 * two < twelve < 66 * (two - one)


def test_no_more_worlds_are_forecast_than_domains_can_make(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few, _ = forecast(
        tmp_path, capsys, *domains(2), "--set", "steps.s10_domain_combos_selection.cross_domain_combinations=1"
    )
    many, _ = forecast(
        tmp_path, capsys, *domains(2), "--set", "steps.s10_domain_combos_selection.cross_domain_combinations=50"
    )
    assert few == many
