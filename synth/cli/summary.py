"""The summary of a run, which fits a screen: what it made, what was left out and why, and the next command.

`synth status` shows everything: the figures of each step, all rejections, and how each question went.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from skillweave.base.command import command_line, counted, one_line, repeat_line, shell_word
from skillweave.base.manifest import ItemRecord
from synth.artifacts import BLUEPRINTS, CONTRACTS, QUERIES, SERVERS
from synth.cli.display import QuestionUsage, are_all_offline, duration, table_lines, usage_note
from synth.cli.dry_run import retry_proposal
from synth.cli.options import PipelineOptions
from synth.engine.artifact import Artifact
from synth.engine.run import PipelineRun
from synth.engine.schedule import Schedule
from synth.engine.step import PipelineStep

WIDTH = 100
"""Columns of a line; the last line, which holds commands, may be longer."""
SHOWN_REASONS = 5
"""Reasons of left-out parts that are shown."""
SHOWN_ITEMS = 3
"""Items that were not done and are shown."""
SPLITS = ("train", "validation", "test")
MADE: Sequence[tuple[Artifact[Any], str]] = (
    (BLUEPRINTS, "world"),
    (CONTRACTS, "fused world"),
    (SERVERS, "server"),
)
"""Artifacts that are counted, with the noun for one."""


@dataclass(frozen=True)
class RunReport:
    """What a run came to: its plan, the records of its items, and what questions took."""

    run: PipelineRun
    schedule: Schedule
    steps: Sequence[PipelineStep[Any]]
    """The steps that the command line asked for."""
    usage: QuestionUsage
    seconds: float
    """How long the run took by the clock."""

    def records(self, step: PipelineStep[Any]) -> list[ItemRecord]:
        """The records of a step's settled items."""
        plan = self.schedule.plans.get(step.name)
        if plan is None:
            return []
        return [self.schedule.records[item] for item in plan.items if item in self.schedule.records]

    @property
    def all_records(self) -> list[ItemRecord]:
        """The records of all steps that the command line asked for."""
        return [record for step in self.steps for record in self.records(step)]

    @property
    def failures(self) -> list[str]:
        """What makes the run a failed one, in words: failed items, and rejections past a step's limit."""
        reasons: list[str] = []
        for step in self.steps:
            states = Counter(record.state for record in self.records(step))
            if states["failed"]:
                reasons.append(f"{step.short}: {counted(states['failed'], 'item')} failed")
            limit = self.run.params[step.name].max_rejected
            if states["rejected"] > limit * states.total():
                reasons.append(
                    f"{step.short}: {states['rejected']} of {counted(states.total(), 'item')} rejected, more than the "
                    f"{limit:.0%} that steps.{step.name}.max_rejected allows"
                )
        return reasons


def show_summary(report: RunReport, options: PipelineOptions) -> None:
    """Print it. The last line says what was written and which command comes next."""
    for line in summary_lines(report, options):
        print(line)
    print(_last_line(report, options))


def summary_lines(report: RunReport, options: PipelineOptions) -> Iterator[str]:
    """The summary without its last line."""
    yield ""
    yield _items(report)
    made = _made(report.all_records)
    if made:
        yield made
    yield from _tasks(report)
    yield from _not_done(report.all_records)
    yield from _left_out(report.all_records)
    yield from _questions(report)
    if not report.failures and (again := retry_proposal(report.run, options)):
        yield f"of what was rejected can be asked anew: {again}"
    yield f"more figures, reasons and questions: {options.command('status')}"


def _items(report: RunReport) -> str:
    """How many items were done, and how many kept."""
    total, executed = len(report.schedule.records), len(report.schedule.executed)
    if not executed:
        items = f"all {counted(total, 'item')} as they were" if total else "no items"
    elif executed == total:
        items = f"{counted(total, 'item')} done"
    else:
        items = f"{counted(executed, 'item')} done now, {total - executed:,} of {total:,} as they were"
    return f"{items}, in {counted(len(report.schedule.plans), 'step')}; took {duration(report.seconds)}"


def _made(records: Iterable[ItemRecord]) -> str:
    """How many worlds and servers there are; empty if there are none."""
    counts = Counter(output.artifact for record in records for output in record.outputs)
    kinds = [counted(counts[artifact.pattern], noun) for artifact, noun in MADE if counts[artifact.pattern]]
    return f"made: {', '.join(kinds)}" if kinds else ""


def _tasks(report: RunReport) -> Iterator[str]:
    """A table of tasks by kind and place, and how they are split; nothing if there are none.

    The records of items that wrote tasks hold the numbers, by kind and by split.
    """
    fused_worlds = {
        output.key
        for record in report.run.manifest.items()
        for output in record.outputs
        if output.artifact == CONTRACTS.pattern
    }
    single, fused, splits = Counter[str](), Counter[str](), Counter[str]()
    for record in report.all_records:
        if not any(output.artifact == QUERIES.pattern for output in record.outputs):
            continue
        for name, count in record.figures.items():
            noun = name.removesuffix(" tasks")
            if noun != name and " " not in noun:
                group = splits if noun in SPLITS else fused if record.key in fused_worlds else single
                group[noun] += round(count)
    both = single + fused
    if not both:
        return
    columns = [("one domain", single), ("several domains", fused), ("all", both)] if fused else [("number", single)]
    rows = [[kind, *(f"{counts[kind]:,}" for _, counts in columns)] for kind, _ in both.most_common()]
    rows.append(["all kinds", *(f"{counts.total():,}" for _, counts in columns)])
    yield from table_lines(["tasks", *(title for title, _ in columns)], rows)
    yield f"splits: {', '.join(f'{splits[split]:,} {split}' for split in SPLITS)}"
    for title, prefix, suffix in (("levels", "level ", ""), ("forms", "", " form")):
        shown = [f"{count:,} {name}" for name, count in _sorts(report.all_records, prefix, f"{suffix} tasks")]
        yield from [f"{title}: {', '.join(shown)}"] if shown else []


def _sorts(records: Iterable[ItemRecord], prefix: str, suffix: str) -> list[tuple[str, int]]:
    """The sums of figures of which the names begin and end so, by what is between."""
    counts: Counter[str] = Counter()
    for record in records:
        for name, count in record.figures.items():
            if name.startswith(prefix) and name.endswith(suffix):
                counts[name.removeprefix(prefix).removesuffix(suffix)] += round(count)
    return sorted(counts.items())


def _not_done(records: Sequence[ItemRecord]) -> Iterator[str]:
    """Items that failed or were rejected, the first of them with the reason."""
    lost = [record for state in ("failed", "rejected") for record in records if record.state == state]
    for record in lost[:SHOWN_ITEMS]:
        yield _short(f"{record.state}: {record.name}: {'; '.join(record.reasons)}")
    skipped = sum(record.state == "skipped" for record in records)
    more = len(lost) - SHOWN_ITEMS
    if more > 0 or skipped:
        further = [f"{more:,} more failed or rejected"] if more > 0 else []
        yield ", ".join([*further, *([f"{skipped:,} skipped, since what they need was not made"] if skipped else [])])


def _left_out(records: Iterable[ItemRecord]) -> Iterator[str]:
    """Parts of items that were rejected: the most frequent reasons, each with an example."""
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for record in records:
        for reason, count in record.rejected.items():
            group = (record.step.partition("_")[0], reason)
            counts[group] += count
            if reason in record.examples:
                examples.setdefault(group, f"{record.key}: {record.examples[reason]}")
    if not counts:
        return
    yield f"left out on the way, {counted(counts.total(), 'part')} of items:"
    for group, count in counts.most_common(SHOWN_REASONS):
        example = f" ({examples[group]})" if group in examples else ""
        yield _short(f"  {group[0]} {count:>5,} x {group[1]}{example}")
    if len(counts) > SHOWN_REASONS:
        others = counts.most_common()[SHOWN_REASONS:]
        yield f"      {sum(count for _, count in others):>5,} x for {counted(len(others), 'other reason')}"


def _questions(report: RunReport) -> Iterator[str]:
    """How the questions to models went, who stood in for whom, and what was not judged."""
    askings = report.usage.askings()
    took = usage_note(report.usage.total())
    if took and not are_all_offline(askings):
        total = report.usage.total()
        outcomes = f"{total.first_try:,} accepted at once, {total.repaired:,} repaired, {total.rejected:,} given up"
        yield f"this run took {took}; {counted(total.asked, 'question')}: {outcomes}"
    for author, count in sorted(_fallback_answers(report).items()):
        yield f"{counted(count, 'answer')} by the fallback {author}"
    authors = report.run.authors
    unjudged = [
        step.short
        for step in report.steps
        if any(authors.first(step.name, question.role) is None for question in step.questions)
    ]
    if unjudged:
        yield f"not judged: {', '.join(unjudged)}; llm.judge names no model"


def _fallback_answers(report: RunReport) -> "Counter[str]":
    """How many questions each author answered that is asked only if another one fails."""
    counts: Counter[str] = Counter()
    for step in report.steps:
        first = {question.name: report.run.authors.first(step.name, question.role) for question in step.questions}
        for record in report.records(step):
            for asking in record.askings:
                if asking.answered and asking.author != first.get(asking.question, asking.author):
                    counts[asking.author] += asking.answered
    return counts


def _last_line(report: RunReport, options: PipelineOptions) -> str:
    run, outputs = report.run, report.run.spec.outputs
    why_stopped, logs = run.executor.why_stopped, shell_word(outputs / "logs")
    if run.executor.is_stopped:
        settled = len(report.schedule.records)
        kept = f"{counted(settled, 'item')} kept in {shell_word(outputs)}" if settled else "no item was finished"
        if why_stopped is None:
            return f"interrupted; {kept}; next: {repeat_line()}"
        # What stopped it has to be mended first: the same command alone would stop again.
        return f"stopped: {one_line(why_stopped)}; {kept}; once that is mended, go on with: {repeat_line()}"
    if report.failures:
        return f"{'; '.join(report.failures)}; see {logs}; {'; '.join(_remedies(report, options))}"
    written = sum(len(record.outputs) for record in report.schedule.records.values())
    is_whole = bool(report.steps) and report.steps[-1] == run.pipeline.steps[-1]
    following = command_line("synth", "verify", outputs) if is_whole else options.command("run")
    return f"wrote {counted(written, 'artifact')} to {shell_word(outputs)}; next: {following}"


def _remedies(report: RunReport, options: PipelineOptions) -> list[str]:
    """What to do about items that failed, and about those that were rejected."""
    states = {record.state for record in report.all_records}
    remedies: list[str] = []
    if "failed" in states:
        remedies.append(f"to do failed items again: {repeat_line()}")
    if "rejected" in states:
        offline = "the offline author gives the same answer each time: name a model in llm.textual, or take other seeds"
        remedies.append(retry_proposal(report.run, options) or offline)
    return remedies


def _short(line: str) -> str:
    """The line without line breaks, cut to WIDTH; its indent stays."""
    indent = line[: len(line) - len(line.lstrip())]
    text = indent + one_line(line)
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 4].rstrip()} ..."
