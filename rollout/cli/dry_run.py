"""`run --dry-run`: which conversations would be held, and what they would take. It runs and writes nothing."""

from collections import Counter
from collections.abc import Sequence

from evaluator.report.terminal import print_table
from rollout.folder import FolderState
from rollout.forecast import Forecast, TalkEstimate
from rollout.shards import Pair
from skillweave.base.command import counted, one_line, repeat_line
from skillweave.llm.connections import key_note
from skillweave.llm.ledger import dollars

HEADER = ("world", "tasks", "conversations", "kept", "owed", "requests", "tokens in", "tokens out", "cost")
NO_PRICE = "unknown: give prices in llm.prices"


def show_forecast(
    forecast: Forecast,
    worlds: dict[str, str],
    trials: int,
    held: FolderState,
    owed: Sequence[Pair],
    missing_keys: Sequence[str],
) -> None:
    """Print a line for each world, and what all would take.

    Args:
        forecast: Estimates conversations.
        worlds: Id of each task -> its world.
        trials: Conversations of each task.
        held: What the folder holds.
        owed: The conversations that would be held.
        missing_keys: Environment variables that have to hold a key before the run.
    """
    tasks, due = Counter(worlds.values()), Counter(worlds[id] for id, _ in owed)
    rows = []
    for world in sorted(tasks):
        low, high = forecast.of(id for id, _ in owed if worlds[id] == world)
        figures = _figures(forecast, low, high)
        asked = tasks[world] * trials
        rows.append((world, *(f"{n:,}" for n in (tasks[world], asked, asked - due[world], due[world])), *figures))
    low, high = forecast.of(id for id, _ in owed)
    asked = len(worlds) * trials
    sums = (f"{n:,}" for n in (len(worlds), asked, asked - len(owed), len(owed)))
    print_table("Conversations that would be held", HEADER, [*rows, ("total", *sums, *_figures(forecast, low, high))])
    if held.torn:
        print(f"{counted(len(held.torn), 'line')} of the folder cannot be read, and would count for nothing")
    print(one_line(forecast.basis))
    if not owed:
        print("all of them are kept; nothing would run, and nothing was written")
        return
    if note := key_note(missing_keys):
        print(note)
    usage = one_line(f"in all {counted(len(owed), 'conversation')}, {describe_usage(forecast, low, high)}")
    print(f"{usage}; nothing was written; next: {repeat_line(without='--dry-run')}")


def describe_usage(forecast: Forecast, low: TalkEstimate, high: TalkEstimate) -> str:
    """What conversations take, in words: requests, tokens and cost, from the least to the most that is likely."""
    if not forecast.is_known:
        return "requests, tokens and cost unknown: the tasks are not a dataset's, and no conversation was measured yet"
    requests = _between(f"{low.total.requests:,.0f}", f"{high.total.requests:,.0f}")
    tokens = _between(*(f"{talk.total.tokens_in + talk.total.tokens_out:,.0f}" for talk in (low, high)))
    return f"about {requests} requests, {tokens} tokens, {describe_cost(forecast, low, high)}"


def describe_cost(forecast: Forecast, low: TalkEstimate, high: TalkEstimate) -> str:
    """The cost of conversations in words."""
    least, most = forecast.cost(low), forecast.cost(high)
    return f"cost {NO_PRICE}" if least is None or most is None else _between(dollars(least), dollars(most))


def _figures(forecast: Forecast, low: TalkEstimate, high: TalkEstimate) -> list[str]:
    """Requests, tokens and cost between the least and the most."""
    if not forecast.is_known:
        return ["unknown"] * 4
    middle = low.plus(high).total
    cost = [forecast.cost(low), forecast.cost(high)]
    known = [amount for amount in cost if amount is not None]
    words = dollars(sum(known) / 2) if len(known) == 2 else "unknown"
    return [*(f"{figure / 2:,.0f}" for figure in middle), words]


def _between(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"
