"""What our functions give for recorded cases in which a model replies, and how inputs of cases are read."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from learn.skill.document import Source, as_count, as_text
from learn.skill.memory import StepEntry, failure_patterns, render_entries, shortened
from learn.skill.patches import merge_patches, normalise, select
from learn.skill.replies import (
    FailureKind,
    LearningRate,
    MergedEdits,
    MergedRewrites,
    MergedSuggestions,
    Ranking,
    read_json,
    read_notes,
)
from learn.skill.schedule import autonomous_budget
from learn.skill.scores import Row

R = TypeVar("R", bound=BaseModel)
Given = Mapping[str, Any]
"""The input of a case."""


def first(given: Given, *names: str, default: Any = None) -> Any:
    """The first of several names that is given."""
    return next((given[name] for name in names if name in given), default)


def number(value: Any) -> float:
    """A score; 0 for what is no number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def read_reply(reply: Any, model: type[R]) -> R | None:
    """A model's reply, as text or decoded; None if it is not usable."""
    try:
        return model.model_validate(read_json(reply) if isinstance(reply, str) else reply)
    except ValidationError:
        return None


def read_rows(results: Any) -> list[Row]:
    return [
        Row(
            id=str(result.get("id", "?")),
            hard=number(result.get("hard", 0)),
            soft=number(result.get("soft", 0)),
            fail_reason=as_text(result.get("fail_reason", "")),
        )
        for result in results or []
        if isinstance(result, Mapping)
    ]


def _select(given: Given) -> dict[str, Any]:
    ranking = read_reply(first(given, "ranker_reply", "reply"), Ranking)
    budget = int(first(given, "budget", "max_edits", default=4))
    return {"kept": select(given.get("pool", []), budget, ranking.selected_indices if ranking else None)}


def _autonomous_lr(given: Given) -> dict[str, Any]:
    reply = read_reply(given.get("reply"), LearningRate)
    decision = autonomous_budget(reply.learning_rate if reply else None, int(given.get("available", 0)))
    return {
        "learning_rate": decision.budget,
        "raw_learning_rate": decision.chosen,
        "clamped": decision.budget != decision.chosen,
        "fallback": decision.is_fallback,
    }


def _aggregate(given: Given) -> dict[str, Any]:
    replies = list(given.get("merge_replies", []))
    mode = _payload(given)
    calls = 0

    async def merge(group: Sequence[Sequence[Any]], level: int, source: str) -> list[Any] | None:
        nonlocal calls
        calls += 1
        reply = replies[min(calls, len(replies)) - 1] if replies else None
        raw = read_json(reply) if isinstance(reply, str) else reply
        if not isinstance(raw, Mapping) or read_reply(raw, PAYLOADS[mode][0]) is None:
            return None
        return [_name(item) for item in first(raw, mode, "suggestions", default=[])]

    failure, success = (
        [[_name(item) for item in patch] for patch in first(given, f"{source}_patches", source, default=[])]
        for source in ("failure", "success")
    )
    size = int(first(given, "merge_batch_size", "batch_size", default=8))
    merged = asyncio.run(merge_patches(failure, success, merge_batch_size=size, merge=merge))
    return {"merged": merged, "model_calls": calls}


PAYLOADS: dict[str, tuple[type[BaseModel], str]] = {
    "edits": (MergedEdits, "edits"),
    "revise_suggestions": (MergedSuggestions, "suggestions"),
    "skill_candidates": (MergedRewrites, "skill_candidates"),
}
"""SkillOpt's name for what is proposed -> the answer with several of them, and our name."""


def _payload(given: Given) -> str:
    """SkillOpt's name for what is proposed in an update mode."""
    mode = str(first(given, "update_mode", "mode", "skill_update_mode", default="patch"))
    return "skill_candidates" if "full" in mode else "revise_suggestions" if "rewrite" in mode else "edits"


def _name(item: Any) -> Any:
    """What a case calls a proposal: its text."""
    names = ("content", "instruction", "new_skill", "title", "name", "id", "target")
    return next((item[name] for name in names if item.get(name)), item) if isinstance(item, Mapping) else item


def _normalise(given: Given) -> dict[str, Any]:
    payload = _payload(given)
    model, field = PAYLOADS[payload]
    patches: dict[str, list[Any]] = {"failure": [], "success": []}
    for raw in first(given, "raw", "raw_patches", "patches", default=[]):
        patch = raw.get("patch", raw) if isinstance(raw, Mapping) else None
        if not isinstance(patch, Mapping):
            continue
        proposed = patch.get(payload)
        items = [item for item in proposed if isinstance(item, Mapping)] if isinstance(proposed, list) else []
        reply = read_reply({payload: items}, model)
        if items and reply is not None:
            source: Source = "success" if raw.get("source_type") == "success" else "failure"
            noted = normalise(getattr(reply, field), source=source, batch_size=as_count(raw.get("batch_size")))
            stamps = [item.model_dump(include={"source_type", "support_count"}) for item in noted]
            stamped = [{**item, **stamp} for item, stamp in zip(items, stamps, strict=True)]
            patches[source].append({**patch, payload: stamped})
    return patches


def _notes_parse(given: Given) -> dict[str, Any]:
    reply = given.get("reply")
    if isinstance(reply, str):
        reply = read_json(reply)
    notes = read_notes(reply.get("appendix_notes")) if isinstance(reply, Mapping) else []
    return {"notes": shortened(given["notes"], notes) if "notes" in given else notes}


def _json_extract(given: Given) -> dict[str, Any]:
    hints = [f"{key} {value}".lower() for key, value in given.items() if key != "text" and value]
    is_list = any("array" in hint or "list" in hint for hint in hints)
    return {"value": read_json(as_text(given.get("text")), is_list=is_list)}


def _step_buffer(given: Given) -> dict[str, Any]:
    entries = first(given, "entries", "buffer")
    if entries is not None:
        return {"text": render_entries([_entry(entry) for entry in entries])}
    labels = [label for key, value in given.items() if key != "results" for label in _labels(value)]
    patterns = failure_patterns(read_rows(given.get("results")), labels)
    return {"patterns": [pattern.model_dump() for pattern in patterns]}


def _entry(raw: Given) -> StepEntry:
    known = {key: value for key, value in raw.items() if key in StepEntry.model_fields}
    edits = [as_text(_name(edit)) for edit in raw.get("rejected_edits") or []]
    return StepEntry.model_validate({"n_total": 0, "n_fail": 0, **known, "edits": edits})


def _labels(value: Any) -> Iterator[FailureKind]:
    """What analysts say about failures, wherever it stands in a value."""
    if isinstance(value, Mapping) and "failure_type" in value:
        yield FailureKind.model_validate(value)
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _labels(part)


REPLY_AREAS: dict[str, Callable[[Given], dict[str, Any]]] = {
    "aggregate": _aggregate,
    "autonomous_lr": _autonomous_lr,
    "json_extract": _json_extract,
    "normalise": _normalise,
    "notes_parse": _notes_parse,
    "select": _select,
    "step_buffer": _step_buffer,
}
"""Area -> what our functions give for an input of it."""
