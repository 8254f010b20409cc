"""Two domains joined: the same bytes whoever runs it and however often it is killed; what each task mode makes."""

import re
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.pipeline.small import JOINED, LAB, PLAN, WORLD, artifacts, begin, differing
from tests.pipeline.test_same_bytes import assert_survives, finished
from tests.shared import copied

OF_ONE = (
    "task_templates/{}.json",
    "combinations/{}.jsonl",
    "combinations/{}.lacking.json",
    "combinations/{}.quotas.json",
    "validated_tasks/{}.jsonl",
    "validated_tasks/{}.lacking.json",
    "queries/{}.jsonl",
    "rules/{}.json",
)
"""What tasks of single domains are made of."""
SINGLE_TASKS = {path.format(name) for path in OF_ONE for name in (LAB, PLAN)}
REPLAYS = "validated_tasks/_fused_replays.json"
DONE = re.compile(r"^(s\d\d) (\S+): done", re.MULTILINE)


TABLE = tuple(f"data/{split}.jsonl" for split in ("train", "validation", "test"))
ABOUT_ALL = ("README.md", "report/diversity.json", "report/duplicates.json", *TABLE)
"""What tells of the tasks of all worlds."""
REPORTS = "report/*.json"
"""What makes such a report."""


def is_of_fused(path: str) -> bool:
    return WORLD in path or path.startswith("cross_domain_templates/") or path == REPLAYS


def test_cross_domain_mode_makes_the_same_tasks_and_no_others(joined: Path, tmp_path: Path, api_url: str) -> None:
    outputs = copied(joined, tmp_path / "outputs")
    for path in artifacts(outputs):
        if path in SINGLE_TASKS or path == REPLAYS or path.startswith(("queries/", "validated_tasks/")):
            (outputs / path).unlink()
    shown = finished(begin(outputs, api_url=api_url, overrides=(*JOINED, "task_mode=cross_domain")))
    both, cross = artifacts(joined), artifacts(outputs)
    assert {*SINGLE_TASKS, REPLAYS} <= set(differing(both, cross)) <= {*SINGLE_TASKS, REPLAYS, *ABOUT_ALL}
    assert not ({*SINGLE_TASKS, REPLAYS} & cross.keys())
    assert f"queries/{WORLD}.jsonl" in cross
    assert {step for step, _ in DONE.findall(shown)} >= {"s16", "s17"}


def test_single_mode_makes_nothing_of_fused_worlds_and_both_the_same_bytes_again(
    joined: Path, tmp_path: Path, api_url: str
) -> None:
    outputs = copied(joined, tmp_path / "outputs", ".cache")
    for path in filter(is_of_fused, artifacts(outputs)):
        (outputs / path).unlink()
    finished(begin(outputs, api_url=api_url, overrides=(*JOINED, "task_mode=single")))
    single = artifacts(outputs)
    assert not [path for path in single if is_of_fused(path)]
    assert all(is_of_fused(path) or path in ABOUT_ALL for path in differing(artifacts(joined), single))
    finished(begin(outputs, hash_seed="2", workers=4, api_url=api_url, overrides=JOINED))
    assert differing(artifacts(joined), artifacts(outputs)) == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.long
def test_a_joining_that_is_killed_again_and_again_ends_with_the_same_bytes(
    joined: Path, tmp_path: Path, api_url: str
) -> None:
    outputs = copied(joined, tmp_path / "outputs")
    start = partial(begin, outputs, api_url=api_url, overrides=JOINED)
    # Everything from the combinations on is made anew; no step before has anything to do.
    run = start(more=("--fresh", "s10", "--until", "s10"))
    finished(run)
    assert not [path for path in artifacts(outputs) if path.startswith("queries/")]
    assert_survives(start, outputs, joined, 3, furthest=3)


def test_other_stories_redo_what_follows_from_them_and_nothing_else(joined: Path, tmp_path: Path, api_url: str) -> None:
    outputs = copied(joined, tmp_path / "outputs")
    changed = (*JOINED, "steps.s11_trajectory_fusion.stories=1")
    shown = finished(begin(outputs, api_url=api_url, overrides=changed))
    done = DONE.findall(shown)
    others = [(step, what) for step, what in done if WORLD not in what and what not in (REPLAYS, REPORTS)]
    assert others == []
    assert {step for step, _ in done} >= {"s11", "s14", "s15", "s16", "s17"}
    before, after = artifacts(joined), artifacts(outputs)
    assert all(is_of_fused(path) or path in ABOUT_ALL for path in differing(before, after))
    # The domains joined are the same, and so are their contracts and rows.
    for path in (f"database/{WORLD}.sqlite", f"database/{WORLD}.contract.json"):
        assert before[path] == after[path]
    tasks = f"queries/{WORLD}.jsonl"
    assert 0 < len(after[tasks].splitlines()) < len(before[tasks].splitlines())
