"""The commands and their options. Each command loads its module when it runs, so that `--help` is instant."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from skillweave.base.command import command_line, run_command

app = typer.Typer(
    name="interop",
    help="Datasets that trainers load, and environments that trainers and agents connect to.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Outputs = Annotated[Path, typer.Option("--outputs", "--outputs-dir", help="The dataset.")]
SplitName = Literal["train", "validation", "test"]
Compact = Annotated[
    bool, typer.Option("--compact", help="Short prompts: only the rules of the offered tools, tools without examples.")
]


@app.callback()
def _program() -> None:
    """Datasets that trainers load, and environments that trainers and agents connect to."""


@app.command()
def export(
    format: Annotated[
        str,
        typer.Argument(
            metavar="FORMAT",
            help="openai, trl-sft, sharegpt, ms-swift, agenttraj, dpo: of trajectories. "
            "agenteval, steps, verl, skyrl, fleet, hub: of tasks.",
        ),
    ],
    to: Annotated[Path, typer.Option("--to", help="The folder to write: new, empty, or of this same export.")],
    outputs: Outputs = Path("outputs"),
    rollouts: Annotated[
        list[Path] | None,
        typer.Option(
            "--rollouts",
            "--rollouts-dir",
            help="Trajectories: a folder, or one file. Repeats: pairs may be of two agents in two folders.",
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            help="The evaluator's results.jsonl; by default the one in the dataset. What it lacks is evaluated now.",
        ),
    ] = None,
    split: Annotated[SplitName | None, typer.Option(help="Only this split; by default a file for each.")] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="'FIELD OP VALUE'",
            help="Only what fulfils it: == != <= >= < >. Repeats; all must hold. Fields of tasks: world, split, kind, "
            "forms (== is contains), level, golden_calls, task; of trajectories: reward, passed, trial, calls, turns, "
            "agent, user, stop_reason, failure, differs (results that are not the replay's). Formats of trajectories "
            "take reward==1 unless a condition names reward or passed, and differs==0 unless one names that; `all` "
            "turns both off.",
        ),
    ] = None,
    per_task: Annotated[
        int | None,
        typer.Option(min=1, metavar="K", help="At most so many of a task: best reward first, then fewest calls."),
    ] = None,
    keep_duplicates: Annotated[
        bool, typer.Option("--keep-duplicates", help="Keep trajectories of a task with the same words and calls.")
    ] = False,
    keep_reasoning: Annotated[
        bool, typer.Option("--keep-reasoning", help="Keep the model's reasoning where the format has a place for it.")
    ] = False,
    compact: Compact = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes.")] = None,
) -> None:
    """Write a dataset that a trainer loads. A killed export goes on where it was."""
    from interop.export.command import run_export
    from interop.options import ExportOptions

    options = ExportOptions(
        format=format,
        outputs=outputs,
        to=to,
        rollouts=tuple(rollouts or ()),
        results=results,
        split=split,
        where=tuple(where or ()),
        per_task=per_task,
        keep_duplicates=keep_duplicates,
        keep_reasoning=keep_reasoning,
        compact=compact,
        workers=workers,
    )
    raise typer.Exit(run_export(options))


@app.command()
def serve(
    protocol: Annotated[str, typer.Argument(metavar="PROTOCOL", help="agentgym, openenv or mcp.")],
    outputs: Outputs = Path("outputs"),
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than loopback needs --token-env.")
    ] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free one.")] = None,
    user: Annotated[str | None, typer.Option(metavar="PROVIDER/MODEL", help="Who plays the user.")] = None,
    split: Annotated[SplitName | None, typer.Option(help="Only tasks of this split.")] = None,
    config: Annotated[Path | None, typer.Option("--config", help="The configuration file, if not config.yaml.")] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a key: dotted.path=YAML value. Repeats.", metavar="KEY=VALUE"),
    ] = None,
    token_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="Environment variable with the bearer token to ask for.")
    ] = None,
    max_sessions: Annotated[int | None, typer.Option(min=1, help="Most sessions at once.")] = None,
    idle_timeout_s: Annotated[
        float | None, typer.Option("--idle-timeout-s", min=0, help="Seconds until an idle session is closed.")
    ] = None,
    step_timeout_s: Annotated[
        float | None, typer.Option("--step-timeout-s", min=0, help="Most seconds of a step.")
    ] = None,
    compact: Compact = False,
) -> None:
    """Serve the tasks of a dataset as environments: one process for all worlds."""
    from interop.options import ServeOptions
    from interop.serve.command import run_serve

    options = ServeOptions(
        protocol=protocol,
        outputs=outputs,
        host=host,
        port=port,
        user=user,
        split=split,
        config=config,
        overrides=tuple(overrides or ()),
        token_env=token_env,
        max_sessions=max_sessions,
        idle_timeout_s=idle_timeout_s,
        step_timeout_s=step_timeout_s,
        compact=compact,
    )
    raise typer.Exit(run_serve(options))


def main(arguments: list[str] | None = None) -> None:
    """Run the program and end the process.

    Exit status: 0 done, 1 work failed, 2 wrong usage or configuration, 130 interrupted.
    """
    run_command(lambda: app(args=arguments, prog_name=command_line("interop")), "interop", arguments)
