"""What there is to choose from: the steps (`list-steps`), the offline author's services (`list-services`) and every key
of the configuration with its default (`init-config`), commented from the models' own docstrings.

`status`: everything that is known of an outputs folder.

It shows each step's state, the figures of each step, all reasons of rejections, how each question went, and the cost.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from skillweave.base.command import command_line, counted, one_line, shell_word
from skillweave.base.errors import ConfigError
from skillweave.base.manifest import ItemRecord, Manifest
from skillweave.base.store import Store
from skillweave.config.load import PACKAGED_CONFIG, load_config
from skillweave.config.sections import Config, TaskMode
from skillweave.llm.budget import spending
from skillweave.llm.ledger import cost_in_words, dollars
from skillweave.schema.reports import total_metrics
from synth.cli.display import are_all_offline, cost_of, of_records, show_questions, show_table, tokens_of
from synth.cli.options import PipelineOptions, PipelineSource
from synth.engine.artifact import Every
from synth.engine.pipeline import load_pipeline, step_names, step_params
from synth.engine.step import short_name


def show_steps(source: PipelineSource, mode: TaskMode) -> None:
    """Print each step of a task mode with what it reads and writes."""
    for step in load_pipeline(source.package).restricted(mode).steps:
        reads = [read.artifact if isinstance(read, Every) else read for read in step.reads]
        patterns = dict.fromkeys(artifact.pattern for artifact in [*step.listed, *reads])
        print(f"{step.name}: {step.title}")
        print(f"    reads  {', '.join(patterns) or 'domains.seeds'}")
        print(f"    writes {', '.join(artifact.pattern for artifact in (*step.writes, *step.join_writes))}")


def show_services(options: PipelineOptions) -> None:
    """Print the services that the offline author knows, each with seed domains that stand for it.

    Args:
        options: What the command line says of the configuration, which names folders with services of one's own.

    Raises:
        ConfigError: A folder or a file in it is wrong.
    """
    from synth.offline.services import read_catalogue

    config = options.load()
    services = read_catalogue(config.catalogue, config.seed).services
    rows = [
        [name, ", ".join(setting.topic for setting in service.header.settings), service.where]
        for name, service in services.items()
    ]
    has_own = any(where for *_, where in rows)
    show_table(
        ["service", "seed domains", *(["file"] if has_own else [])], [row if has_own else row[:2] for row in rows]
    )
    first = next(iter(services.values())).header.settings[0].topic
    print(f"for other services name a model in llm.textual; next: {command_line('synth', 'preview', first)}")


def write_config(source: PipelineSource, path: Path) -> None:
    """Write the configuration of the default run with every key; `-` is standard output.

    Raises:
        ConfigError: The file exists, or cannot be written.
    """
    text = config_text(source.package)
    if str(path) == "-":
        sys.stdout.write(text)
        return
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError as error:
        raise ConfigError(f"{str(path)!r} is there already; remove it, or name another file") from error
    except OSError as error:
        raise ConfigError(f"{str(path)!r} cannot be written: {error.strerror}") from error
    print(f"wrote {shell_word(path)}; next: {command_line('synth', 'run', '--config', path)}")


def config_text(package: str = "synth.steps") -> str:
    """The text of the configuration of the default run, with every key."""
    config = load_config(PACKAGED_CONFIG)
    lines = ["# Every key, as the default run has it, which `synth run` takes where there is no configuration.", ""]
    for name, field in Config.model_fields.items():
        if name == "steps":
            lines.extend(_steps(package, config))
        else:
            lines.extend(_field(name, field, getattr(config, name), ""))
    return "\n".join(lines) + "\n"


def _steps(package: str, config: Config) -> Iterator[str]:
    yield "# Parameters of steps; `llm: {textual: provider/model}` in one overrides its author."
    yield "steps:"
    steps = load_pipeline(package).steps
    own = {name: section for name, section in config.steps.items() if name in {step.name for step in steps}}
    params = step_params(steps, own)
    for step in steps:
        yield f"  {step.name}:"
        yield from _section(step.params, params[step.name], "    ")


def _section(model: type[BaseModel], values: BaseModel, indent: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield from _field(name, field, getattr(values, name), indent)


def _field(name: str, field: FieldInfo, value: Any, indent: str) -> Iterator[str]:
    if field.description:
        yield from (f"{indent}# {line}" for line in field.description.splitlines())
    if isinstance(value, BaseModel):
        yield f"{indent}{name}:"
        yield from _section(type(value), value, indent + "  ")
    else:
        yield f"{indent}{name}: {_yaml(value)}"


def _yaml(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=100_000).removesuffix("...\n").strip()


QUESTIONS = "--questions"
STEP_HEADER = ("step", "state", "done", "rejected", "failed", "skipped", "seconds", "tokens", "cost")
STATES = ("done", "rejected", "failed", "skipped")


def show_status(source: PipelineSource, options: PipelineOptions, *, questions: bool = False) -> None:
    """Print the state of an outputs folder.

    Args:
        source: The pipeline that made it.
        options: What the command line says of the configuration.
        questions: Show how each question went even if no model was asked.

    Raises:
        ConfigError: There is no such folder.
    """
    config = options.load()
    folder = options.folder()
    manifest = Manifest(Store(folder))
    records = {name: manifest.items(name) for name in step_names(source.package, config.task_mode)}
    show_table(STEP_HEADER, [_row(name, made) for name, made in records.items()])
    _print_section("figures", (line for name, made in records.items() for line in _figures(short_name(name), made)))
    losses = (line for name, made in records.items() for line in _losses(short_name(name), made))
    _print_section("left out, rejected or failed", losses)
    askings = of_records(manifest.items())
    if askings and (questions or not are_all_offline(askings)):
        print()
        show_questions(askings)
    elif askings:
        count = sum(asking.asked for asking in askings)
        print()
        print(f"{count:,} questions were answered offline; see how with: {options.command('status', QUESTIONS)}")
    for line in _spending(folder, config.llm.budget_usd):
        print(line)
    print(f"read from {shell_word(folder)}; next: {options.command('run', '--dry-run')}")


def _row(step: str, records: Sequence[ItemRecord]) -> list[str]:
    states: Counter[str] = Counter(record.state for record in records)
    took = total_metrics([asking for record in records for asking in record.askings])
    return [
        step,
        _state(states),
        *(str(states[state]) for state in STATES),
        f"{sum(record.seconds for record in records):.1f}",
        f"{tokens_of(took):,}",
        cost_of(took),
    ]


def _state(states: "Counter[str]") -> str:
    if not states:
        return "not run"
    return "failed" if states["failed"] else "done" if states["done"] else "nothing made"


def _figures(step: str, records: Iterable[ItemRecord]) -> Iterator[str]:
    """The sums of what a step's items counted, in a line."""
    figures: Counter[str] = Counter()
    for record in records:
        figures.update(record.figures)
    if figures:
        yield f"{step} {', '.join(f'{name} {value:,g}' for name, value in sorted(figures.items()))}"


def _losses(step: str, records: Sequence[ItemRecord]) -> Iterator[str]:
    """Why parts of a step's items were rejected, most frequent reason first; then items that were not done."""
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for record in records:
        counts.update(record.rejected)
        for reason, part in record.examples.items():
            examples.setdefault(reason, f"{record.key}: {part}")
    for reason, count in counts.most_common():
        yield f"{step} {count:>5,} x {reason}" + (f" (first {examples[reason]})" if reason in examples else "")
    for record in records:
        if record.state in ("rejected", "failed"):
            yield f"{step} {record.key} {record.state}: {'; '.join(record.reasons)}"
    skipped = sum(record.state == "skipped" for record in records)
    if skipped:
        yield f"{step} {counted(skipped, 'item')} skipped, since what they need was not made"


def _print_section(title: str, lines: Iterable[str]) -> None:
    rows = list(lines)
    if rows:
        print(f"\n{title}")
    for row in rows:
        print(one_line(row))


def _spending(folder: Path, budget_usd: float | None) -> Iterator[str]:
    """What all runs on the folder cost, also those that ended early."""
    spent = spending(folder)
    if spent is None:
        return
    lost = f", at most {dollars(spent.lost)} lost on requests without a reply" if spent.lost else ""
    reserved = f", {dollars(spent.reserved)} reserved for requests under way" if spent.reserved else ""
    budget = f"; the budget is {dollars(budget_usd)}" if budget_usd is not None else ""
    known = cost_in_words(spent.spent, spent.unpriced)
    yield f"spent by all runs on this folder, where a price is known: {known}{lost}{reserved}{budget}"
