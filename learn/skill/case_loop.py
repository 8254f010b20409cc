"""Recorded runs of the whole loop: a small world, an optimizer whose replies are data, and what came of it."""

import asyncio
import json
import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from learn.config import GateConfig, GradientConfig, OptimizerConfig, SkillConfig, TrainConfig
from learn.skill.case_replies import Given, first, read_reply
from learn.skill.document import Edit
from learn.skill.flat_settings import in_sections
from learn.skill.folder import BEST, HISTORY, STATE, SkillFolder
from learn.skill.items import Items
from learn.skill.loop import SkillTraining
from learn.skill.optimizer import Briefing, Change, Minibatch, Reflected, changes_of
from learn.skill.patches import normalise
from learn.skill.records import SkillSummary
from learn.skill.replies import (
    Guidance,
    LearningRate,
    MergedEdits,
    MetaSkill,
    Ranking,
    RewrittenSkill,
    ShortNotes,
    Suggestion,
    read_json,
)
from learn.skill.schedule import NO_LIMIT
from learn.skill.scores import Row
from learn.skill.trials import HeldConversation
from skillweave.config.llm import ConfigSection

INITIAL = "# Skill\n"
PARTS = ("train", "val", "test")
OUR_NAMES = {"gate_metric": "metric", "gate_mixed_weight": "mixed_weight"}
"""SkillOpt's name of a key -> ours, where they differ."""
SEED = 42


def run_loop(given: Given) -> dict[str, Any]:
    """What the loop gives for a recorded run.

    Args:
        given: `train`, `val`, `test`: the keyword of each item; the replies of the optimizer; `settings`, by SkillOpt's
            flat names.
    """
    keywords = {f"{part}-{place}": word for part in PARTS for place, word in enumerate(given.get(part, []))}
    items = Items(*(tuple(id for id in keywords if id.startswith(part)) for part in PARTS))
    choices = dict(given.get("settings", {}))
    settings = _settings(choices)
    optimizer = RecordedOptimizer(given, settings)
    with tempfile.TemporaryDirectory() as root:
        training = SkillTraining(
            settings=settings,
            seed=int(choices.get("seed", SEED)),
            items=items,
            trials=KeywordTrials(keywords),
            optimizer=optimizer,
            folder=SkillFolder(Path(root)),
            secrets={},
        )
        summary = asyncio.run(training.run(str(first(given, "initial_skill", "skill", default=INITIAL))))
        return _outcome(Path(root), summary, optimizer)


def _settings(choices: Mapping[str, Any]) -> SkillConfig:
    """Our settings for SkillOpt's flat ones; those that we do not have are left out."""
    sections = in_sections(choices)
    optimizer = dict(sections.get("optimizer", {}))
    if optimizer.pop("lr_control_mode", "fixed") == "autonomous":
        optimizer["lr_scheduler"] = "autonomous"
    elif optimizer.get("lr_scheduler") == "autonomous":
        # Without that mode, SkillOpt's schedule of this name asks nobody and sets no limit.
        optimizer |= {"lr_scheduler": "constant", "learning_rate": NO_LIMIT}
    most = optimizer.get("learning_rate", 4)
    optimizer["min_learning_rate"] = min(most, optimizer.get("min_learning_rate", 2))
    chosen = {**sections, "optimizer": optimizer}
    known: dict[str, type[ConfigSection]] = {
        "train": TrainConfig,
        "gradient": GradientConfig,
        "optimizer": OptimizerConfig,
        "evaluation": GateConfig,
    }
    ours = {section: _ours(chosen.get(section, {}), model) for section, model in known.items()}
    return SkillConfig.model_validate(ours)


def _ours(keys: Mapping[str, Any], model: type[ConfigSection]) -> dict[str, Any]:
    """A section's keys by our names."""
    named = {OUR_NAMES.get(key, key): value for key, value in keys.items()}
    return {key: value for key, value in named.items() if key in model.model_fields}


def _outcome(root: Path, summary: SkillSummary, optimizer: "RecordedOptimizer") -> dict[str, Any]:
    history = json.loads((root / HISTORY).read_text("utf-8")) if (root / HISTORY).exists() else []
    state = json.loads((root / STATE).read_text("utf-8"))
    mode = optimizer.settings.optimizer.skill_update_mode
    test = {name: score.hard for name, score in summary.test.items()}
    return {
        "steps": [_step(record, mode == "full_rewrite_minibatch") for record in history],
        "best_step": summary.best_step,
        "best_skill": (root / BEST).read_text("utf-8"),
        "final_current_skill": (root / state["current_skill_path"]).read_text("utf-8"),
        "test_baseline": test.get("initial"),
        "test_best": test.get("best"),
        "accepts": summary.total_accepts,
        "rejects": summary.total_rejects,
        "skips": summary.total_skips,
        "optimizer_calls": dict(optimizer.calls),
    }


def _step(record: Mapping[str, Any], is_rewritten: bool) -> dict[str, Any]:
    """A step as cases record it.

    A candidate that equals the current skill has its score, though it was not tried. A step without patches has nothing
    to merge. Where reflections write whole skills there is no budget, and SkillOpt counts all merged ones as kept.
    """
    is_empty = record["action"] == "skip_no_patches"
    kept = record["n_edits_merged"] if is_rewritten else record["n_edits_ranked"]
    return {
        "step": record["step"],
        "epoch": record["epoch"],
        "budget": None if is_rewritten else record["edit_budget"],
        "merged": None if is_empty else record["n_edits_merged"],
        "kept": None if is_empty else kept,
        "candidate": record["previous_score" if record["reason"] == "unchanged" else "candidate_gate_score"],
        "action": record["action"],
        "current": record["current_score"],
        "best": record["best_score"],
    }


@dataclass(frozen=True)
class KeywordTrials:
    """A world in which an item passes if the skill holds its keyword."""

    keywords: Mapping[str, str]
    """Item -> keyword."""

    async def rows(self, skill: str, ids: Sequence[str], trials: range) -> list[Row]:
        """As `Trials.rows`."""
        return [self._row(skill, id, trial) for id in ids for trial in trials]

    def _row(self, skill: str, id: str, trial: int) -> Row:
        word = self.keywords[id]
        if word in skill:
            return Row(id=id, trial=trial, hard=1.0, soft=1.0)
        return Row(id=id, trial=trial, hard=0.0, soft=0.25, fail_reason=f"missing: {word}")

    def conversation(self, row: Row, skill: str) -> HeldConversation:
        """As `Trials.conversation`."""
        return HeldConversation("", [])


@dataclass
class RecordedOptimizer:
    """An optimizer whose replies are data. Reflections take them in order, again and again."""

    given: Given
    settings: SkillConfig
    calls: Counter[str] = field(default_factory=Counter)
    """Kind of question -> how often it was asked."""

    async def reflect(self, briefing: Briefing, minibatch: Minibatch) -> Reflected | None:
        """As `Optimizer.reflect`."""
        replies = first(self.given, "analyst_edits_in_call_order_cyclic", "analyst_edits", default=[[]])
        notes = first(self.given, "analyst_notes_in_call_order_cyclic", "analyst_notes", default=[[]])
        place = self.calls["analyst"]
        self.calls["analyst"] += 1
        reply = replies[place % len(replies)]
        if not isinstance(reply, list):
            return None
        proposed = [self._change(item) for item in reply][: self.settings.optimizer.learning_rate]
        items = normalise(proposed, source=minibatch.source, batch_size=len(minibatch.conversations))
        takes_notes = self.settings.optimizer.use_skill_aware_reflection
        return Reflected(minibatch.source, tuple(items), (), tuple(notes[place % len(notes)]) if takes_notes else ())

    def _change(self, item: Mapping[str, Any]) -> Any:
        mode = self.settings.optimizer.skill_update_mode
        if mode == "patch":
            return Edit.model_validate(item)
        text = first(item, "new_skill", "instruction", "content", default="")
        return RewrittenSkill(new_skill=text) if mode == "full_rewrite_minibatch" else Suggestion(instruction=text)

    def _reply(self, kind: str, *names: str) -> Any:
        """Count a question, and find its reply."""
        self.calls[kind] += 1
        return first(self.given, *names)

    async def merge(self, briefing: Briefing, patches: Sequence[Sequence[Change]], source: str) -> list[Change] | None:
        """As `Optimizer.merge`."""
        merged = read_reply(self._reply("merge", "merge_reply"), MergedEdits)
        return None if merged is None else changes_of(merged)

    async def rank(self, briefing: Briefing, pool: Sequence[Change], budget: int) -> list[int] | None:
        """As `Optimizer.rank`."""
        reply = self._reply("ranking", "ranker_reply")
        ranking = read_reply(reply, Ranking)
        return [*map(int, re.findall(r"\d+", str(reply)))] if ranking is None else ranking.selected_indices

    async def learning_rate(self, briefing: Briefing, pool: Sequence[Change], hard: float) -> int | None:
        """As `Optimizer.learning_rate`."""
        reply = self._reply("lr_autonomous", "lr_reply", "learning_rate_reply", "autonomous_reply")
        is_bare = isinstance(reply, int) or (isinstance(reply, str) and read_json(reply) is None)
        answer = read_reply({"learning_rate": reply} if is_bare else reply, LearningRate)
        return None if answer is None else answer.learning_rate

    async def rewrite(self, briefing: Briefing, suggestions: Sequence[Change]) -> str | None:
        """As `Optimizer.rewrite`."""
        return _text(self._reply("rewrite", "rewrite_reply"), "new_skill")

    async def guidance(self, briefing: Briefing, before: str, earlier: str, comparison: str) -> Guidance | None:
        """As `Optimizer.guidance`."""
        text = _text(self._reply("slow_update", "slow_update_reply"), "slow_update_content")
        return None if text is None else Guidance(slow_update_content=text)

    async def meta_skill(self, briefing: Briefing, before: str, comparison: str) -> MetaSkill | None:
        """As `Optimizer.meta_skill`."""
        text = _text(self._reply("meta_skill", "meta_skill_reply"), "meta_skill_content")
        return None if text is None else MetaSkill(meta_skill_content=text)

    async def shorten(self, notes: Sequence[str], most: int) -> list[str] | None:
        """As `Optimizer.shorten`."""
        answer = read_reply(self._reply("appendix_consolidate", "consolidate_reply", "notes_reply"), ShortNotes)
        return None if answer is None else answer.appendix_notes


def _text(reply: Any, name: str) -> str | None:
    """The text of a reply, which may stand under a name in JSON."""
    if isinstance(reply, str):
        decoded = read_json(reply)
        reply = decoded if isinstance(decoded, Mapping) else {name: reply}
    text = reply.get(name) if isinstance(reply, Mapping) else None
    return text if isinstance(text, str) and text.strip() else None
