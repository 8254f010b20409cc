"""The commands and their options. Each command loads its module when it runs, so that `--help` is instant."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from skillweave.base.command import command_line, run_command

app = typer.Typer(
    name="learn",
    help="Skills and agents that improve by rollouts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

SplitName = Literal["train", "validation", "test"]
ConfigFile = Annotated[Path, typer.Option("--config", help="The configuration file.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", help="Override a key: dotted.path=YAML value. Repeats.", metavar="KEY=VALUE"),
]


DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Say what would be held at most, with tokens and cost; run and write nothing."),
]


@app.callback()
def _program() -> None:
    """Skills and agents that improve by rollouts."""


@app.command()
def skill(
    config: ConfigFile,
    overrides: Overrides = None,
    out: Annotated[Path | None, typer.Option("--out", help="The run's folder, in place of skill.out_root.")] = None,
    eval_only: Annotated[
        bool, typer.Option("--eval-only", help="Only score the skill of --skill; train none.")
    ] = False,
    skill_file: Annotated[Path | None, typer.Option("--skill", help="With --eval-only: the skill.")] = None,
    split: Annotated[str | None, typer.Option(help="With --eval-only: train, val, test or all (the default).")] = None,
    dry_run: DryRun = False,
) -> None:
    """Train a skill document. A killed run goes on where it was."""
    from learn.skill.command import SkillOptions, run_skill

    options = SkillOptions(config, tuple(overrides or ()), out, eval_only, skill_file, split, dry_run)
    raise typer.Exit(run_skill(options))


@app.command()
def evolve(
    config: ConfigFile,
    overrides: Overrides = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="The run's folder, in place of evolve.folder.")
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Train, explore, keep what is rewarded, and train anew. A killed run goes on where it was."""
    from learn.evolve.command import EvolveOptions, run_evolve

    raise typer.Exit(run_evolve(EvolveOptions(config, tuple(overrides or ()), folder, dry_run)))


@app.command()
def traces(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="The rollouts folder of before.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The rollouts folder of after.")],
    to: Annotated[Path, typer.Option("--to", help="The folder to write traces.json and traces.html to.")],
    outputs: Annotated[Path, typer.Option("--outputs", "--outputs-dir", help="The dataset.")] = Path("outputs"),
    split: Annotated[SplitName | None, typer.Option(help="Only tasks of this split.")] = None,
) -> None:
    """Show what changed between the trajectories of two agents: calls, failures, worlds and kinds, with examples."""
    from learn.traces.command import run_traces

    raise typer.Exit(run_traces(before, after, outputs, to, split))


def main(arguments: list[str] | None = None) -> None:
    """Run the program and end the process.

    Exit status: 0 done, 1 work failed, 2 wrong usage or configuration, 130 interrupted.
    """
    run_command(lambda: app(args=arguments, prog_name=command_line("learn")), "learn", arguments)
