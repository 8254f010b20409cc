"""The command `rollout run`: what is asked for, which conversations are not there yet, and what it says of them."""

import asyncio
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rollout.cli.dry_run import describe_usage, show_forecast
from rollout.folder import USER_SHARE, FolderState, RolloutFolder, RunFigures
from rollout.forecast import Forecast
from rollout.parts import blamed, said
from rollout.shards import (
    Pair,
    Sink,
    hold_here,
    hold_in_shards,
    is_held_here,
    let_go,
    open_source,
    opened_cast,
    servers_of,
    skill_of,
    starts_servers,
)
from rollout.task import TaskSource
from rollout.world.source import WorldTasks, reasoning_warnings, user_config, user_warning
from skillweave.base.command import command_line, counted, one_line, percent, repeat_line, shell_word
from skillweave.base.errors import ConfigError, SkillweaveError, StopError
from skillweave.base.progress import ProgressDisplay, progress
from skillweave.base.store import digest_text, locked
from skillweave.base.text import hide_secrets
from skillweave.config.load import CONFIG, load_config, named_config
from skillweave.config.sections import Config
from skillweave.llm.connections import fixed_settings
from skillweave.llm.ledger import Ledger, cost_in_words
from skillweave.plugins import load_plugins
from skillweave.schema.record import Json
from skillweave.schema.task import Split
from skillweave.selection import first_in_turns, matching_ids
from skillweave.text_calls import NO_PARSER
from skillweave.workers import require_runner


@dataclass(frozen=True)
class RolloutOptions:
    config: Path | None
    """None: `config.yaml`, or the defaults if there is none."""
    rollouts: Path
    tasks: Sequence[str] = ()
    split: Split | None = None
    limit: int | None = None
    is_dry: bool = False
    """Only say what would be held, and what it would take."""
    may_move: bool = False
    """Whether the agent's server may be another one in a later run, since the model is the run's own."""
    overrides: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    """Dotted path of a key -> the value of its option; None if the option was not used."""

    def load(self) -> Config:
        """Load the configuration, with overrides and options, and its plug-ins.

        Raises:
            ConfigError: The file, a key or a plug-in is wrong.
        """
        values = {path: value for path, value in self.values.items() if value is not None}
        config = load_config(named_config(self.config), self.overrides, values)
        load_plugins(config.plugins)
        return config


def selected(source: TaskSource, values: Sequence[str], limit: int | None, split: Split | None = None) -> list[str]:
    """Select the tasks of a run.

    Args:
        source: All tasks.
        values: Ids, patterns of ids, or `@FILE`, as `matching_ids` takes them. None given: all tasks match.
        limit: The most tasks to take, as `first_in_turns` takes them. A larger limit adds tasks and replaces none.
        split: Only tasks of this split; None: of any.

    Returns:
        Ids of the selected tasks.

    Raises:
        ConfigError: A value matches no task, none of them is of the split, a file cannot be read, or the source's tasks
            are of no split.
    """
    if split is not None and not isinstance(source, WorldTasks):
        raise ConfigError("--split chooses among the tasks of a dataset; those of rollout.parts.tasks are of no split")
    ids = matching_ids(source.ids(), values)
    if not isinstance(source, WorldTasks):
        return first_in_turns(ids, limit)
    if split is not None:
        of_split = frozenset(source.ids(split))
        ids = [id for id in ids if id in of_split]
        if not ids:
            where = "of those that --tasks names " if values else ""
            raise ConfigError(f"no task {where}is of the split {split!r}")
    return first_in_turns(ids, limit, source.dataset.tasks)


def owed(ids: Sequence[str], trials: int, done: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Task id and trial of each trajectory that is not done yet, trial by trial."""
    return ((id, trial) for trial in range(trials) for id in ids if f"{id}#{trial}" not in done)


FREE_SETTINGS = frozenset({"trials", "timeout_s", "max_concurrency", "max_parallel_agents", "processes"})
"""Settings of `rollout` that a later run on the same folder may change."""
LIMITS = frozenset({"max_turns", "max_calls"})
RECORDED_OTHERWISE = frozenset({"agent", "user", "parts", "skill"}) | LIMITS
"""Settings of `rollout` that `run.json` holds in a form of its own."""


def run_record(config: Config, source: TaskSource, options: RolloutOptions) -> dict[str, Json]:
    """The content of `run.json`: all settings that change a trajectory, and under `asked` the last request.

    Every setting of `rollout` counts that is not in `FREE_SETTINGS`, so that none is forgotten.
    """
    asked: dict[str, Json] = {"tasks": [*options.tasks], "split": options.split, "limit": options.limit}
    moving = ("base_url", "serve") if options.may_move else ()
    rollout = config.rollout
    parts: dict[str, Any] = rollout.parts.model_dump(mode="json")
    return {
        "format": "skillweave/1",
        "seed": config.seed,
        "agent": {name: value for name, value in fixed_settings(rollout.agent).items() if name not in moving},
        "user": fixed_settings(user_config(rollout)),
        "task_set": parts.pop("tasks"),
        "dataset": _digest(source),
        "parts": parts,
        "skill": digest_text(skill) if (skill := skill_of(rollout)) else None,
        "limits": rollout.model_dump(mode="json", include={*LIMITS}),
        **rollout.model_dump(mode="json", exclude={*FREE_SETTINGS, *RECORDED_OTHERWISE}),
        "asked": {**asked, "trials": rollout.trials},
    }


def _digest(source: TaskSource) -> str:
    digest = source.digest
    if not isinstance(digest, str):
        raise ConfigError(f"the digest of the task source is {digest!r}; it must be a text")
    return digest


class Display:
    def __init__(self, shown: ProgressDisplay, ledger: Ledger) -> None:
        self._shown = shown
        self._ledger = ledger
        self._begun = time.monotonic()
        self._started = 0

    def started(self) -> None:
        """Count a conversation that begins."""
        self._started += 1

    def ended(self, tally: RunFigures) -> None:
        """Show that a conversation ended. The tally counts it already."""
        self._shown.advance(tally.done, self._note(tally))

    def _note(self, tally: RunFigures) -> str:
        spent = self._ledger.total()
        tokens = (spent.input_tokens + spent.output_tokens) / max(time.monotonic() - self._begun, 1e-9)
        parts = [f"{self._started - tally.done} running"] if self._started else []
        if tokens >= 1:
            parts.append(f"{tokens:,.0f} tokens/s")
        if spent.cost_usd or spent.unpriced:
            parts.append(cost_in_words(spent.cost_usd, spent.unpriced))
        if tally.scored:
            parts.append(f"{percent(tally.passed / tally.scored)} passed")
        if tally.errors:
            parts.append(f"{sum(tally.errors.values())} errors")
        return ", ".join(parts)


@contextmanager
def display(total: int, ledger: Ledger) -> Iterator[Display]:
    """Show progress in the form that standard output supports.

    Args:
        total: The number of conversations to hold.
        ledger: The run's usage and cost.
    """
    with progress("conversations", total) as shown:
        yield Display(shown, ledger)


MOST = 5
"""The most unreadable tasks, and the most torn lines, that are shown."""
SHOWN = 300
"""Characters of an error that are shown."""


def show_report(
    config: Config, options: RolloutOptions, held: FolderState, asked: int, tally: RunFigures, spent: StopError | None
) -> int:
    """Print the summary of a run.

    Args:
        config: The configuration of the run.
        options: The command line's options.
        held: What the folder held before the run.
        asked: The number of trajectories that were owed at the start.
        tally: The figures of this run.
        spent: Why the run stopped early; None if it did not.

    Returns:
        The exit status: 1 if trajectories are owed or lost to defects of the dataset.
    """
    for place in held.torn[:MOST]:
        print(f"{one_line(str(options.rollouts / place))}: torn, counts for nothing")
    if len(held.torn) > MOST:
        print(f"and {len(held.torn) - MOST} more torn lines, which count for nothing")
    if not asked:
        print(f"nothing to do: {options.rollouts} holds all requested trajectories, {len(held.done)} in all")
    elif tally.done:
        _show_tally(config, tally)
    for place in tally.unreadable[:MOST]:
        print(f"  cannot be read: {one_line(place)}")
    if tally.user_share > USER_SHARE:
        print(
            f"warning: {percent(tally.user_share)} of the conversations were lost to the simulated user "
            f"{user_config(config.rollout).model}: its answers were empty, held invented figures or repeated "
            "the agent; try another model",
            file=sys.stderr,
        )
    if tally.calls_as_text:
        print(f"warning: {tally.calls_as_text} of {tally.replies} {NO_PARSER}", file=sys.stderr)
    if config.rollout.record_tokens and tally.done and not tally.tokens_kept:
        print("warning: rollout.record_tokens is set, but the endpoint returned no tokens", file=sys.stderr)
    if spent is not None:
        print(f"stopped: {one_line(str(spent))}", file=sys.stderr)
    left = asked - tally.done + tally.owed
    defects = tally.errors["world"]
    rollouts = shell_word(options.rollouts)
    if defects:
        verify = command_line("synth", "verify", Path(config.outputs_dir))
        print(f"{counted(defects, 'trajectory')} lost to defects of the dataset; wrote {rollouts}; next: {verify}")
    elif left:
        kept = len(held.done) + asked - left
        print(f"{counted(left, 'trajectory')} owed, {kept:,} kept in {rollouts}; next: {repeat_line()}")
    else:
        print(f"wrote {rollouts}; next: {_scoring(config, options)}")
    return 1 if left or defects else 0


def _scoring(config: Config, options: RolloutOptions) -> str:
    """The command that scores these rollouts."""
    outputs, name = Path(config.outputs_dir), options.rollouts.name
    results = Path(outputs, "evaluation", "" if name == "rollouts" else name, "results.jsonl")
    words: list[str | Path] = ["--rollouts-dir", options.rollouts, "--outputs-dir", outputs, "--output", results]
    if options.config is not None and options.config != CONFIG:
        words += ["--config", options.config]
    return command_line("evaluator", "run", *words)


def _show_tally(config: Config, tally: RunFigures) -> None:
    users = f" with {', '.join(sorted(tally.users))}" if tally.users else ""
    share = (
        f", {tally.passed} of {tally.scored} passed ({percent(tally.passed / tally.scored)})" if tally.scored else ""
    )
    print(f"{tally.done} conversations of {', '.join(sorted(tally.agents))}{users}{share}")
    print(f"  ended by: {_listed(tally.stops)}; {tally.turns} turns, {tally.calls} calls")
    cost = "cost unknown: give prices in llm.prices" if tally.cost_usd is None else f"{tally.cost_usd:.2f} USD"
    print(f"  tokens: {tally.input_tokens:,} in, {tally.output_tokens:,} out, {cost}")
    if tally.users:
        lost = f"{tally.errors['user']} of {tally.done} conversations lost to the user"
        print(
            f"  {tally.sent_back} answers of the user sent back (empty, invented figures, or the agent's "
            f"own words); {lost} (no usable answer)"
        )
    for kind, count in sorted(tally.errors.items()):
        print(f"  {count} {kind} errors, the first: {one_line(tally.first_errors[kind])[:SHOWN]}")


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def run_rollouts(options: RolloutOptions) -> int:
    """Hold the conversations that the options request.

    Returns:
        The exit status: 1 if trajectories are owed or lost to defects of the dataset.

    Raises:
        ConfigError: The configuration is wrong, or the folder belongs to another run.
        ArtifactError: The dataset or the folder cannot be read.
    """
    config = options.load()
    require_runner(config.execution)
    folder = RolloutFolder(options.rollouts)
    folder.store.refuse_other_than_folder()
    if options.is_dry:
        return _show_dry_run(config, options, folder)
    try:
        return asyncio.run(_run(config, options, folder))
    except SystemExit as error:
        # A task of one's own that called `sys.exit(0)` ended the run as if all were done.
        raise SkillweaveError(f"the run broke off: {said(error)}; what was finished is kept") from error


def _show_dry_run(config: Config, options: RolloutOptions, folder: RolloutFolder) -> int:
    source, missing_keys = open_source(config)
    ids = _selected_of_same_run(config, source, options, folder)
    held = folder.held()
    worlds = {id: source.record(id).world if isinstance(source, WorldTasks) else "general" for id in ids}
    trials = config.rollout.trials
    show_forecast(
        Forecast(config, source, folder), worlds, trials, held, list(owed(ids, trials, held.done)), missing_keys
    )
    return 0


def _selected_of_same_run(
    config: Config, source: TaskSource, options: RolloutOptions, folder: RolloutFolder
) -> list[str]:
    """Ids of the selected tasks. Raises ConfigError as `selected`, and if the folder belongs to another run."""
    with blamed("tasks", config.rollout.parts.tasks):
        ids = selected(source, options.tasks, options.limit, options.split)
        folder.compare(run_record(config, source, options))
    return ids


def _say_cost(forecast: Forecast, pairs: Sequence[Pair]) -> None:
    """Say what the conversations will cost, if that is known and more than nothing."""
    if not forecast.asks_models or not forecast.is_known or not pairs:
        return
    low, high = forecast.of(id for id, _ in pairs)
    if forecast.cost(high):
        print(f"{counted(len(pairs), 'conversation')}: {describe_usage(forecast, low, high)}", flush=True)


async def _run(config: Config, options: RolloutOptions, folder: RolloutFolder) -> int:
    print(one_line(hide_secrets(f"reading the tasks for {config.rollout.agent.model}")), flush=True)
    for warning in filter(None, [user_warning(config.rollout), *reasoning_warnings(config.rollout)]):
        print(one_line(warning), flush=True)
    if starts_servers(config):
        # A server takes minutes to start: what a run would refuse then is refused before.
        source = open_source(config).source
        try:
            _selected_of_same_run(config, source, options, folder)
        finally:
            await let_go(source)
    async with servers_of(config, options.rollouts) as servers, opened_cast(config, options.rollouts, servers) as cast:
        with blamed("tasks", config.rollout.parts.tasks):
            ids = selected(cast.source, options.tasks, options.limit, options.split)
            record = run_record(config, cast.source, options)
        folder.store.prepare()
        with locked(folder.store), ExitStack() as temporary:
            folder.store.clean()
            temporary.enter_context(folder.temporary_files())
            for setting in folder.fix(record):
                print(one_line(f"run.json of {str(options.rollouts)!r} is older and does not say {setting}, as now"))
            folder.take_over_left()
            held = folder.held()
            pairs = list(owed(ids, config.rollout.trials, held.done))
            _say_cost(Forecast(config, cast.source, folder), pairs)
            if isinstance(cast.source, WorldTasks):
                # A difference would lose each conversation of its world by itself.
                await cast.source.check(id for id, _ in pairs)
            tally, spent = RunFigures(), None
            with display(len(pairs), cast.ledger) as shown:
                sink = Sink(folder.append, tally, shown.started, shown.ended)
                try:
                    if is_held_here(config):
                        await hold_here(config, cast, pairs, sink)
                    else:
                        await hold_in_shards(config, folder, pairs, servers, sink)
                except StopError as error:
                    spent = error
        return show_report(config, options, held, len(pairs), tally, spent)
