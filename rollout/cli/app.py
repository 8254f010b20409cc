"""The commands and their options. Each command loads its module when it runs, so that `--help` is instant."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from skillweave.base.command import command_line, run_command

app = typer.Typer(
    name="rollout",
    help="Agents talk with simulated users in the worlds.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", help="The configuration file.", show_default="config.yaml; without one, the defaults"),
]


@app.callback()
def _program() -> None:
    """Agents talk with simulated users in the worlds."""


@app.command()
def run(
    config: ConfigFile = None,
    outputs_dir: Annotated[
        str | None, typer.Option("--outputs-dir", "--outputs", help="The dataset, instead of the configuration's.")
    ] = None,
    rollouts_dir: Annotated[Path, typer.Option("--rollouts-dir", help="The folder for trajectories.")] = Path(
        "rollouts"
    ),
    tasks: Annotated[
        list[str] | None,
        typer.Option("--tasks", metavar="GLOB", help="Only tasks whose id matches, or @FILE with ids. Repeats."),
    ] = None,
    split: Annotated[
        Literal["train", "validation", "test"] | None, typer.Option(help="Only tasks of this split.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="At most so many tasks. Kinds take turns, in each its worlds, then levels and forms: each kind comes "
            "equally often as far as it has tasks. A larger limit keeps those of a smaller one.",
        ),
    ] = None,
    trials: Annotated[int | None, typer.Option(help="Conversations of each task.")] = None,
    personas: Annotated[int | None, typer.Option(help="Users of each task; its trials take turns among them.")] = None,
    agent: Annotated[str | None, typer.Option(metavar="PROVIDER/MODEL", help="Who plays the agent.")] = None,
    user: Annotated[str | None, typer.Option(metavar="PROVIDER/MODEL", help="Who plays the user.")] = None,
    max_concurrency: Annotated[int | None, typer.Option(help="Requests under way at once.")] = None,
    processes: Annotated[int | None, typer.Option(help="Processes of this machine, which share the limits.")] = None,
    runner: Annotated[str | None, typer.Option(help="Where they are held: threads (here), dask or ray.")] = None,
    workers: Annotated[int | None, typer.Option(help="Workers of a cluster, which share the limits.")] = None,
    engine: Annotated[str | None, typer.Option(help="Where sessions run: contract or mcp.")] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would be held, with tokens and cost; run and write nothing."),
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Override the seed.")] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a key: dotted.path=YAML value. Repeats.", metavar="KEY=VALUE"),
    ] = None,
) -> None:
    """Hold a conversation for every task. A finished conversation is not repeated."""
    from rollout.cli.run import RolloutOptions, run_rollouts

    options = RolloutOptions(
        config=config,
        rollouts=rollouts_dir,
        tasks=tuple(tasks or ()),
        split=split,
        limit=limit,
        is_dry=dry_run,
        overrides=tuple(overrides or ()),
        values={
            "outputs_dir": outputs_dir,
            "seed": seed,
            "rollout.trials": trials,
            "rollout.personas": personas,
            "rollout.agent.model": agent,
            "rollout.user.model": user,
            "rollout.max_concurrency": max_concurrency,
            "rollout.engine": engine,
            "rollout.processes": processes,
            "execution.runner": runner,
            "execution.workers": workers,
        },
    )
    raise typer.Exit(run_rollouts(options))


@app.command()
def ladder(
    config: ConfigFile = None,
    outputs_dir: Annotated[
        str | None, typer.Option("--outputs-dir", "--outputs", help="The dataset, instead of the configuration's.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="At most so many tasks of each world; without it, all.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes.")] = None,
    seed: Annotated[int | None, typer.Option(help="Override the seed.")] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a key: dotted.path=YAML value. Repeats.", metavar="KEY=VALUE"),
    ] = None,
) -> None:
    """Check that scripted agents that know more pass more. Exit status 1: the order is wrong."""
    from rollout.cli.ladder import run_ladder
    from rollout.cli.run import RolloutOptions

    options = RolloutOptions(
        config=config,
        rollouts=Path("rollouts"),
        overrides=tuple(overrides or ()),
        values={"outputs_dir": outputs_dir, "seed": seed, "execution.workers": workers},
    )
    raise typer.Exit(run_ladder(options, sample))


def main(arguments: list[str] | None = None) -> None:
    """Run the program and end the process.

    Exit status: 0 done, 1 work failed, 2 wrong usage or configuration, 130 interrupted.
    """
    run_command(lambda: app(args=arguments, prog_name=command_line("rollout")), "rollout", arguments)
