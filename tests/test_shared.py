"""What is kept between tests is used only where it is whole, untouched, and of the same code."""

import shutil
from pathlib import Path

import pytest

from tests.shared import PRODUCT, ROOT, SEAL, SharedFolder, code_digest


@pytest.fixture
def keeper(tmp_path: Path) -> SharedFolder:
    return SharedFolder(tmp_path / "kept", "some code")


@pytest.mark.parametrize("what", ["code", "settings"])
def test_it_is_made_once_and_anew_by_other_code_or_with_other_settings(tmp_path: Path, what: str) -> None:
    log: list[str] = []

    def made(value: str) -> str:
        def make(folder: Path) -> None:
            log.append(value)
            (folder / "text").write_text(f"of {value}")

        code, settings = (value, ()) if what == "code" else ("same", (value,))
        return (SharedFolder(tmp_path, code).made("x", settings, make) / "text").read_text()

    assert [made(value) for value in ("a", "a", "b", "b", "a")] == ["of a", "of a", "of b", "of b", "of a"]
    assert log == ["a", "b", "a"]
    assert len([path for path in (tmp_path / "x").iterdir() if path.is_dir()]) == 1


@pytest.mark.parametrize("spoil", ["change", "add", "remove", "leave off"])
def test_what_is_not_whole_is_made_anew(keeper: SharedFolder, spoil: str) -> None:
    def make(folder: Path) -> None:
        (folder / "text").write_text("right")
        (folder / "other").write_text("right")

    first = keeper.made("x", (), make)
    changed = {"change": first / "text", "add": first / "new", "remove": first / "other"}.get(
        spoil, first.parent / SEAL
    )
    if spoil in ("change", "add"):
        changed.write_text("wrong")
    else:
        changed.unlink()
    again = keeper.made("x", (), make)
    assert {path.name: path.read_text() for path in again.iterdir()} == {"text": "right", "other": "right"}


def test_what_could_not_be_made_is_not_kept(keeper: SharedFolder) -> None:
    def fail(folder: Path) -> None:
        (folder / "text").write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        keeper.made("x", (), fail)
    assert list(keeper.made("x", (), lambda folder: None).iterdir()) == []


def test_every_file_of_the_product_decides(tmp_path: Path) -> None:
    for name in PRODUCT:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, tmp_path / name)
    before = code_digest(tmp_path)
    assert before == code_digest() == code_digest(tmp_path)
    for name in ("synth/steps/s15_instance_combos_selection.py", "skillweave/world/session.py", "config.yaml"):
        path = tmp_path / name
        text = path.read_bytes()
        path.write_bytes(text + b"\n")
        assert code_digest(tmp_path) != before, name
        path.write_bytes(text)
    (tmp_path / "synth/new.md").write_text("New.")
    assert code_digest(tmp_path) != before
