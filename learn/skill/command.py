"""The command `learn skill`: opens what a run needs, trains or only scores, and says what came of it."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import get_args

from pydantic import TypeAdapter, ValidationError

from learn.config import LearnConfig
from learn.forecast import PlannedTalks, show_planned
from learn.skill.folder import BEST, EVALUATION, REPLIES, ROLLOUTS, USAGE, SkillFolder
from learn.skill.items import FOLDER_SOURCE, PARTS, Items, Part, chosen_items, leaks, secrets_of
from learn.skill.loop import SkillTraining
from learn.skill.optimizer import ModelOptimizer
from learn.skill.page import write_skill_page
from learn.skill.planning import minibatch_order, steps_per_epoch
from learn.skill.records import SkillSummary, StepRecord
from learn.skill.run_files import UsageRow
from learn.skill.standing import part_score
from learn.skill.trials import RolloutTrials
from learn.traces.command import write_traces
from rollout.cli.run import RolloutOptions, run_record
from rollout.forecast import Forecast
from rollout.shards import Cast, open_source, opened_cast, servers_of
from rollout.world.source import WorldTasks, reasoning_warnings
from skillweave.base.command import command_line, one_line, percent, rollout_line, shell_word
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.store import digest_text, locked
from skillweave.base.text import UnreadableTextError, read_user_text
from skillweave.config.llm import AuthorConfig
from skillweave.config.load import load_section
from skillweave.llm.connections import Connections, check_authors, fixed_settings
from skillweave.llm.ledger import Ledger, cost_in_words
from skillweave.llm.models import spec_of, split_name
from skillweave.llm.replay import CachedBackend
from skillweave.plugins import load_plugins
from skillweave.schema.record import Json
from skillweave.schema.reports import QuestionMetrics

FIRST_SKILL = "# Skill\n"


@dataclass(frozen=True)
class SkillOptions:
    """The command line's options."""

    config: Path
    overrides: tuple[str, ...] = ()
    out: Path | None = None
    eval_only: bool = False
    skill: Path | None = None
    split: str | None = None
    is_dry: bool = False
    """Only say what would be held, and what it would take."""

    def load(self) -> LearnConfig:
        """Load the configuration and its plug-ins. Raises ConfigError."""
        given = {} if self.out is None else {"skill.out_root": str(self.out)}
        config = load_section(LearnConfig, self.config, self.overrides, given)
        load_plugins(config.plugins)
        if config.rollout.skill is not None:
            raise ConfigError("rollout.skill is what agents would read besides; begin with it by skill.skill_init")
        return _with_items(config)

    def parts(self) -> Sequence[Part]:
        """The parts that `--split` names. Raises ConfigError."""
        if self.split in (None, "all"):
            return PARTS
        named = [part for part in get_args(Part) if part == self.split]
        if not named:
            raise ConfigError(f"--split {self.split!r} names no part; give {', '.join(PARTS)} or all")
        return named


def _with_items(config: LearnConfig) -> LearnConfig:
    """The configuration with the folder of items as its source of tasks, if it names one."""
    folder = config.skill.items.split_dir
    if folder is None:
        return config
    parts = config.rollout.parts.model_copy(update={"tasks": FOLDER_SOURCE, "options": {"split_dir": folder}})
    return config.model_copy(update={"rollout": config.rollout.model_copy(update={"parts": parts})})


def run_skill(options: SkillOptions) -> int:
    """Train a skill, or score one.

    Returns:
        The exit status: 1 if conversations are owed.

    Raises:
        ConfigError: The configuration is wrong, or the folder holds another run.
        ArtifactError: The dataset, the items or the folder cannot be read.
        ProviderError: A model cannot be reached, or the budget is spent; the same command goes on.
    """
    if options.eval_only != (options.skill is not None):
        raise ConfigError("--eval-only and --skill FILE belong together: score that skill, and train none")
    if options.split is not None and not options.eval_only:
        raise ConfigError("--split is for --eval-only; training takes its parts from skill.items")
    config = options.load()
    folder = SkillFolder(Path(config.skill.out_root))
    folder.refuse_others()
    initial = read_skill(options.skill if options.skill is not None else config.skill.skill_init)
    if options.is_dry:
        _show_dry_run(options, config)
        return 0
    folder.store.prepare()
    with locked(folder.store):
        folder.store.clean()
        return asyncio.run(_run(options, config, folder, initial))


def _show_dry_run(options: SkillOptions, config: LearnConfig) -> None:
    source, missing_keys = open_source(config)
    items, forecast, skill = chosen_items(source, config.skill.items), Forecast(config, source), config.skill
    tried, train, choice = skill.evaluation.trials, skill.train, skill.optimizer
    if options.eval_only:
        scored = [PlannedTalks(f"score the skill on {part}", items.of(part), tried) for part in options.parts()]
        show_planned(forecast, scored, (), missing_keys)
        return
    author = _optimizer_author(config)
    missing_keys = [*dict.fromkeys([*missing_keys, *check_authors(config.llm, [author])])]
    steps = train.num_epochs * steps_per_epoch(len(items.train), train.batch_size, train.accumulation)
    later = train.num_epochs - 1
    compared = minibatch_order(items.train, None)[: choice.slow_update_samples]
    planned = [
        PlannedTalks("score the first skill on validation", items.val, tried),
        PlannedTalks("see what to learn from on train", items.train, train.num_epochs * train.trials),
        PlannedTalks("score each step's candidate on validation", items.val, steps * tried),
    ]
    if choice.use_slow_update or choice.use_meta_skill:
        planned.append(PlannedTalks("compare each epoch's skill with the one before", compared, 2 * later))
    if choice.use_slow_update:
        planned.append(PlannedTalks("score each epoch's guidance on validation", items.val, later * tried))
    if choice.use_skill_aware_reflection:
        planned.append(PlannedTalks("score each step's notes on validation", items.val, steps * tried))
    if skill.evaluation.eval_test:
        planned.append(PlannedTalks("score the first, the best and the last skill on test", items.test, 3 * tried))
    shown = len(items.train) * train.num_epochs * train.trials
    questions = ceil(shown / skill.gradient.minibatch_size) + 2 * steps
    show_planned(
        forecast,
        planned,
        [
            "a skill is not tried again on what it was tried on, and what the folder holds is not held again",
            f"on top come about {questions:,} questions to the optimizer {author.model}",
        ],
        missing_keys,
    )


def _optimizer_author(config: LearnConfig) -> AuthorConfig:
    """Who reflects and edits. Raises ConfigError if it cannot."""
    author: AuthorConfig = config.skill.model or config.llm.textual
    if split_name(author.model)[0] == "offline":
        raise ConfigError(
            f"{author.model!r} cannot reflect on conversations; name a model in skill.model, for example "
            "'openai/gpt-5', or module:Class/model for an optimizer of your own"
        )
    return author


def read_skill(path: Path | str | None) -> str:
    """The text of a skill; a heading alone without a file. Raises ConfigError if the file cannot be read."""
    if path is None:
        return FIRST_SKILL
    try:
        return read_user_text(Path(path))
    except UnreadableTextError as error:
        raise ConfigError(f"the skill {str(path)!r} cannot be read: {error}; name a Markdown file") from error


async def _run(options: SkillOptions, config: LearnConfig, folder: SkillFolder, initial: str) -> int:
    root = folder.store.root
    for warning in reasoning_warnings(config.rollout):
        print(one_line(warning), flush=True)
    async with AsyncExitStack() as stack:
        servers = await stack.enter_async_context(servers_of(config, root))
        cast = await stack.enter_async_context(opened_cast(config, root, servers))
        items = chosen_items(cast.source, config.skill.items)
        trials = RolloutTrials(config, root / ROLLOUTS, cast, config.skill.lost_limit)
        usage = UsageFile(folder, cast.ledger)
        stack.callback(usage.write)
        if options.eval_only:
            return await _evaluate(options, config, folder, trials, items, initial)
        secrets = _secrets(config, cast, items, initial)
        optimizer = await _optimizer(stack, config, folder, cast.ledger)
        folder.fix(_settings(config, cast, items, initial))

        def after_step(record: StepRecord) -> None:
            usage.write()
            print(one_line(step_line(record)), flush=True)

        training = SkillTraining(
            config.skill,
            config.seed,
            items,
            trials=trials,
            optimizer=optimizer,
            folder=folder,
            secrets=secrets,
            after_step=after_step,
        )
        summary = await training.run(initial)
        usage.write()
        _show(options, config, folder, trials, cast, initial, summary)
    return 0


def _secrets(config: LearnConfig, cast: Cast, items: Items, initial: str) -> dict[str, str]:
    """What the skill may not hold, without what the first skill holds: every candidate would be rejected for that.

    Raises:
        ConfigError: The first skill is too long, so every candidate would be rejected.
    """
    longest = config.skill.evaluation.longest_skill
    if len(initial) > longest:
        raise ConfigError(
            f"the first skill has {len(initial)} characters, more than skill.evaluation.longest_skill allows, which "
            f"is {longest}; shorten it, or raise the limit"
        )
    secrets = secrets_of(cast.source, items)
    held = {text: what for text, what in secrets.items() if leaks(initial, {text: what})}
    if held:
        named = leaks(initial, held)
        print(one_line(f"the first skill holds {named[0]}, {len(named)} in all; this is not held against candidates"))
    return {text: what for text, what in secrets.items() if text not in held}


async def _optimizer(stack: AsyncExitStack, config: LearnConfig, folder: SkillFolder, ledger: Ledger) -> ModelOptimizer:
    """The optimizer. Its replies are kept in the folder, so that none is asked for twice."""
    author = _optimizer_author(config)
    # Replies are kept here and not with those of other runs: two runs are two samples.
    connections = Connections(config.llm, ledger=ledger, folder=folder.store.root, caches=False)
    backend = CachedBackend(connections.connect(author), folder.store.path(REPLIES), spec_of(author, config.llm).source)
    stack.push_async_callback(backend.close)
    return ModelOptimizer(backend, ledger, config.skill.optimizer, config.llm.continuations)


def _settings(config: LearnConfig, cast: Cast, items: Items, initial: str) -> dict[str, Json]:
    """The content of `config.json`: all that decides what comes out. No key is in it."""
    skill = config.skill
    train = skill.train
    author: AuthorConfig = skill.model or config.llm.textual
    chosen: dict[str, Json] = {part: [*items.of(part)] for part in PARTS}
    run = run_record(config, cast.source, RolloutOptions(Path(), Path()))
    steps = steps_per_epoch(len(items.train), train.batch_size, train.accumulation)
    return {
        "format": "skillweave/1",
        "skill": skill.model_dump(mode="json", exclude={"out_root", "model", "skill_init"}),
        "optimizer": fixed_settings(author),
        "rollout": {name: value for name, value in run.items() if name != "asked"},
        "initial_skill": digest_text(initial),
        "items": {part: digest_text(json.dumps(ids)) for part, ids in chosen.items()},
        "train_size": len(items.train),
        "val_size": len(items.val),
        "test_size": len(items.test),
        "steps_per_epoch": steps,
        "batches_per_epoch": steps * train.accumulation,
        "samples_per_epoch": len(items.train) * train.trials,
    }


_ROWS = TypeAdapter(list[UsageRow])


class UsageFile:
    """`usage.json`: what all commands on the folder used, by question and model."""

    def __init__(self, folder: SkillFolder, ledger: Ledger) -> None:
        self._folder = folder
        self._ledger = ledger
        self._earlier: dict[str, UsageRow] = {}
        if folder.store.exists(USAGE):
            try:
                read = _ROWS.validate_json(folder.store.read(USAGE))
            except ValidationError as error:
                raise ArtifactError(
                    f"{USAGE} of {str(folder.store.root)!r} cannot be read: {error.errors()[0]['msg']}; remove it, and "
                    "what earlier commands used is no longer shown"
                ) from error
            self._earlier = {f"{row.question} {row.author}": row for row in read}

    def write(self) -> None:
        """Write the sum of earlier commands and of this one."""
        now = {f"{entry.question} {entry.author}": entry for entry in self._ledger.askings()}
        rows: list[Json] = []
        for name in sorted({*now, *self._earlier}):
            question, _, author = name.partition(" ")
            before = self._earlier.get(name, UsageRow(question=question, cost_usd=0))
            entry = now.get(name, QuestionMetrics(question=question, author=author))
            row: dict[str, Json] = {"question": question, "author": author}
            # Agents and users are not asked questions: each of their replies counts.
            row["asked"] = before.asked + (entry.asked or entry.replies)
            for field in ("input_tokens", "output_tokens"):
                row[field] = getattr(before, field) + getattr(entry, field)
            is_known = before.cost_usd is not None and not entry.unpriced
            row["cost_usd"] = (before.cost_usd or 0) + entry.cost_usd if is_known else None
            rows.append(row)
        self._folder.write_json(USAGE, rows)


async def _evaluate(
    options: SkillOptions, config: LearnConfig, folder: SkillFolder, trials: RolloutTrials, items: Items, skill: str
) -> int:
    """Score a skill on parts of the items."""
    scores: dict[str, Json] = {}
    for part in options.parts():
        rows = await trials.rows(skill, items.of(part), range(config.skill.evaluation.trials))
        score = part_score(rows, config.seed)
        scores[part] = score.model_dump(mode="json")
        print(
            f"{part}: {percent(score.hard)} of {score.n} items passed ({percent(score.low)} to {percent(score.high)}), "
            f"soft {score.soft:.3f}"
        )
    folder.write_json(EVALUATION, {"skill": str(options.skill), "digest": digest_text(skill), "splits": scores})
    written = shell_word(folder.store.root / EVALUATION)
    print(f"wrote {written}; next: {_use(options, config, Path(str(options.skill)))}")
    return 0


def step_line(record: StepRecord) -> str:
    """A step in one line."""
    line = f"step {record.step} (epoch {record.epoch}): {percent(record.rollout_hard)} of {record.rollout_n} passed"
    line += f", {record.n_patches} patches, {record.n_edits_ranked} of {record.n_edits_merged} changes"
    if record.candidate_gate_score is not None:
        line += f"; validation {record.previous_score:.3f} -> {record.candidate_gate_score:.3f}"
    return f"{line}: {record.action}{f' ({record.reason})' if record.reason else ''}"


def _use(options: SkillOptions, config: LearnConfig, skill: Path) -> str:
    """The command that uses a skill: rolls agents out with it, or scores it on questions of a folder."""
    if config.skill.items.split_dir is not None:
        config_file = options.config
        return command_line(
            "learn", "skill", "--config", config_file, "--eval-only", "--skill", skill, "--split", "test"
        )
    given = ("--split", "test", "--set", f"rollout.skill={json.dumps(str(skill), ensure_ascii=False)}")
    return rollout_line(Path(config.outputs_dir), Path("rollouts-with-skill"), *given, config=options.config)


def _show(
    options: SkillOptions,
    config: LearnConfig,
    folder: SkillFolder,
    trials: RolloutTrials,
    cast: Cast,
    initial: str,
    summary: SkillSummary,
) -> None:
    """Write the pages, and print how it ended."""
    root = folder.store.root
    page = write_skill_page(root)
    print(
        f"{summary.total_steps} steps: {summary.total_accepts} accepted, {summary.total_rejects} rejected, "
        f"{summary.total_skips} skipped; validation {summary.baseline_selection_hard:.3f} -> "
        f"{summary.best_selection_hard:.3f} ({summary.best_origin}, best of {summary.validations} tried)"
    )
    for name, score in summary.test.items():
        print(
            f"  test, {name}: {percent(score.hard)} of {score.n} items passed "
            f"({percent(score.low)} to {percent(score.high)})"
        )
    total = cast.ledger.total()
    print(f"  cost of this command: {cost_in_words(total.cost_usd, total.unpriced)}")
    best = root / BEST
    if summary.test and isinstance(cast.source, WorldTasks):
        before, after = trials.folder_of(initial), trials.folder_of(best.read_text("utf-8"))
        if before != after:
            write_traces(
                before,
                after,
                Path(config.outputs_dir),
                root / "traces",
                title_before="first skill",
                title_after="best skill",
                split="test",
                config=config,
            )
    print(f"wrote {shell_word(page)}; next: {_use(options, config, best)}")
