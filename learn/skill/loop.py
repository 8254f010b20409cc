"""The loop: roll out, reflect, merge, select, edit, and keep a candidate only if it does better on validation.

A run that was killed is not resumed anywhere in particular. It is done again from its beginning, and everything that
was paid for is at hand: conversations are kept by skill, item and trial, the optimizer's replies by what it was asked.
All else is computed, so the same files come out.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from learn.config import SkillConfig
from learn.skill.conversations import instructions, rendered
from learn.skill.document import Source, distinct_notes, notes_of, replace_notes, skill_digest, with_notes
from learn.skill.ending import ACCEPTED, epoch_figures, finish
from learn.skill.epochs import EpochEnd
from learn.skill.folder import SkillFolder, skill_path, step_path
from learn.skill.items import Items, leaks
from learn.skill.memory import StepEntry, failure_patterns, is_failure, shortened
from learn.skill.optimizer import Minibatch, Optimizer, Reflected, shown_change
from learn.skill.planning import Batch, epoch_plan, minibatches, steps_per_epoch
from learn.skill.records import EpochFigures, SkillSummary, StepRecord
from learn.skill.scores import Row, mean_scores
from learn.skill.standing import Validation
from learn.skill.state import TrainingState
from learn.skill.trials import Trials
from learn.skill.update import SkillCandidate, make_candidate, refusal


class Reflections(NamedTuple):
    """What a step saw and what was proposed."""

    rows: list[Row]
    patches: list[Reflected]
    failed: int
    """Questions without a usable answer."""

    @property
    def useful(self) -> list[Reflected]:
        """Those that propose something."""
        return [patch for patch in self.patches if patch.items]


@dataclass(frozen=True)
class SkillTraining:
    """Trains one skill."""

    settings: SkillConfig
    seed: int
    """Shuffles, and seeds the bootstrap."""
    items: Items
    trials: Trials
    optimizer: Optimizer
    folder: SkillFolder
    secrets: Mapping[str, str]
    """What no skill may hold -> what it is."""
    after_step: Callable[[StepRecord], None] = lambda record: None
    """Called with each step's record."""

    async def run(self, initial: str) -> SkillSummary:
        """Train, from a first skill to the summary.

        Raises:
            ProviderError: Conversations are owed; the same run goes on.
            StopError: The budget is spent.
            TooManyLostError: The simulated user or the world lost too many conversations.
        """
        validation = Validation(self.settings.evaluation, self.trials, self.items.val, self.seed)
        baseline = await validation.of(initial)
        state = TrainingState(initial, baseline, initial, baseline, reached=self.folder.reached())
        self.folder.write_text(skill_path(0), initial)
        state.save(self.folder)
        epochs = EpochEnd(
            self.settings, self.seed, self.items, self.trials, self.optimizer, validation, dict(self.secrets)
        )
        figures: list[EpochFigures] = []
        for epoch in range(1, self.settings.train.num_epochs + 1):
            await self._epoch(state, epoch, validation)
            await epochs.finish(state, epoch, self.folder)
            figures.append(epoch_figures(state, epoch))
            state.save(self.folder)
            if self._is_stuck(state):
                break
        return await finish(
            state,
            initial,
            baseline,
            figures,
            settings=self.settings,
            seed=self.seed,
            items=self.items,
            trials=self.trials,
            validation=validation,
            folder=self.folder,
        )

    def _is_stuck(self, state: TrainingState) -> bool:
        patience = self.settings.evaluation.patience
        return bool(patience) and state.idle >= patience

    async def _epoch(self, state: TrainingState, epoch: int, validation: Validation) -> None:
        train = self.settings.train
        batches = epoch_plan(
            self.items.train,
            batch_size=train.batch_size,
            accumulation=train.accumulation,
            seed=self.seed,
            epoch=epoch,
        )
        state.entries.clear()
        for number, start in enumerate(range(0, len(batches), train.accumulation), start=1):
            if not self._is_stuck(state):
                await self._step(state, epoch, number, batches[start : start + train.accumulation], validation)

    async def _step(
        self, state: TrainingState, epoch: int, in_epoch: int, batches: Sequence[Batch], validation: Validation
    ) -> None:
        step = len(state.history) + 1
        seen = await self._reflected(state, epoch, batches, step_path(step))
        hard, soft = mean_scores(seen.rows)
        found: dict[str, Any] = {
            "step": step,
            "epoch": epoch,
            "step_in_epoch": in_epoch,
            "rollout_hard": hard,
            "rollout_soft": soft,
            "rollout_n": len(seen.rows),
            "n_patches": len(seen.useful),
            "n_failure_patches": sum(patch.source == "failure" for patch in seen.useful),
            "n_success_patches": sum(patch.source == "success" for patch in seen.useful),
            "failed_calls": seen.failed,
            "previous_score": state.standing.score,
            "action": "skip_no_patches",
        }
        candidate = None
        if seen.useful:
            candidate = await self._candidate(state, seen, hard)
            found |= await self._judged(state, candidate, step, validation)
            self._write_candidate(step, candidate)
        await self._add_notes(state, seen.patches, validation)
        self._record(state, found, seen, candidate)

    async def _reflected(self, state: TrainingState, epoch: int, batches: Sequence[Batch], path: str) -> Reflections:
        """Roll out each batch, and reflect on it."""
        number = self.settings.train.trials
        # Each epoch holds conversations of its own, so that a skill that stays is not judged by the same ones again.
        trials = range((epoch - 1) * number, epoch * number)
        rows: list[Row] = []
        answers: list[Reflected | None] = []
        for index, batch in enumerate(batches, start=1):
            of_batch = await self.trials.rows(state.current, batch.ids, trials)
            name = "rollout" if len(batches) == 1 else f"rollout/batch_{index}"
            self.folder.write_rows(f"{path}/{name}/results.jsonl", of_batch)
            rows += of_batch
            questions = [
                self.optimizer.reflect(state.briefing, minibatch)
                for minibatch in self._minibatches(state.current, of_batch, batch.seed)
            ]
            answers += await asyncio.gather(*questions)
        for place, answer in enumerate(answers, start=1):
            if answer is not None:
                kind = "fail" if answer.source == "failure" else "succ"
                self.folder.write_json(f"{path}/patches/minibatch_{kind}_{place:03}.json", [*answer.items])
        return Reflections(rows, [answer for answer in answers if answer is not None], answers.count(None))

    def _minibatches(self, skill: str, rows: Sequence[Row], seed: int) -> Iterator[Minibatch]:
        """Failures, then successes, each shuffled and cut."""
        gradient = self.settings.gradient
        failures = [row for row in rows if is_failure(row)]
        successes = [] if gradient.failure_only else [row for row in rows if not is_failure(row)]
        for group in minibatches(failures, gradient.minibatch_size, seed):
            yield self._minibatch("failure", skill, group)
        for group in minibatches(successes, gradient.minibatch_size, seed + 1):
            yield self._minibatch("success", skill, group)

    def _minibatch(self, source: Source, skill: str, rows: Sequence[Row]) -> Minibatch:
        gradient = self.settings.gradient
        held = [self.trials.conversation(row, skill) for row in rows]
        shown = [
            rendered(row, messages, gradient.longest_trajectory) for row, (_, messages) in zip(rows, held, strict=True)
        ]
        return Minibatch(source, shown, instructions(held, gradient.longest_instruction))

    async def _candidate(self, state: TrainingState, seen: Reflections, hard: float) -> SkillCandidate:
        state.updates += 1
        train = self.settings.train
        steps = steps_per_epoch(len(self.items.train), train.batch_size, train.accumulation)
        return await make_candidate(
            self.optimizer,
            state.briefing,
            seen.useful,
            self.settings,
            hard=hard,
            update=state.updates,
            total=train.num_epochs * steps,
            secrets=self.secrets,
        )

    async def _judged(
        self, state: TrainingState, candidate: SkillCandidate, step: int, validation: Validation
    ) -> dict[str, Any]:
        """Try a candidate and take what the gate accepts; the figures for the record."""
        found: dict[str, Any] = {
            "edit_budget": candidate.budget,
            "n_edits_merged": candidate.merged,
            "n_edits_ranked": len(candidate.changes),
            "leaked_edits": [*candidate.leaked],
            "edits": [*candidate.reports],
        }
        skill = candidate.skill
        if skill is None:
            return found | {"action": "skip_no_rewrite"}
        found |= {"candidate_hash": skill_digest(skill), "candidate_skill_len": len(skill)}
        why = refusal(skill, state.current, self.settings.evaluation.longest_skill, self.secrets)
        if why is not None:
            return found | {"action": "reject", "reason": why}
        standing = await validation.of(skill)
        verdict = validation.verdict(standing, state.standing, state.best_standing, f"step {step}")
        if verdict.decision.is_accepted:
            state.accept(skill, standing, f"step {step}")
        if verdict.decision.is_best:
            state.crown(step)
        return found | {
            "selection_hard": standing.hard,
            "selection_soft": standing.soft,
            "candidate_gate_score": standing.score,
            "gain_p": verdict.gain_p,
            "action": verdict.decision.action,
            "reason": verdict.reason,
        }

    async def _add_notes(self, state: TrainingState, patches: Sequence[Reflected], validation: Validation) -> None:
        """Add reminders to the current skill, which state no rule that is not there, and score it anew."""
        most = self.settings.optimizer.skill_aware_consolidate_threshold
        notes = self._harmless(note for patch in patches for note in patch.notes)
        for note in notes:
            longer = with_notes(state.current, [note])
            if len(longer) <= self.settings.evaluation.longest_skill:
                state.current = longer
        if notes and most and len(notes_of(state.current)) > most:
            shorter = await self.optimizer.shorten(notes_of(state.current), most)
            kept = shortened(notes_of(state.current), None if shorter is None else self._harmless(shorter))
            changed = replace_notes(state.current, kept)
            if len(changed) <= self.settings.evaluation.longest_skill:
                state.current = changed
        if notes:
            # No later gate may compare with the score of another text.
            state.standing = await validation.of(state.current)

    def _harmless(self, notes: Iterable[str]) -> list[str]:
        """Notes as the skill has them, without those that hold what no skill may hold."""
        return [note for note in distinct_notes([*notes]) if not leaks(note, self.secrets)]

    def _write_candidate(self, step: int, candidate: SkillCandidate) -> None:
        path = step_path(step)
        self.folder.write_json(f"{path}/ranked_edits.json", [*candidate.changes])
        self.folder.write_json(f"{path}/edit_apply_report.json", [*candidate.reports])
        if candidate.skill is not None:
            self.folder.write_text(f"{path}/candidate_skill.md", candidate.skill)

    def _record(
        self, state: TrainingState, found: dict[str, Any], seen: Reflections, candidate: SkillCandidate | None
    ) -> None:
        """Keep the step's record, tell the optimizer of it in later steps, and write where the run stands."""
        record = StepRecord(
            **found,
            current_score=state.standing.score,
            best_score=state.best_standing.score,
            best_step=state.best_step,
            current_origin=state.current_origin,
            best_origin=state.best_origin,
            skill_len=len(state.current),
        )
        state.idle = 0 if record.action in ACCEPTED else state.idle + 1
        state.history.append(record)
        labels = [label for patch in seen.patches for label in patch.patterns]
        state.entries.append(
            StepEntry(
                step=record.step,
                action=record.action,
                n_total=len(seen.rows),
                n_fail=sum(map(is_failure, seen.rows)),
                failure_patterns=failure_patterns(seen.rows, labels),
                score_before=record.previous_score,
                score_after=record.candidate_gate_score,
                edits=[shown_change(change) for change in candidate.changes] if candidate else [],
            )
        )
        self.folder.write_json(f"{step_path(record.step)}/trajectory_digest.json", state.entries[-1])
        self.folder.write_json(f"{step_path(record.step)}/step_record.json", record)
        self.folder.write_text(skill_path(record.step), state.current)
        state.save(self.folder)
        self.after_step(record)
