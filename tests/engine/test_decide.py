"""Decisions, in words."""

import pytest

from skillweave.base.manifest import Fingerprint, ItemOutput, ItemRecord
from synth.engine.staleness import RedoDecision, decide

BEFORE = Fingerprint(
    code={"synth.a": "1", "synth.b": "1"},
    params={"repairs": 2},
    prompts={"policy.write": "p"},
    libraries={"faker": "40.0"},
    seed=7,
    now="2025-03-17 09:00:00",
)
OUTPUT = ItemOutput(artifact="a/{key}.md", key="k", label="a/k.md", path="a/k.md", digest="d", size=1, mtime_ns=1)
RECORD = ItemRecord(
    step="s01_a",
    key="k",
    state="done",
    authors={"textual": "offline/author#1"},
    reads={"b.json[k]": "r"},
    outputs=[OUTPUT],
    fingerprint=BEFORE.id,
)


def decision(
    record: ItemRecord | None = RECORD,
    now: Fingerprint = BEFORE,
    author: str = "offline/author#1",
    read: str | None = "r",
    intact: bool = True,
) -> RedoDecision:
    return decide(record, BEFORE, now, {"textual": author}, lambda label: read, lambda output: intact)


def test_nothing_changed() -> None:
    assert decision() == RedoDecision(False, "up to date")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"code": {"synth.a": "1", "synth.b": "2"}}, "code of synth.b changed"),
        ({"code": {"synth.a": "2", "synth.c": "1"}}, "code of synth.a changed (and 2 more modules)"),
        ({"params": {"repairs": 3}}, "parameter repairs changed 2 -> 3"),
        ({"prompts": {"policy.write": "q"}}, "prompt policy.write changed"),
        ({"libraries": {"faker": "41.0"}}, "library faker changed 40.0 -> 41.0"),
        ({"seed": 8}, "seed changed 7 -> 8"),
        ({"now": "2025-03-18 09:00:00"}, "simulation_time changed 2025-03-17 09:00:00 -> 2025-03-18 09:00:00"),
    ],
)
def test_each_part_of_the_fingerprint_is_a_reason(change: dict[str, object], reason: str) -> None:
    assert decision(now=BEFORE.model_copy(update=change)) == RedoDecision(True, reason)


def test_other_reasons() -> None:
    assert decision(None) == RedoDecision(True, "new")
    assert decision(RECORD.model_copy(update={"state": "failed"})).reason == "failed last time"
    assert decision(author="offline/author#2").reason == "author of textual changed"
    assert decision(author="openai/gpt-5#").reason == "author of textual changed offline/author -> openai/gpt-5"
    assert decision(read="other").reason == "input b.json[k] changed"
    assert decision(read=None).reason == "input b.json[k] is gone"
    assert decision(intact=False).reason == "output a/k.md changed or missing"


def test_a_rejection_stands_while_nothing_changes() -> None:
    assert not decision(RECORD.model_copy(update={"state": "rejected", "outputs": []})).redo
