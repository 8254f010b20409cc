"""`ladder`: the scripted agents over the same tasks, in a table and in `evaluation/ladder.json`."""

import shlex
from pathlib import Path

from evaluator.report.results import LADDER, write_ladder
from evaluator.report.terminal import show_ladder
from rollout.cli.options import RolloutOptions
from rollout.ladder import AGENTS, chosen, climb
from skillweave.base.command import one_line
from skillweave.base.progress import progress
from skillweave.base.store import Store


def run_ladder(options: RolloutOptions, sample: int | None) -> int:
    """The exit status: 1 where the agents do not stand in order. Raises ConfigError, ArtifactError."""
    config = options.load()
    tasks = chosen(config, sample)
    evaluation = Path(config.outputs_dir, "evaluation")
    store = Store(evaluation, "evaluation", option="--outputs-dir")
    store.prepare()
    with progress("conversations", len(tasks) * len(AGENTS)) as shown:
        ladder = climb(config, tasks, sample, config.execution.workers, shown.advance)
    write_ladder(store, ladder)
    show_ladder(ladder)
    outputs = shlex.quote(config.outputs_dir)
    failed = f"{ladder.oracle_failed[0]}*" if ladder.oracle_failed else None
    following = (
        f"python -m rollout run --outputs-dir {outputs} --tasks {shlex.quote(failed)}"
        if failed
        else f"python -m synth verify {outputs}"
    )
    print(one_line(f"wrote {shlex.quote(str(evaluation / LADDER))}; next: {following}"))
    return 1 if ladder.wrong else 0
