"""The commands and their options."""

from pathlib import Path
from typing import Annotated, Any

import typer

from skillweave.base.command import run_command
from synth.cli.options import DEFAULT_CONFIG, PipelineOptions, PipelineSource

app = typer.Typer(
    name="synth",
    help="From domain names to worlds and verified tasks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

ConfigOption = Annotated[Path, typer.Option("--config", help="The configuration file.")]
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
    config: ConfigOption = DEFAULT_CONFIG,
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
        bool, typer.Option("--dry-run", help="Say what would run and why; run and write_dataset_card nothing.")
    ] = False,
    runner: Annotated[str | None, typer.Option(help="Where items run: threads, dask or ray.")] = None,
    workers: Annotated[int | None, typer.Option(help="How many items run at once.")] = None,
) -> None:
    """Run the pipeline; what is finished and unchanged is not redone."""
    from synth.cli.run import StepSelection, run_pipeline

    options = PipelineOptions(config, outputs_dir, overrides or [], seed=seed, runner=runner, workers=workers)
    selection = StepSelection(step=step, first=first, until=until, fresh=fresh, retries_rejected=retry_rejected)
    raise typer.Exit(run_pipeline(_place(context), options, selection, dry_run=dry_run))


@app.command()
def preview(
    context: typer.Context,
    service: Annotated[str, typer.Argument(help="A service area in words: `bicycle repair`.", metavar="SERVICE")],
    config: ConfigOption = DEFAULT_CONFIG,
    outputs_dir: OutputsOption = None,
    seed: SeedOption = None,
    overrides: SetOption = None,
) -> None:
    """Show one domain with a handful of tasks, and what a whole one costs; only models' answers are kept."""
    from synth.cli.preview import show_preview

    options = PipelineOptions(config, outputs_dir, overrides or [], seed=seed)
    raise typer.Exit(show_preview(_place(context), options, service))


@app.command()
def status(
    context: typer.Context,
    config: ConfigOption = DEFAULT_CONFIG,
    outputs_dir: OutputsOption = None,
    questions: Annotated[
        bool, typer.Option("--questions", help="How each question went, where no model was asked, too.")
    ] = False,
) -> None:
    """Show what each step came to, what was asked, and what it cost."""
    from synth.cli.status import show_status

    show_status(_place(context), PipelineOptions(config, outputs_dir), questions=questions)


@app.command("list-steps")
def list_steps(
    context: typer.Context,
    single: Annotated[bool, typer.Option("--single", help="Only the steps of single-domain runs.")] = False,
    cross: Annotated[bool, typer.Option("--cross-domain", help="Only the steps of cross-domain runs.")] = False,
) -> None:
    """List the steps, and what they read and write."""
    from synth.cli.status import show_steps

    show_steps(_place(context), "both" if single == cross else "single" if single else "cross_domain")


@app.command("init-config")
def init_config(
    context: typer.Context,
    path: Annotated[
        Path, typer.Argument(help="Where to write_dataset_card it; `-` is standard output.")
    ] = DEFAULT_CONFIG,
) -> None:
    """Write a commented configuration with every default."""
    from synth.cli.init_config import write_config

    write_config(_place(context), path)


@app.command()
def explain(
    context: typer.Context,
    id: Annotated[str, typer.Argument(help="A task's id, an artifact's path, or step/item.")],
    config: ConfigOption = DEFAULT_CONFIG,
    outputs_dir: OutputsOption = None,
) -> None:
    """Show what a task or an artifact was made from, back to its seed."""
    from synth.cli.explain import show_lineage

    show_lineage(_place(context), PipelineOptions(config, outputs_dir), id)


@app.command()
def verify(
    context: typer.Context,
    outputs: Annotated[Path, typer.Argument(help="The outputs folder of a dataset.")],
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Run no server, and only those gates that a task's own record is enough for."),
    ] = False,
    plugin: Annotated[
        list[str] | None, typer.Option("--plugin", help="A module that registers gates of one's own; may be repeated.")
    ] = None,
) -> None:
    """Prove a finished dataset again from its files."""
    from synth.cli.dataset import verify_outputs

    raise typer.Exit(verify_outputs(_place(context), outputs, is_quick=quick, plugins=plugin or ()))


@app.command()
def decontaminate(
    outputs: Annotated[Path, typer.Argument(help="The outputs folder of a dataset.")],
    files: Annotated[list[Path], typer.Argument(help="Files of benchmarks: .jsonl, .json, .csv, .txt or .md.")],
) -> None:
    """Show what a dataset has in common with benchmarks: runs of words, people, tools."""
    from synth.cli.dataset import decontaminate

    raise typer.Exit(decontaminate(outputs, files))


@app.command()
def card(config: ConfigOption = DEFAULT_CONFIG, outputs_dir: OutputsOption = None) -> None:
    """Write the dataset's card anew, with what an evaluation has left."""
    from synth.cli.dataset import write_dataset_card

    write_dataset_card(PipelineOptions(config, outputs_dir))


def main(place: PipelineSource | None = None, arguments: list[str] | None = None) -> None:
    """The whole program. Ends the process: 0 done, 1 work failed, 2 wrong usage or configuration, 130 interrupted."""
    run_command(lambda: app(args=arguments, obj=place or PipelineSource()))


def _place(context: typer.Context) -> PipelineSource:
    place: Any = context.obj
    assert isinstance(place, PipelineSource)
    return place
