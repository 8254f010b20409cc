"""The manifest and its journal."""

import json
from pathlib import Path

import pytest

from skillweave.base.errors import ArtifactError
from skillweave.base.manifest import Fingerprint, ItemOutput, ItemRecord, Manifest
from skillweave.base.store import Store


def a_record(key: str, label: str = "") -> ItemRecord:
    path = label or f"notes/{key}.md"
    output = ItemOutput(artifact="notes/{key}.md", key=key, label=path, path=path, digest="d", size=1, mtime_ns=2)
    return ItemRecord(step="s01_notes", key=key, state="done", outputs=[output], fingerprint=a_fingerprint().id)


def a_fingerprint() -> Fingerprint:
    return Fingerprint(code={"a": "1"}, params={"n": 2}, prompts={}, libraries={}, seed=7, now="2025-03-17 09:00:00")


def test_records_survive_without_a_save(tmp_path: Path) -> None:
    manifest = Manifest(Store(tmp_path))
    manifest.put(a_record("x"), a_fingerprint())
    manifest.put(a_record("y"), a_fingerprint())
    manifest.forget("s01_notes", ["y"])
    found = Manifest(Store(tmp_path))
    assert found.items() == [a_record("x")]
    assert found.fingerprint(a_fingerprint().id) == a_fingerprint()


def test_a_torn_last_line_is_one_record_owed(tmp_path: Path) -> None:
    manifest = Manifest(Store(tmp_path))
    manifest.put(a_record("x"))
    manifest.put(a_record("y"))
    journal = tmp_path / ".cache/journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    assert Manifest(Store(tmp_path)).items() == [a_record("x")]


def test_a_record_after_a_torn_line_is_kept(tmp_path: Path) -> None:
    Manifest(Store(tmp_path)).put(a_record("x"))
    journal = tmp_path / ".cache/journal.jsonl"
    journal.write_bytes(journal.read_bytes() + b'{"item": {"st')
    Manifest(Store(tmp_path)).put(a_record("y"))
    assert Manifest(Store(tmp_path)).items() == [a_record("x"), a_record("y")]


def test_saving_folds_the_journal(tmp_path: Path) -> None:
    manifest = Manifest(Store(tmp_path))
    manifest.put(a_record("x"), a_fingerprint())
    manifest.save()
    assert not (tmp_path / ".cache/journal.jsonl").exists()
    assert Manifest(Store(tmp_path)).items() == [a_record("x")]
    told = json.loads((tmp_path / "manifest.json").read_text())["artifacts"]["notes/x.md"]
    assert {"digest", "step", "fingerprint", "author", "seconds", "tokens", "cost_usd"} <= told.keys()


def test_a_label_has_its_last_writer(tmp_path: Path) -> None:
    manifest = Manifest(Store(tmp_path))
    manifest.put(a_record("x"))
    assert manifest.owner("notes/x.md") == ("s01_notes", "x")
    manifest.put(a_record("x", label="notes/other.md"))
    assert manifest.owner("notes/x.md") is None


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"format": "other/1"}', '{"format": "skillweave-manifest/1"}'])
def test_a_damaged_manifest_says_what_to_do(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(ArtifactError, match=r"is damaged .* remove it"):
        Manifest(Store(tmp_path))
