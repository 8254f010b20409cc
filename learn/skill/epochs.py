"""The end of an epoch: guidance and notes for the optimizer, from what changed between two epochs' skills.

The first epoch leaves an empty region for guidance. Later ones try the skill of the epoch before and that of now on the
same items of train.
"""

from collections.abc import Sequence

from learn.config import SkillConfig
from learn.skill.conversations import rendered
from learn.skill.document import guidance_of, has_guidance, skill_digest, with_guidance
from learn.skill.folder import SkillFolder, skill_path
from learn.skill.items import Items, leaks
from learn.skill.memory import Category, categories, compared, top_up_order
from learn.skill.optimizer import Optimizer
from learn.skill.planning import minibatch_order
from learn.skill.records import ComparedItem, MetaSkillRecord, SlowUpdateRecord
from learn.skill.replies import Guidance
from learn.skill.scores import Row, mean_scores
from learn.skill.standing import Validation
from learn.skill.state import TrainingState
from learn.skill.trials import Trials

SEED_STRIDE = 2000
"""Between the seeds of two epochs' samples."""
LONGEST_EXAMPLE = 2500
"""Characters of a conversation in a comparison."""


class Comparison:
    """The same items, tried with two skills."""

    def __init__(self, before: dict[str, Row], after: dict[str, Row], kinds: dict[str, Category]) -> None:
        self.before = before
        self.after = after
        self.kinds = kinds

    def records(self) -> list[ComparedItem]:
        """One for each item."""
        return [self._record(id, kind) for id, kind in self.kinds.items()]

    def _record(self, id: str, kind: Category) -> ComparedItem:
        before, after = self.before.get(id), self.after.get(id)
        either = after or before
        return ComparedItem(
            id=id,
            task=either.task_description if either else "",
            category=kind,
            prev_hard=before.hard if before else None,
            curr_hard=after.hard if after else None,
            prev_fail_reason=before.fail_reason if before else "",
            curr_fail_reason=after.fail_reason if after else "",
        )


class EpochEnd:
    """Ends the epochs of one run."""

    def __init__(
        self,
        settings: SkillConfig,
        seed: int,
        items: Items,
        trials: Trials,
        optimizer: Optimizer,
        validation: Validation,
        secrets: dict[str, str],
    ) -> None:
        self._settings = settings
        self._seed = seed
        self._items = items
        self._trials = trials
        self._optimizer = optimizer
        self._validation = validation
        self._secrets = secrets
        self._before: str | None = None
        """The skill at the end of the epoch before."""

    async def finish(self, state: TrainingState, epoch: int, folder: SkillFolder) -> None:
        """Update guidance and notes, as the settings say, and write what came of it."""
        choice = self._settings.optimizer
        before, self._before = self._before, state.current
        if before is None:
            if choice.use_slow_update:
                if not has_guidance(state.current):
                    state.current = with_guidance(state.current, "")
                self._write_slow(folder, SlowUpdateRecord(epoch=epoch, action="inject_empty"))
        elif choice.use_slow_update or choice.use_meta_skill:
            comparison = await self._comparison(before, state.current, epoch)
            shown = self._shown(comparison, before, state.current)
            if choice.use_slow_update:
                await self._slow_update(state, epoch, before, comparison, shown, folder)
            if choice.use_meta_skill:
                await self._meta_skill(state, epoch, before, shown, folder)
            name = "slow_update" if choice.use_slow_update else "meta_skill"
            folder.write_json(f"{name}/epoch_{epoch:02}/comparison_pairs.json", comparison.records())
        self._before = state.current
        if state.history:
            folder.write_text(skill_path(state.history[-1].step), state.current)

    async def _comparison(self, before: str, now: str, epoch: int) -> Comparison:
        """Items of train, tried with both skills."""
        choice = self._settings.optimizer
        seed = self._seed + SEED_STRIDE * epoch
        order = minibatch_order(self._items.train, seed)
        wanted = order[: choice.slow_update_samples]
        old, new = await self._rows(before, wanted, epoch), await self._rows(now, wanted, epoch)
        kinds = categories(old.values(), new.values(), wanted)
        if choice.longitudinal_pair_policy == "changed":
            kept = {id: kinds[id] for id in compared(kinds, "changed")}
            for id in top_up_order(self._items.train, wanted, seed):
                if len(kept) >= choice.slow_update_samples:
                    break
                old |= await self._rows(before, [id], epoch)
                new |= await self._rows(now, [id], epoch)
                more = categories([old[id]] if id in old else [], [new[id]] if id in new else [], [id])
                kept |= {id: more[id] for id in compared(more, "changed")}
            return Comparison(old, new, kept)
        return Comparison(old, new, {id: kinds[id] for id in compared(kinds, choice.longitudinal_pair_policy)})

    async def _rows(self, skill: str, ids: Sequence[str], epoch: int) -> dict[str, Row]:
        """The first trial of this epoch of each item."""
        first = (epoch - 1) * self._settings.train.trials
        rows = await self._trials.rows(skill, ids, range(first, first + 1))
        return {row.id: row for row in rows}

    def _shown(self, comparison: Comparison, before: str, now: str) -> str:
        """The comparison for the optimizer, by what changed; of what always succeeded only how often."""
        parts: list[str] = []
        for kind in ("regressed", "improved", "persistent_fail"):
            for id in (id for id, category in comparison.kinds.items() if category == kind):
                parts.append(f"## {kind}")
                parts += self._example("before", comparison.before.get(id), before)
                parts += self._example("now", comparison.after.get(id), now)
        stable = sum(category == "stable_success" for category in comparison.kinds.values())
        return "\n\n".join([*parts, f"{stable} more succeeded with both."])

    def _example(self, when: str, row: Row | None, skill: str) -> list[str]:
        if row is None:
            return []
        return [f"### {when}", rendered(row, self._trials.conversation(row, skill).messages, LONGEST_EXAMPLE)]

    async def _slow_update(
        self,
        state: TrainingState,
        epoch: int,
        before: str,
        comparison: Comparison,
        shown: str,
        folder: SkillFolder,
    ) -> None:
        answer = await self._optimizer.guidance(state.briefing, before, guidance_of(state.current), shown)
        record = SlowUpdateRecord(
            epoch=epoch,
            action="skip_no_guidance",
            prev_hard=mean_scores([*comparison.before.values()])[0],
            curr_hard=mean_scores([*comparison.after.values()])[0],
        )
        if answer is not None and answer.slow_update_content.strip():
            record = await self._guided(state, epoch, answer, record, folder)
        self._write_slow(folder, record)

    async def _guided(
        self, state: TrainingState, epoch: int, answer: Guidance, record: SlowUpdateRecord, folder: SkillFolder
    ) -> SlowUpdateRecord:
        """Put guidance into the skill: always, or if the gate lets it pass. Its score is measured in any case."""
        text = answer.slow_update_content
        given: dict[str, object] = {"reasoning": answer.reasoning, "slow_update_content": text}
        given["previous_score"] = given["current_score"] = state.standing.score
        candidate = with_guidance(state.current, text)
        leaked = leaks(guidance_of(candidate), self._secrets)
        folder.write_text(f"slow_update/epoch_{epoch:02}/candidate_skill.md", candidate)
        if leaked or len(candidate) > self._settings.evaluation.longest_skill:
            return record.model_copy(update=given | {"action": "reject"})
        standing = await self._validation.of(candidate)
        given |= {"selection_hard": standing.hard, "selection_soft": standing.soft}
        given["candidate_hash"] = skill_digest(candidate)
        if self._settings.optimizer.slow_update_gate_with_selection:
            verdict = self._validation.verdict(standing, state.standing, state.best_standing, f"slow update {epoch}")
            action = verdict.decision.action
        else:
            action = "force_accept"
        if action != "reject":
            state.accept(candidate, standing, f"slow update {epoch}")
            given["current_score"] = standing.score
        if action == "accept_new_best":
            state.crown(state.history[-1].step)
        return record.model_copy(update=given | {"action": action})

    async def _meta_skill(self, state: TrainingState, epoch: int, before: str, shown: str, folder: SkillFolder) -> None:
        answer = await self._optimizer.meta_skill(state.briefing, before, shown)
        record = MetaSkillRecord(epoch=epoch, action="skip_no_answer")
        if answer is not None and answer.meta_skill_content.strip():
            state.meta = answer.meta_skill_content
            record = MetaSkillRecord(
                epoch=epoch, action="update", reasoning=answer.reasoning, meta_skill_content=state.meta
            )
        folder.write_json(f"meta_skill/epoch_{epoch:02}/meta_skill_result.json", record)

    def _write_slow(self, folder: SkillFolder, record: SlowUpdateRecord) -> None:
        folder.write_json(f"slow_update/epoch_{record.epoch:02}/slow_result.json", record)
