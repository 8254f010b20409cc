"""The summary of a run: what it made, what was rejected and why, and the next command."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from skillweave.base.manifest import ItemRecord
from synth.cli.display import QuestionUsage, counted, show_questions, show_table, usage_note
from synth.cli.dry_run import retry_proposal
from synth.cli.options import PipelineOptions
from synth.engine.run import PipelineRun
from synth.engine.schedule import Schedule
from synth.engine.step import PipelineStep


def show_summary(
    run: PipelineRun,
    schedule: Schedule,
    steps: Sequence[PipelineStep[Any]],
    options: PipelineOptions,
    spent: QuestionUsage,
) -> None:
    """Print it, with how questions went where models were asked; the last line says what was written and what next."""
    rows = [_row(step, _records(schedule, step)) for step in steps if step.name in schedule.plans]
    show_table(["step", "items", "done", "rejected", "failed", "skipped", "parts rejected", "seconds"], rows)
    for step in steps:
        for line in _reasons(step, _records(schedule, step)):
            print(line)
        for line in _stand_ins(run, step, _records(schedule, step)):
            print(line)
        if any(run.authors.first(step.name, question.role) is None for question in step.questions):
            print(f"{step.short} not judged: llm.judge names no model")
    took = usage_note(spent.total())
    if took:
        print()
        show_questions(spent.askings())
        print(f"this run took {took}; all runs on this folder: {options.command('status')}")
    if not failures(run, schedule, steps) and (again := retry_proposal(run, options)):
        print(f"of what was rejected can be asked anew: {again}")
    print(_last_line(run, schedule, steps, options))


def failures(run: PipelineRun, schedule: Schedule, steps: Sequence[PipelineStep[Any]]) -> list[str]:
    """What makes the run itself have failed, in words."""
    found = []
    for step in steps:
        records = _records(schedule, step)
        failed = sum(record.state == "failed" for record in records)
        if failed:
            found.append(f"{step.short}: {counted(failed, 'item')} failed")
        rejected = sum(record.state == "rejected" for record in records)
        limit = run.params[step.name].max_rejected
        if records and rejected / len(records) > limit:
            found.append(f"{step.short}: {rejected} of {len(records)} rejected, more than {limit:.0%}")
    return found


def _row(step: PipelineStep[Any], records: list[ItemRecord]) -> list[str]:
    states = Counter(record.state for record in records)
    parts = sum(sum(record.rejected.values()) for record in records)
    seconds = sum(record.seconds for record in records)
    counts = [len(records), *(states[state] for state in ("done", "rejected", "failed", "skipped")), parts]
    return [step.name, *map(str, counts), f"{seconds:.1f}"]


def _reasons(step: PipelineStep[Any], records: list[ItemRecord]) -> list[str]:
    parts: Counter[str] = Counter()
    for record in records:
        parts.update(record.rejected)
    lines = [f"{step.short} rejected {count} x {reason}" for reason, count in parts.most_common()]
    for record in records:
        if record.state in ("rejected", "failed"):
            lines.append(f"{step.short} {record.key} {record.state}: {'; '.join(record.reasons)[:300]}")
    return lines


def _stand_ins(run: PipelineRun, step: PipelineStep[Any], records: list[ItemRecord]) -> list[str]:
    """How many questions were answered by authors that follow others, in words."""
    first = {question.name: run.authors.first(step.name, question.role) for question in step.questions}
    counts: Counter[str] = Counter()
    for record in records:
        for asking in record.askings:
            if asking.answered and asking.author != first.get(asking.question, asking.author):
                counts[asking.author] += asking.answered
    return [f"{step.short} {counted(count, 'answer')} by the fallback {name}" for name, count in sorted(counts.items())]


def _records(schedule: Schedule, step: PipelineStep[Any]) -> list[ItemRecord]:
    plan = schedule.plans.get(step.name)
    return [schedule.records[item] for item in plan.items if item in schedule.records] if plan else []


def _last_line(
    run: PipelineRun, schedule: Schedule, steps: Sequence[PipelineStep[Any]], options: PipelineOptions
) -> str:
    outputs = run.spec.outputs
    why_stopped = run.executor.why_stopped
    if why_stopped is not None:
        return f"stopped: {why_stopped}; what was finished is kept in {outputs}; run the same command to go on"
    if run.executor.is_stopped:
        return f"interrupted; what was finished is kept in {outputs}; run the same command to go on"
    wrong = failures(run, schedule, steps)
    if wrong:
        return f"{'; '.join(wrong)}; see {outputs / 'logs'}; {'; '.join(_remedies(run, schedule, steps, options))}"
    written = sum(len(record.outputs) for record in schedule.records.values())
    following = f"python -m synth verify {outputs}" if _is_whole(run, steps) else options.command("run")
    return f"wrote {counted(written, 'artifact')} to {outputs}; next: {following}"


def _remedies(
    run: PipelineRun, schedule: Schedule, steps: Sequence[PipelineStep[Any]], options: PipelineOptions
) -> list[str]:
    """What to do about items that failed, and about those that were rejected."""
    found = []
    if any(record.state == "failed" for step in steps for record in _records(schedule, step)):
        found.append("the same command does failed items again")
    if any(record.state == "rejected" for step in steps for record in _records(schedule, step)):
        same = "the offline author answers alike each time: name a model in llm.textual, or other seeds"
        found.append(retry_proposal(run, options) or same)
    return found


def _is_whole(run: PipelineRun, steps: Sequence[PipelineStep[Any]]) -> bool:
    return bool(steps) and steps[-1] == run.pipeline.steps[-1]
