"""The commands and their options. Each command loads its module when it runs, so that `--help` is instant."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillweave.base.command import command_line, run_command

if TYPE_CHECKING:
    from synth.cli.options import PipelineOptions, PipelineSource

DEFAULT_CONFIG = Path("config.yaml")

app = typer.Typer(
    name="synth",
    help="From domain names to worlds and verified tasks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", help="The configuration file.", show_default="config.yaml; without one, the default run"),
]
OutputsOption = Annotated[
    str | None, typer.Option("--outputs-dir", "--outputs", help="The outputs folder, instead of the configuration's.")
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Override the seed.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="Override a key: dotted.path=YAML value. Repeats.", metavar="KEY=VALUE"),
]


@app.command()
def run(
    context: typer.Context,
    config: ConfigOption = None,
    outputs_dir: OutputsOption = None,
    seed: SeedOption = None,
    overrides: SetOption = None,
    step: Annotated[str | None, typer.Option(help="Only this step; a prefix of its name is enough.")] = None,
    first: Annotated[str | None, typer.Option("--from", help="Begin with this step.")] = None,
    until: Annotated[str | None, typer.Option(help="End with this step.")] = None,
    fresh: Annotated[str | None, typer.Option(help="Forget what this step and all after it made, then run.")] = None,
    retry_rejected: Annotated[
        bool,
        typer.Option("--retry-rejected", help="Ask anew about what was rejected; faults go back to where they lie."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would run and why; run and write nothing.")
    ] = False,
    runner: Annotated[str | None, typer.Option(help="Where items run: threads, dask or ray.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes for what keeps a core busy.")] = None,
) -> None:
    """Run the pipeline; what is unchanged is not redone."""
    from synth.cli.run import StepSelection, run_pipeline

    options = _options(config, outputs_dir, overrides, seed, runner=runner, workers=workers)
    selection = StepSelection(step=step, first=first, until=until, fresh=fresh, retries_rejected=retry_rejected)
    raise typer.Exit(run_pipeline(_source(context), options, selection, dry_run=dry_run))


@app.command()
def preview(
    context: typer.Context,
    service: Annotated[str, typer.Argument(help="A service area in words: `bicycle repair`.", metavar="SERVICE")],
    config: ConfigOption = None,
    outputs_dir: OutputsOption = None,
    seed: SeedOption = None,
    overrides: SetOption = None,
) -> None:
    """Show one domain with a few tasks, and what all would cost.

    Only models' answers are kept. Without a model in llm.textual, SERVICE has to be one that `list-services` shows.
    """
    from synth.cli.preview import show_preview

    options = _options(config, outputs_dir, overrides, seed)
    raise typer.Exit(show_preview(_source(context), options, service))


@app.command()
def status(
    context: typer.Context,
    config: ConfigOption = None,
    outputs_dir: OutputsOption = None,
    seed: SeedOption = None,
    overrides: SetOption = None,
    questions: Annotated[
        bool, typer.Option("--questions", help="Show how each question went even if no model was asked.")
    ] = False,
) -> None:
    """Show each step's items and figures, and what was rejected. Also why, and what questions took."""
    from synth.cli.status import show_status

    show_status(_source(context), _options(config, outputs_dir, overrides, seed).as_last_run(), questions=questions)


@app.command("list-steps")
def list_steps(
    context: typer.Context,
    single: Annotated[bool, typer.Option("--single", help="Only the steps of single-domain runs.")] = False,
    cross: Annotated[bool, typer.Option("--cross-domain", help="Only the steps of cross-domain runs.")] = False,
) -> None:
    """List the steps, and what they read and write."""
    from synth.cli.status import show_steps

    show_steps(_source(context), "both" if single == cross else "single" if single else "cross_domain")


@app.command("list-services")
def list_services(config: ConfigOption = None, overrides: SetOption = None) -> None:
    """List the offline author's services, with seed domains."""
    from synth.cli.status import show_services

    show_services(_options(config, overrides=overrides))


@app.command("init-config")
def init_config(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="Where to write it; `-` is standard output.")] = DEFAULT_CONFIG,
) -> None:
    """Write the configuration of the default run, with every key and a comment."""
    from synth.cli.status import write_config

    write_config(_source(context), path)


@app.command()
def explain(
    context: typer.Context,
    id: Annotated[
        str, typer.Argument(help="A task's id, a world such as `DentalClinic`, an artifact's path, or step/item.")
    ],
    config: ConfigOption = None,
    outputs_dir: OutputsOption = None,
) -> None:
    """Show what a task or an artifact was made from. Of a world, list the tasks."""
    from synth.cli.explain import show_lineage

    show_lineage(_options(config, outputs_dir).as_last_run(), id)


@app.command()
def verify(
    context: typer.Context,
    outputs: Annotated[Path, typer.Argument(help="The outputs folder of a dataset.")],
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Run no server, and only those gates that a task's own record is enough for."),
    ] = False,
    config: ConfigOption = None,
    seed: SeedOption = None,
    overrides: SetOption = None,
) -> None:
    """Prove a finished dataset again from its files."""
    from synth.cli.dataset import verify_outputs

    options = _options(config, str(outputs), overrides, seed).as_last_run()
    raise typer.Exit(verify_outputs(_source(context), outputs, options, is_quick=quick))


@app.command()
def decontaminate(
    outputs: Annotated[Path, typer.Argument(help="The outputs folder of a dataset.")],
    files: Annotated[list[Path], typer.Argument(help="Files of benchmarks: .jsonl, .json, .csv, .txt or .md.")],
) -> None:
    """Show what a dataset shares with benchmarks. Runs of words, people and tools are compared."""
    from synth.cli.dataset import decontaminate

    raise typer.Exit(decontaminate(outputs, files))


@app.command()
def card(config: ConfigOption = None, outputs_dir: OutputsOption = None) -> None:
    """Write the dataset's card anew, with what evaluations left."""
    from synth.cli.dataset import write_dataset_card

    write_dataset_card(_options(config, outputs_dir).as_last_run())


def main(source: "PipelineSource | None" = None, arguments: list[str] | None = None) -> None:
    """The whole program. It ends the process: 0 done, 1 work failed, 2 wrong usage or configuration, 130 interrupted.

    Args:
        source: The pipeline; the product's by default.
        arguments: The command line's words; the process's own by default.
    """
    run_command(lambda: app(args=arguments, obj=source, prog_name=command_line("synth")), "synth", arguments)


def _source(context: typer.Context) -> "PipelineSource":
    from synth.cli.options import PipelineSource

    source: PipelineSource | None = context.obj
    return source or PipelineSource()


def _options(
    config: Path | None,
    outputs_dir: str | None = None,
    overrides: Sequence[str] | None = None,
    seed: int | None = None,
    **execution: Any,
) -> "PipelineOptions":
    from synth.cli.options import PipelineOptions

    return PipelineOptions(config, outputs_dir, tuple(overrides or ()), seed, **execution)
