"""An item's surroundings: what it sees of what others made, and what stands in its way. Pure functions."""

from collections.abc import Sequence
from typing import Any

from skillweave.manifest import ItemRecord, Output
from synth.artifacts import Artifact, Every
from synth.engine.pipeline import Pipeline
from synth.step import ALL, JOIN, Step

Visible = dict[tuple[str, str], Output]
"""(pattern of an artifact, key) -> what an item that was waited for made of it."""


def read_by(step: Step[Any]) -> set[Artifact[Any]]:
    """The artifacts that a step's items may read."""
    reads = {read.artifact if isinstance(read, Every) else read for read in step.reads}
    return reads | set(step.listed)


def artifacts_of(step: Step[Any]) -> set[Artifact[Any]]:
    """All artifacts that a step has to do with."""
    return read_by(step) | set(step.writes) | set(step.join_writes)


def visible_to(step: Step[Any], key: str, upstream: Sequence[ItemRecord]) -> Visible:
    """What an item sees."""
    patterns = {artifact.pattern for artifact in read_by(step)}
    if key == JOIN:
        patterns |= {artifact.pattern for artifact in step.writes}
    found: Visible = {}
    for record in upstream:
        if record.state == "done":
            found |= {(out.artifact, out.key): out for out in record.outputs if out.artifact in patterns}
    return found


def obstacle(step: Step[Any], key: str, pipeline: Pipeline, upstream: Sequence[ItemRecord]) -> str | None:
    """Why an item is to be skipped: what it stands on was not made."""
    for wait in pipeline.waits(step):
        records = [record for record in upstream if record.step == wait.producer.name]
        lost = [record for record in records if record.state != "done"]
        # Whoever reads the items of all keys goes on with what there is, and a join even where there is nothing.
        is_enough = key == JOIN or (wait.whole and len(lost) < len(records))
        if lost and (not is_enough or lost[0].key in (ALL, JOIN)):
            return _blame(lost[0])
    own = [record for record in upstream if record.step == step.name]
    if key == JOIN and own and all(record.state != "done" for record in own):
        return _blame(own[0])
    if step.each and key != JOIN:
        visible = visible_to(step, key, upstream)
        if not any((artifact.pattern, key) in visible for artifact in step.listed):
            return f"{step.listed[-1].label(key)} was not made"
    return None


def _blame(record: ItemRecord) -> str:
    """The first cause: what was skipped hands on why."""
    if record.state == "skipped" and record.reasons:
        return record.reasons[0]
    return f"{record.name} {'was rejected' if record.state == 'rejected' else 'failed'}"
