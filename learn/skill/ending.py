"""The end of a run: the last skill may still be the best one, test, and the summary."""

from collections.abc import Sequence

from learn.config import SkillConfig
from learn.skill.folder import SUMMARY, SkillFolder
from learn.skill.gate import gain_p
from learn.skill.items import Items
from learn.skill.records import EpochFigures, PartScore, SkillSummary
from learn.skill.scores import Row
from learn.skill.standing import Standing, Validation, part_score
from learn.skill.state import TrainingState
from learn.skill.trials import Trials, by_item
from rollout.trajectory import skill_text

ACCEPTED = ("accept", "accept_new_best", "force_accept")


def epoch_figures(state: TrainingState, epoch: int) -> EpochFigures:
    """The steps of an epoch that has just ended."""
    records = [record for record in state.history if record.epoch == epoch]
    return EpochFigures(
        epoch=epoch,
        steps=len(records),
        accepts=sum(record.action in ACCEPTED for record in records),
        rejects=sum(record.action == "reject" for record in records),
        skips=sum(record.action.startswith("skip") for record in records),
        best_score_at_epoch_end=state.best_standing.score,
        current_score_at_epoch_end=state.standing.score,
    )


async def finish(
    state: TrainingState,
    initial: str,
    baseline: Standing,
    epochs: Sequence[EpochFigures],
    *,
    settings: SkillConfig,
    seed: int,
    items: Items,
    trials: Trials,
    validation: Validation,
    folder: SkillFolder,
) -> SkillSummary:
    """Score the last skill, try the first, the best and the last one on test, and write the summary.

    Args:
        state: Where the run stands.
        initial: The first skill.
        baseline: Its standing.
        epochs: The figures of each epoch.
        settings: The section `skill`.
        seed: The run's seed.
        items: The items.
        trials: Tries skills.
        validation: Scores and compares skills.
        folder: The run's folder.
    """
    if skill_text(state.current) != skill_text(state.best):
        # Notes and guidance may have changed the current skill after its last trial.
        standing = await validation.of(state.current)
        if validation.verdict(standing, state.best_standing, state.best_standing, "final").decision.is_best:
            state.accept(state.current, standing, state.current_origin)
            state.crown(state.history[-1].step)
    final = await validation.of(state.current)
    tests: dict[str, list[Row]] = {}
    if settings.evaluation.eval_test:
        for name, skill in (("initial", initial), ("best", state.best), ("final", state.current)):
            tests[name] = await trials.rows(skill, items.test, range(settings.evaluation.trials))
            folder.write_rows(f"test_eval/{name}/results.jsonl", tests[name])
    summary = SkillSummary(
        baseline_selection_hard=baseline.hard,
        best_selection_hard=state.best_standing.hard,
        final_selection_hard=final.hard,
        final_selection_soft=final.soft,
        best_step=state.best_step,
        best_origin=state.best_origin,
        current_origin=state.current_origin,
        total_steps=len(state.history),
        total_accepts=sum(epoch.accepts for epoch in epochs),
        total_rejects=sum(epoch.rejects for epoch in epochs),
        total_skips=sum(epoch.skips for epoch in epochs),
        validations=validation.count,
        epoch_stats=[*epochs],
        **_tested(tests, seed),
    )
    folder.write_json(SUMMARY, summary)
    state.save(folder, finished=True)
    return summary


def _tested(tests: dict[str, list[Row]], seed: int) -> dict[str, object]:
    """The fields of the summary that are about test."""
    if not tests:
        return {}
    scores: dict[str, PartScore] = {name: part_score(rows, seed) for name, rows in tests.items()}
    first, best = by_item(tests["initial"], "hard"), by_item(tests["best"], "hard")
    return {
        "test": scores,
        "test_delta_hard": scores["best"].hard - scores["initial"].hard,
        "test_gain_p": gain_p(best, first, seed=f"{seed}/test"),
    }
