"""The commands and their options. Each command loads its module when it runs, so that `--help` is instant."""

from pathlib import Path
from typing import Annotated

import typer

from skillweave.base.command import command_line, run_command

app = typer.Typer(
    name="evaluator",
    help="Scores rollouts by replay, and explains what failed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Rollouts = Annotated[Path, typer.Option("--rollouts-dir", help="Trajectories: a folder, or one file.")]
Outputs = Annotated[
    str | None, typer.Option("--outputs-dir", "--outputs", help="The dataset, instead of the configuration's.")
]
Worlds = Annotated[
    Path | None, typer.Option("--mcp-outputs-dir", help="Where the worlds are, if not beside the tasks.")
]
Output = Annotated[
    Path | None,
    typer.Option("--output", help="The file of results; by default evaluation/results.jsonl in the dataset."),
]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="The configuration file, if not config.yaml.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", help="Override a key: dotted.path=YAML value. Repeats.", metavar="KEY=VALUE"),
]
Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", help="A module of one's own with checks or kinds of task. Repeats.", metavar="MODULE"),
]
Workers = Annotated[int | None, typer.Option("--max-workers", help="Workers that evaluate.")]
Runner = Annotated[str | None, typer.Option("--runner", help="Where they work: threads (processes here), dask or ray.")]
NoPrune = Annotated[bool, typer.Option("--no-prune", help="Demand every golden call, the needless too.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Make every result and every golden replay anew.")]
Subjective = Annotated[
    bool, typer.Option("--enable-subjective", help="Have llm.judge answer the rubric and judge the manner.")
]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Tell each line that could not be scored.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Only errors, and the last line.")]
Results = Annotated[Path, typer.Argument(help="A results.jsonl, or the folder that holds it.")]
Agent = Annotated[
    str | None, typer.Option("--agent", metavar="NAME", help="Only this agent's, where there are several.")
]
User = Annotated[str | None, typer.Option("--user", metavar="NAME", help="Only those with this simulated user.")]


@app.callback()
def _program() -> None:
    """Scores rollouts by replay, and explains what failed."""


@app.command()
def run(
    rollouts_dir: Rollouts = Path("rollouts"),
    outputs_dir: Outputs = None,
    mcp_outputs_dir: Worlds = None,
    output: Output = None,
    mode: Annotated[str, typer.Option(help="all, single (one check: --evaluator) or prune (golden calls).")] = "all",
    evaluator: Annotated[str | None, typer.Option(metavar="NAME", help="The one check of --mode single.")] = None,
    no_prune: NoPrune = False,
    no_cache: NoCache = False,
    max_workers: Workers = None,
    runner: Runner = None,
    enable_subjective: Subjective = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
    config: ConfigFile = None,
    overrides: Overrides = None,
    plugin: Plugins = None,
) -> None:
    """Score every rollout by replay. Writes results, a summary and a report."""
    from evaluator.cli.options import EvaluationOptions

    options = EvaluationOptions(
        rollouts=rollouts_dir,
        config_file=config,
        mcp_outputs=mcp_outputs_dir,
        output_file=output,
        mode=mode,
        check=evaluator,
        prune=not no_prune,
        cache=not no_cache,
        verbose=verbose,
        quiet=quiet,
        overrides=tuple(overrides or ()),
        plugins=tuple(plugin or ()),
        values=_values(outputs_dir, max_workers, enable_subjective, runner),
    )
    options.check_consistency()
    if mode == "prune":
        from evaluator.cli.results import run_prune

        raise typer.Exit(run_prune(options))
    from evaluator.cli.run import run_evaluation

    raise typer.Exit(run_evaluation(options))


@app.command()
def rescore(
    rollouts_dir: Rollouts = Path("rollouts"),
    outputs_dir: Outputs = None,
    mcp_outputs_dir: Worlds = None,
    output: Output = None,
    max_workers: Workers = None,
    runner: Runner = None,
    enable_subjective: Subjective = False,
    quiet: Quiet = False,
    config: ConfigFile = None,
    overrides: Overrides = None,
    plugin: Plugins = None,
) -> None:
    """Score old rollouts again, and list every result that flipped. For when a check or the dataset has changed."""
    from evaluator.cli.options import EvaluationOptions
    from evaluator.cli.run import run_rescore

    options = EvaluationOptions(
        rollouts=rollouts_dir,
        config_file=config,
        mcp_outputs=mcp_outputs_dir,
        output_file=output,
        quiet=quiet,
        overrides=tuple(overrides or ()),
        plugins=tuple(plugin or ()),
        values=_values(outputs_dir, max_workers, enable_subjective, runner),
    )
    raise typer.Exit(run_rescore(options))


@app.command()
def compare(
    a: Results,
    b: Annotated[Path | None, typer.Argument(help="Another; without it the agents in A are compared.")] = None,
    agent: Annotated[
        list[str] | None, typer.Option("--agent", metavar="NAME", help="Whom to compare; twice: the two sides.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", help="Write the comparisons as JSON too.")] = None,
) -> None:
    """Compare agents task by task. Says which tasks flipped, and whether the difference is more than chance."""
    from evaluator.cli.results import run_compare

    raise typer.Exit(run_compare(a, b, output, agent or []))


@app.command()
def show(
    id: Annotated[str, typer.Argument(help="A trajectory, `<task id>#<trial>`, or a task.")],
    agent: Agent = None,
    user: User = None,
    rollouts_dir: Rollouts = Path("rollouts"),
    outputs_dir: Outputs = None,
    mcp_outputs_dir: Worlds = None,
    config: ConfigFile = None,
    overrides: Overrides = None,
    plugin: Plugins = None,
) -> None:
    """Show a trajectory turn by turn. With what each call changed, beside its golden calls."""
    from evaluator.cli.options import EvaluationOptions
    from evaluator.cli.results import run_show

    options = EvaluationOptions(
        rollouts=rollouts_dir,
        config_file=config,
        mcp_outputs=mcp_outputs_dir,
        overrides=tuple(overrides or ()),
        plugins=tuple(plugin or ()),
        values=_values(outputs_dir, None, False),
    )
    raise typer.Exit(run_show(options, id, agent=agent, user=user))


@app.command()
def teach(
    results: Results,
    agent: Agent = None,
    user: User = None,
    min_passes: Annotated[int, typer.Option(min=0, help="Keep tasks that were solved at least so often.")] = 1,
    max_rate: Annotated[float, typer.Option(min=0, max=1, help="Keep tasks solved in at most this share.")] = 1.0,
) -> None:
    """Mark each task with how often a strong model solved it. Lists what can be learnt from, and what never was."""
    from evaluator.cli.results import run_teach

    raise typer.Exit(run_teach(results, min_passes, max_rate, agent=agent, user=user))


@app.command()
def selftest(
    outputs_dir: Annotated[Path, typer.Option("--outputs-dir", "--outputs", help="The dataset.")] = Path("outputs"),
    tasks: Annotated[
        list[str] | None,
        typer.Option("--tasks", metavar="GLOB", help="Only tasks whose id matches, or @FILE with ids. Repeats."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most so many tasks; kinds take turns, in each its worlds.")
    ] = None,
    max_workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="The second set, by which no task was dropped; writes held_out.json.")
    ] = False,
    plugin: Plugins = None,
) -> None:
    """Try the evaluator on trajectories known to be right or wrong. They are made from every task's golden one."""
    from evaluator.cli.selftest import run_held_out, run_selftest

    verb = run_held_out if held_out else run_selftest
    status = verb(outputs_dir, tasks=tasks or (), limit=limit, workers=max_workers, plugins=plugin or ())
    raise typer.Exit(status)


def _values(
    outputs_dir: str | None, max_workers: int | None, enable_subjective: bool, runner: str | None = None
) -> dict[str, object]:
    return {
        "execution.runner": runner,
        "outputs_dir": outputs_dir,
        "evaluation.max_workers": max_workers,
        "evaluation.enable_rubric": enable_subjective or None,
        "evaluation.enable_subjective": enable_subjective or None,
    }


def main(arguments: list[str] | None = None) -> None:
    """The whole program. Ends the process: 0 done, 1 work failed, 2 wrong usage or configuration, 130 interrupted."""
    run_command(lambda: app(args=arguments, prog_name=command_line("evaluator")), "evaluator", arguments)
