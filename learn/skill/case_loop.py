"""A recorded run of SkillOpt's whole loop, done again by ours.

Its world is a toy: an item is passed if its keyword stands in the skill. The optimizer's replies are data of the case,
given in the order of its questions, again and again.
"""

import asyncio
import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from learn.config import OptimizerConfig, SkillConfig
from learn.skill.document import Edit
from learn.skill.flat_settings import flatten
from learn.skill.folder import SkillFolder
from learn.skill.items import Items
from learn.skill.loop import SkillTraining
from learn.skill.optimizer import Briefing, Change, Minibatch, Reflected
from learn.skill.patches import normalise
from learn.skill.records import StepRecord
from learn.skill.replies import Guidance, MetaSkill, RewrittenSkill, Suggestion, read_json
from learn.skill.schedule import read_count
from learn.skill.scores import Row
from skillweave.schema.trajectory import Message

SEED = 42
"""SkillOpt's, if the case gives none."""
PLACES: dict[str, tuple[str, str]] = {
    "num_epochs": ("train", "num_epochs"),
    "batch_size": ("train", "batch_size"),
    "accumulation": ("train", "accumulation"),
    "minibatch_size": ("gradient", "minibatch_size"),
    "merge_batch_size": ("gradient", "merge_batch_size"),
    "failure_only": ("gradient", "failure_only"),
    "edit_budget": ("optimizer", "learning_rate"),
    "min_edit_budget": ("optimizer", "min_learning_rate"),
    "lr_scheduler": ("optimizer", "lr_scheduler"),
    "skill_update_mode": ("optimizer", "skill_update_mode"),
    "use_slow_update": ("optimizer", "use_slow_update"),
    "slow_update_samples": ("optimizer", "slow_update_samples"),
    "slow_update_gate_with_selection": ("optimizer", "slow_update_gate_with_selection"),
    "longitudinal_pair_policy": ("optimizer", "longitudinal_pair_policy"),
    "use_meta_skill": ("optimizer", "use_meta_skill"),
    "use_skill_aware_reflection": ("optimizer", "use_skill_aware_reflection"),
    "skill_aware_appendix_source": ("optimizer", "skill_aware_appendix_source"),
    "use_gate": ("evaluation", "use_gate"),
    "gate_metric": ("evaluation", "metric"),
    "gate_mixed_weight": ("evaluation", "mixed_weight"),
    "eval_test": ("evaluation", "eval_test"),
}
"""SkillOpt's flat name -> section and key of ours."""
MODES = {"patch": Edit, "rewrite_from_suggestions": Suggestion, "full_rewrite_minibatch": RewrittenSkill}


class KeywordTrials:
    """Trials in the toy world."""

    def __init__(self, keywords: Mapping[str, str]) -> None:
        """Args:
        keywords: Item -> the text that a skill needs for it.
        """
        self._keywords = keywords

    async def rows(self, skill: str, ids: Sequence[str], trials: range) -> list[Row]:
        """As `Trials.rows`."""
        return [self._row(skill, id) for _ in trials for id in ids]

    def messages(self, row: Row, skill: str) -> Sequence[Message]:
        """Nothing was said."""
        return []

    def _row(self, skill: str, id: str) -> Row:
        passed = self._keywords[id] in skill
        reason = "" if passed else f"missing: {self._keywords[id]}"
        return Row(id=id, hard=float(passed), soft=1.0 if passed else 0.25, fail_reason=reason)


class RecordedOptimizer:
    """Answers with the replies of a case, and counts the questions as SkillOpt calls them."""

    def __init__(self, given: Mapping[str, Any], mode: str, most: int) -> None:
        self._given = given
        self._kind: Any = MODES[mode]
        self._most = most
        self.calls: Counter[str] = Counter()

    async def reflect(self, briefing: Briefing, minibatch: Minibatch) -> Reflected | None:
        """The next list of edits."""
        lists = self._given.get("analyst_edits_in_call_order_cyclic") or [[]]
        proposed = lists[self.calls["analyst"] % len(lists)]
        self.calls["analyst"] += 1
        if not isinstance(proposed, list):
            return None
        items = [self._kind.model_validate(item) for item in proposed[: self._most]]
        noted = normalise(items, source=minibatch.source, batch_size=len(minibatch.conversations))
        return Reflected(minibatch.source, tuple(noted))

    async def merge(self, briefing: Briefing, patches: Sequence[Sequence[Change]], source: str) -> list[Change] | None:
        """What the case's reply holds, if it can be read."""
        self.calls["merge"] += 1
        reply = self._given.get("merge_reply")
        value = read_json(reply) if isinstance(reply, str) else reply
        edits = value.get("edits") if isinstance(value, Mapping) else None
        return [self._kind.model_validate(edit) for edit in edits] if isinstance(edits, list) else None

    async def rank(self, briefing: Briefing, pool: Sequence[Change], budget: int) -> list[int] | None:
        """The numbers in the case's reply."""
        self.calls["ranking"] += 1
        reply = self._given.get("ranker_reply")
        return [int(number) for number in re.findall(r"\d+", str(reply))] if reply is not None else None

    async def learning_rate(self, briefing: Briefing, pool: Sequence[Change], hard: float) -> int | None:
        """The number in the case's reply."""
        self.calls["lr_autonomous"] += 1
        return read_count(self._given.get("lr_reply", self._given.get("autonomous_lr_reply")))

    async def rewrite(self, briefing: Briefing, suggestions: Sequence[Change]) -> str | None:
        """The case's reply."""
        self.calls["rewrite"] += 1
        reply = self._given.get("rewrite_reply")
        return reply if isinstance(reply, str) and reply.strip() else None

    async def guidance(self, briefing: Briefing, before: str, earlier: str, comparison: str) -> Guidance | None:
        """The case's reply."""
        self.calls["slow_update"] += 1
        reply = self._given.get("slow_update_reply")
        return Guidance(slow_update_content=reply) if isinstance(reply, str) and reply.strip() else None

    async def meta_skill(self, briefing: Briefing, before: str, comparison: str) -> MetaSkill | None:
        """The case's reply, or a fixed one."""
        self.calls["meta_skill"] += 1
        return MetaSkill(meta_skill_content=str(self._given.get("meta_skill_reply", "META")))

    async def shorten(self, notes: Sequence[str], most: int) -> list[str] | None:
        """No answer."""
        self.calls["appendix_consolidate"] += 1
        return None


def loop_outcome(given: Mapping[str, Any]) -> dict[str, Any]:
    """Do a recorded run again.

    Args:
        given: Keywords of `train`, `val` and `test`, `settings`, and the optimizer's replies.

    Returns:
        Its steps, skills and scores, and how often the optimizer was asked.

    Raises:
        ConfigError: A setting is not allowed.
    """
    flat = flatten(given.get("settings", {}))
    settings = _settings(flat)
    parts = {part: [str(word) for word in given.get(part, [])] for part in ("train", "val", "test")}
    keywords = {f"{part}{place}": word for part, words in parts.items() for place, word in enumerate(words)}
    ids = {part: tuple(f"{part}{place}" for place in range(len(words))) for part, words in parts.items()}
    optimizer = RecordedOptimizer(given, settings.optimizer.skill_update_mode, settings.optimizer.learning_rate)
    with tempfile.TemporaryDirectory() as folder:
        training = SkillTraining(
            settings,
            int(flat.get("seed", SEED)),
            Items(**ids),
            trials=KeywordTrials(keywords),
            optimizer=optimizer,
            folder=SkillFolder(Path(folder)),
            secrets={},
        )
        summary = asyncio.run(training.run(str(given.get("initial_skill", "# Skill\n"))))
        store = training.folder.store
        final = store.read(f"skills/skill_v{summary.total_steps:04}.md").decode()
        records = [
            StepRecord.model_validate_json(store.read(f"steps/step_{number:04}/step_record.json"))
            for number in range(1, summary.total_steps + 1)
        ]
        return {
            "steps": [*map(_step, records)],
            "best_step": summary.best_step,
            "best_skill": store.read("best_skill.md").decode(),
            "final_current_skill": final,
            "test_baseline": summary.test["initial"].hard if summary.test else None,
            "test_best": summary.test["best"].hard if summary.test else None,
            "accepts": summary.total_accepts,
            "rejects": summary.total_rejects,
            "skips": summary.total_skips,
            "optimizer_calls": dict(sorted(optimizer.calls.items())),
        }


def _settings(flat: Mapping[str, Any]) -> SkillConfig:
    sections: dict[str, dict[str, Any]] = {}
    for name, value in flat.items():
        if name in PLACES:
            section, key = PLACES[name]
            sections.setdefault(section, {})[key] = value
    if flat.get("lr_control_mode") == "autonomous":
        sections.setdefault("optimizer", {})["lr_scheduler"] = "autonomous"
    optimizer = sections.get("optimizer", {})
    if "learning_rate" in optimizer:
        least = optimizer.get("min_learning_rate", OptimizerConfig().min_learning_rate)
        optimizer["min_learning_rate"] = min(optimizer["learning_rate"], least)
    return SkillConfig.model_validate(sections)


def _step(record: StepRecord) -> dict[str, Any]:
    """A step as the case has it."""
    skipped = record.edit_budget is None
    is_tried = record.action not in ("skip_no_patches", "skip_no_rewrite")
    score = record.candidate_gate_score
    return {
        "step": record.step,
        "epoch": record.epoch,
        "budget": record.edit_budget,
        "merged": None if skipped else record.n_edits_merged,
        "kept": None if skipped else record.n_edits_ranked,
        # A candidate that is the current skill is not tried again.
        "candidate": record.previous_score if is_tried and score is None else score,
        "action": record.action,
        "current": record.current_score,
        "best": record.best_score,
    }
