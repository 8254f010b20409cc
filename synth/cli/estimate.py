"""`run --dry-run`: what would run and why, and what it would ask, from what it asked before. Nothing is written."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from synth.cli.place import Options
from synth.cli.wording import counted, item_label
from synth.engine.drive import check_settled
from synth.engine.run import Run
from synth.engine.schedule import Listener, Schedule
from synth.step import JOIN, Step


class Estimate(NamedTuple):
    questions: float
    tokens: float
    cost_usd: float


def show_estimate(run: Run, before: Sequence[Step[Any]], steps: Sequence[Step[Any]], options: Options) -> None:
    """Print a line for each item that would be done, or may be, then the sums. Raises ConfigError."""
    schedule = Schedule(run, Listener())
    check_settled(schedule, before)
    schedule.add(steps)
    would = [(work.step, work.item.key) for work in schedule.ready.values()]
    for work in schedule.ready.values():
        print(f"{work.step.short} {item_label(work.step, work.item.key)}: redo, {work.reason}")
    for item in schedule.blocked:
        step = schedule.plans[item.step].step
        waits = ", ".join(schedule.waits_for(item))
        print(f"{step.short} {item_label(step, item.key)}: may redo, waits for {waits}")
        would.append((step, item.key))
    for step in schedule.unplanned:
        keys = [record.key for record in run.manifest.items(step.name)]
        items = counted(len(keys), "item") if keys else "items not known yet"
        print(f"{step.name}: may redo, waits for earlier steps ({items})")
        would.extend((step, key) for key in keys)
    owed = schedule.owed()
    for path in owed:
        print(f"{path}: would be joined again, missing or changed")
    if would or not owed:
        _show_sums(run, would, options)
    else:
        print(f"all items are up to date; nothing was written; to join: {options.command('run')}")


def _show_sums(run: Run, would: list[tuple[Step[Any], str]], options: Options) -> None:
    if not would:
        print("everything is up to date; nothing would run")
        return
    estimates = [_estimate(run, step, key) for step, key in would]
    questions, tokens, cost = (sum(amounts) for amounts in zip(*estimates, strict=True))
    print(
        f"would run at most {counted(len(would), 'item')} that are known: about {questions:.0f} questions, "
        f"{tokens:.0f} tokens, ${cost:.2f}; nothing was written; to run: {options.command('run')}"
    )


def _estimate(run: Run, step: Step[Any], key: str) -> Estimate:
    """What the item asked last time; else what the step's items did on average; else each question once."""
    known = run.manifest.items(step.name)
    records = [record for record in known if record.key == key] or known
    if not records or not any(record.asked for record in records):
        return Estimate(0 if key == JOIN else len(step.questions), 0, 0)
    count = len(records)
    return Estimate(
        sum(record.asked for record in records) / count,
        sum(record.input_tokens + record.output_tokens for record in records) / count,
        sum(record.cost_usd for record in records) / count,
    )
