"""The commands and their options."""

from pathlib import Path
from typing import Annotated

import typer

from bench.document import BenchDocument, read_document, show_comparison, show_document, worse_groups
from bench.suite import GROUPS, Extent, run_groups
from skillweave.base.command import command_line, counted, run_command
from skillweave.base.errors import ConfigError

DOCUMENT = Path("outputs/bench.json")
QUICK = Path("outputs/bench-quick.json")
BASELINE = Path("bench/baseline.json")
GROUPS_HELP = "\n\n".join(
    f"{name}{'' if group.is_quick else ' (takes long)'}: {group.about}. "
    + "; ".join(f"{part}: {measure.counts}" for part, measure in group.measures.items())
    for name, group in GROUPS.items()
)

app = typer.Typer(
    name="bench",
    help="Measures how fast the programs are, in units that make machines comparable.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command(help=f"Measure, and write one JSON document. The groups and their measurements:\n\n{GROUPS_HELP}")
def run(
    only: Annotated[list[str] | None, typer.Option("--only", metavar="GROUP", help="Only this group. Repeats.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Leave out the groups that take long.")] = False,
    to: Annotated[Path, typer.Option("--to", help="The file to write.")] = DOCUMENT,
    scale: Annotated[
        list[int] | None, typer.Option(min=1, help="Worlds of one company for the pipeline: 12, 50, 300. Repeats.")
    ] = None,
    trajectories: Annotated[int, typer.Option(min=1, help="How many trajectories are evaluated.")] = 20_000,
) -> None:
    """Measure the groups asked for."""
    if unknown := sorted(set(only or ()) - set(GROUPS)):
        raise ConfigError(f"--only {unknown[0]}: there is no such group; there are {', '.join(GROUPS)}")
    names = [name for name, group in GROUPS.items() if name in (only or GROUPS) and (group.is_quick or not quick)]
    if not names:
        raise ConfigError("--quick leaves out all groups that --only names; leave out one of the two")
    if to.is_dir():
        raise ConfigError(f"--to {to} is a folder; name a file in it")
    document = run_groups(names, Extent(tuple(scale or Extent().scales), trajectories))
    _write(document, to)
    show_document(document)
    print(f"wrote {counted(len(document.measurements), 'measurement')} to {to}; next: ", end="")
    print(command_line("bench", "compare", to))
    raise typer.Exit(1 if document.left_out else 0)


@app.command()
def compare(
    file: Annotated[
        Path | None, typer.Argument(help="A document; without it the quick groups are measured now.")
    ] = None,
    baseline: Annotated[Path, typer.Option("--baseline", help="The document to compare with.")] = BASELINE,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")] = False,
) -> None:
    """Compare with the baseline, in units. Exit status 1: a measurement is over 20 % worse, beyond its spread.

    Without FILE, groups with a worse measurement are measured a second time, which counts.
    """
    before = read_document(baseline)
    now = _measured(before) if file is None else read_document(file)
    raise typer.Exit(show_comparison(before, now, file or QUICK, baseline, markdown=markdown))


def _measured(before: BenchDocument) -> BenchDocument:
    """Measure the quick groups, and again those where a measurement is worse."""
    document = run_groups([name for name, group in GROUPS.items() if group.is_quick], Extent())
    _write(document, QUICK)
    if worse := worse_groups(before, document):
        print(f"a second time, since something is worse: {', '.join(worse)}")
        document = document.with_again(run_groups(worse, Extent()))
        _write(document, QUICK)
    return document


def _write(document: BenchDocument, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document.model_dump_json(indent=1) + "\n", "utf-8")


def main() -> None:
    """Run a command."""
    run_command(app, "bench")
