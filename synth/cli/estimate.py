"""`run --dry-run`: what would run and why, and what it would ask, take and cost. Nothing is written."""

from collections.abc import Sequence
from typing import Any

from synth.cli.expected import Expected
from synth.cli.forecast import Forecast, Priced
from synth.cli.place import Options
from synth.cli.retry import proposal
from synth.cli.table import show_table
from synth.cli.wording import counted, item_label
from synth.engine.drive import check_settled
from synth.engine.run import Run
from synth.engine.schedule import Listener, Schedule
from synth.questions.sizes import together
from synth.step import Step

HEADER = ("step", "items", "questions", "tokens in", "tokens out", "cost", "authors")


def show_estimate(run: Run, before: Sequence[Step[Any]], steps: Sequence[Step[Any]], options: Options) -> None:
    """Print a line for each item that would be done, or may be, then a table of sums. Raises ConfigError."""
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
    unknown: list[Step[Any]] = []
    for step in schedule.unplanned:
        keys = [record.key for record in run.manifest.items(step.name)]
        items = counted(len(keys), "item") if keys else "items not known yet"
        print(f"{step.name}: may redo, waits for earlier steps ({items})")
        would.extend((step, key) for key in keys)
        unknown.extend([] if keys else [step])
    owed = schedule.owed()
    for path in owed:
        print(f"{path}: would be joined again, missing or changed")
    if would or not owed:
        _show_sums(run, would, unknown, options)
    else:
        print(f"all items are up to date; nothing was written; to join: {options.command('run')}")


def _show_sums(run: Run, would: list[tuple[Step[Any], str]], unknown: list[Step[Any]], options: Options) -> None:
    if not would:
        again = proposal(run, options)
        print(f"everything is up to date; nothing would run{f'; {again}' if again else ''}")
        return
    expected, forecast = Expected(run), Forecast(run)
    rows: list[Priced] = []
    for step in dict.fromkeys([*(step for step, _ in would), *unknown]):
        keys = [key for found, key in would if found is step]
        asked = expected.of_step(step) if step in unknown else together([expected.of_item(step, key) for key in keys])
        rows.append(forecast.of(step, len(keys) if keys else None, asked))
    total = Priced.summed(rows)
    show_table(HEADER, [row.cells() for row in (*rows, total) if row.items or row.questions])
    print(_assumptions(expected, forecast))
    tokens = total.tokens_in + total.tokens_out
    print(
        f"in all about {total.questions:,.0f} questions, {tokens:,.0f} tokens, {total.cost}; nothing was written; "
        f"to run: {options.command('run')}"
    )


def _assumptions(expected: Expected, forecast: Forecast) -> str:
    sizes = "what this folder's items asked before, else " if expected.is_measured else ""
    offline = "; what is asked offline takes no tokens and costs nothing" if forecast.has_offline else ""
    return f"estimated from {sizes}what a default run asked, {forecast.characters}{offline}"
