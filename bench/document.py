"""Documents: their form, the figures of one in the terminal, and two side by side."""

import sys
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, ValidationError, model_validator
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from skillweave.base.command import command_line, counted, one_line, shell_word
from skillweave.base.errors import ConfigError
from skillweave.schema.record import Record

Quantity = Literal["cpu", "wall", "memory", "share"]
"""CPU seconds, seconds of the clock, bytes, or a share of what is ideal."""


class Figure(Record):
    """The median of all runs and their spread, which is the interquartile range."""

    median: float = Field(gt=0, allow_inf_nan=False)
    spread: float = Field(ge=0, allow_inf_nan=False)


class Measurement(Record):
    """One measurement of a document."""

    name: str
    counts: str
    of: Quantity
    runs: int
    value: Figure
    """Seconds, bytes, or a share."""
    units: Figure | None
    """Seconds in units of this machine; None for what is no time."""

    @model_validator(mode="after")
    def _units_are_of_times(self) -> "Measurement":
        if (self.of in ("cpu", "wall")) is (self.units is None):
            raise ValueError(f"{self.name} is {self.of}; units are given for times, and for nothing else")
        return self


class Machine(Record):
    """Where the figures were taken."""

    cpu: str
    cores: int
    memory_gib: float
    system: str


class GroupRecord(Record):
    """The unit, in CPU seconds, before and after a group."""

    unit_before: float
    unit_after: float


class BenchDocument(Record):
    """All that one run of the suite found."""

    format: Literal["skillweave-bench/1"] = "skillweave-bench/1"
    machine: Machine
    versions: dict[str, str]
    """Of Python, SQLite and the libraries."""
    revision: str
    """Of the code, by git."""
    groups: dict[str, GroupRecord]
    measurements: list[Measurement]
    left_out: dict[str, str]
    """Measurements that could not be taken, with the reason."""

    def with_again(self, again: "BenchDocument") -> "BenchDocument":
        """This document with the groups of another in place of its own."""
        second = {measurement.name: measurement for measurement in again.measurements}
        measurements = [second.get(measurement.name, measurement) for measurement in self.measurements]
        groups, left_out = {**self.groups, **again.groups}, {**self.left_out, **again.left_out}
        return self.model_copy(update={"groups": groups, "measurements": measurements, "left_out": left_out})


def read_document(path: Path) -> BenchDocument:
    """Read a document. Raises ConfigError if there is none."""
    try:
        return BenchDocument.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}: {error.strerror}; write it with: {command_line('bench', 'run')}"
        ) from error
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"])) or "the file"
        raise ConfigError(f"{path} is no document of the benchmarks: {where}: {fault['msg']}") from error


WORSE = 1.2
"""The ratio above which a measurement is worse; below its inverse it is better."""

Verdict = Literal["worse", "better", "same", "unsure", "not measured", "new"]
"""`unsure`: the ratio is beyond the limit, and the difference within the two spreads."""
STYLES: dict[Verdict, str] = {"worse": "bold red", "better": "green", "same": "", "unsure": "yellow"}


class ComparedMeasurement(NamedTuple):
    """A measurement in two documents."""

    name: str
    before: Measurement | None
    now: Measurement | None
    ratio: float | None
    """How many times the cost of before; None if one of the two is missing."""
    verdict: Verdict


def changes(before: BenchDocument, now: BenchDocument) -> list[ComparedMeasurement]:
    """Compare two documents, measurement by measurement, in the order of the baseline.

    Raises:
        ConfigError: They have no measurement in common.
    """
    old = {measurement.name: measurement for measurement in before.measurements}
    new = {measurement.name: measurement for measurement in now.measurements}
    if not set(old) & set(new):
        raise ConfigError("the two documents have no measurement in common; measure the same groups with --only")
    return [_change(name, old.get(name), new.get(name)) for name in {**old, **new}]


def _change(name: str, before: Measurement | None, now: Measurement | None) -> ComparedMeasurement:
    if before is None or now is None or before.of != now.of:
        return ComparedMeasurement(name, before, now, None, "new" if before is None else "not measured")
    old, new = _compared(before), _compared(now)
    gained = before.of == "share"
    ratio = old.median / new.median if gained else new.median / old.median
    if 1 / WORSE <= ratio <= WORSE:
        return ComparedMeasurement(name, before, now, ratio, "same")
    if abs(new.median - old.median) <= old.spread + new.spread:
        return ComparedMeasurement(name, before, now, ratio, "unsure")
    return ComparedMeasurement(name, before, now, ratio, "worse" if ratio > 1 else "better")


def _compared(measurement: Measurement) -> Figure:
    return measurement.units or measurement.value


def worse_groups(before: BenchDocument, now: BenchDocument) -> list[str]:
    """The groups with a measurement that is worse."""
    return sorted({change.name.partition(".")[0] for change in changes(before, now) if change.verdict == "worse"})


def show_comparison(
    before: BenchDocument, now: BenchDocument, file: Path, baseline: Path, *, markdown: bool = False
) -> int:
    """Print two documents side by side, and what to do next.

    Args:
        before: The baseline, read from the file `baseline`.
        now: What to compare with it, read from `file`.
        markdown: Print the table as Markdown has it.

    Returns:
        The exit status: 1 if a measurement is worse, or could not be taken.
    """
    found = changes(before, now)
    table = _table("measurement", "before", "now", "spreads", "ratio", "")
    table.box = box.MARKDOWN if markdown else table.box
    for change in found:
        if change.verdict != "not measured":
            table.add_row(Text(change.name), *_cells(change), style=STYLES.get(change.verdict, ""))
    _print(table, *(Text(line, style="yellow") for line in _differences(before, now)))
    worse, missing = ([c.name for c in found if c.verdict == verdict] for verdict in ("worse", "not measured"))
    if missing:
        print(f"{counted(len(missing), 'measurement')} of {baseline} not measured: {', '.join(missing)}")
    if worse:
        group = worse[0].partition(".")[0]
        print(f"{counted(len(worse), 'measurement')} over {WORSE - 1:.0%} worse, the first: {worse[0]}; next: ", end="")
        print(command_line("bench", "run", "--only", group, "--to", file))
        return 1
    if now.left_out:
        print(f"{counted(len(now.left_out), 'measurement')} left out: {one_line(str(now.left_out))}; mend that first")
        return 1
    copy = f"cp {shell_word(file)} {shell_word(baseline)}"
    print(f"no measurement over {WORSE - 1:.0%} worse; to make these figures the baseline, next: {copy}")
    return 0


def _cells(change: ComparedMeasurement) -> list[str]:
    sides = [change.before, change.now]
    spreads = [_spread(side) for side in sides if side]
    ratio = "" if change.ratio is None else f"{change.ratio:.2f}"
    return [*(_shown(side) if side else "" for side in sides), ", ".join(spreads), ratio, change.verdict]


def _spread(measurement: Measurement) -> str:
    figure = measurement.value
    return f"{figure.spread / figure.median:.0%}" if measurement.runs > 1 and figure.median else "one run"


def _differences(before: BenchDocument, now: BenchDocument) -> list[str]:
    """What else differs between the two, and may be the cause."""
    old, new = ({"machine": f"{it.machine.cpu}, {it.machine.cores} cores", **it.versions} for it in (before, now))
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return [f"other {name}: {old.get(name, 'none')} before, {new.get(name, 'none')} now" for name in names]


def show_document(document: BenchDocument) -> None:
    """Print the figures of a document."""
    table = _table("measurement", "units", "seconds", "a unit", "spread", "counts")
    for one in document.measurements:
        seconds = _scaled(one.value.median, "s") if one.units else ""
        rate = f"{1 / one.units.median:,.0f}" if one.units and 0 < one.units.median < 0.1 else ""
        table.add_row(Text(one.name), _shown(one), seconds, rate, _spread(one), Text(one.counts))
    _print(table)
    for name, why in document.left_out.items():
        print(f"left out: {name}: {why}")


def _print(*parts: Table | Text) -> None:
    """Print parts; no line of a table is broken where standard output is no terminal."""
    Console(highlight=False, width=None if sys.stdout.isatty() else 200).print(*parts, sep="\n")


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        is_text = column in ("measurement", "counts", "")
        table.add_column(Text(column), justify="left" if is_text else "right", no_wrap=column != "counts")
    return table


def _shown(measurement: Measurement) -> str:
    if measurement.units is not None:
        return _scaled(measurement.units.median, "u")
    value = measurement.value.median
    return f"{value:.1%}" if measurement.of == "share" else f"{value / 2**20:,.0f} MiB"


def _scaled(value: float, unit: str) -> str:
    """A figure with three digits, in thousandths (m) or millionths (µ) where it is small."""
    for factor, prefix in ((1, ""), (1e3, "m"), (1e6, "µ")):
        if value * factor >= 1 or prefix == "µ":
            break
    scaled = value * factor
    return f"{scaled:,.{max(0, 2 - len(str(int(scaled))) + 1)}f} {prefix}{unit}"
