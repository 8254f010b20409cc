"""The history of a run: an object for each iteration, and the page that shows it.

All of it follows from the records and the results, so the same run gives the same bytes, however often it was killed.
"""

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from learn.evolve.figures import difference, held_out_figures, shares
from learn.evolve.iteration import IterationPlace
from learn.evolve.phases import PhaseRecord, results_at
from learn.evolve.settings import EvolveSetup
from learn.traces.html import render_page
from skillweave.schema.record import Json

HISTORY = "history.json"
PAGE = "evolution.html"
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 300, 56, 16, 110, 46
"""Pixels of the chart, and of its margins."""
BESIDE = 5
"""Pixels that a line stands beside its iterations, so that the intervals of two lines do not cover each other."""
NAMES = 16
"""Fewest pixels between the names of two lines."""


class ChartPoint(NamedTuple):
    """A share with its interval, as pixels."""

    x: float
    y: float
    low: float
    high: float
    words: str


def history_of(setup: EvolveSetup, apart: Mapping[str, bool], iterations: int) -> list[dict[str, Json]]:
    """The history of the iterations up to a number, all of which are finished.

    Args:
        setup: The run.
        apart: For each held-out task whether its domains are held out, too.
        iterations: The number of the last one.
    """
    first: Mapping[str, Fraction] = shares(results_at(setup, IterationPlace(0).folder))
    return [_entry(setup, apart, IterationPlace(number), first) for number in range(iterations + 1)]


def _entry(
    setup: EvolveSetup, apart: Mapping[str, bool], place: IterationPlace, first: Mapping[str, Fraction]
) -> dict[str, Json]:
    record = PhaseRecord(setup.store, place.folder, "")
    results = results_at(setup, place.folder)
    entry: dict[str, Json] = {"iteration": place.number, "explored": None, "kept": None}
    if place.number:
        kept = record["kept"]
        entry["explored"] = {
            "tasks": kept["explored_tasks"],
            "trajectories": kept["explored"],
            "rewarded": kept["rewarded"],
        }
        entry["kept"] = {"trajectories": kept["kept"], "tasks": kept["tasks"], "new_tasks": kept["new_tasks"]}
    entry |= {"training_lines": record["data"]["lines"], "held_out": held_out_figures(results, apart)}
    is_controlled = bool(place.number) and setup.config.evolve.control
    control = results_at(setup, place.control) if is_controlled else []
    return {
        **entry,
        "control": held_out_figures(control, apart) if is_controlled else None,
        "against_first": difference(first, shares(results)) if place.number else None,
        "against_control": difference(shares(control), shares(results)) if is_controlled else None,
    }


def write_history(setup: EvolveSetup, history: Sequence[Mapping[str, Any]], commands: Sequence[str]) -> None:
    """Write `history.json` and `evolution.html`.

    Args:
        setup: The run.
        history: An object for each iteration.
        commands: What the page names as next commands.
    """
    setup.store.write(HISTORY, json.dumps(history, indent=2).encode() + b"\n")
    evolved = [entry["held_out"] for entry in history]
    control = [evolved[0], *(entry["control"] for entry in history[1:])] if setup.config.evolve.control else []
    lines = [("evolved", _points(evolved, -BESIDE))]
    lines += [("first set alone", _points(control, BESIDE))] if len(control) > 1 else []
    content = render_page(
        "learn.evolve/evolution.html",
        ["learn.evolve/evolution.css"],
        history=history,
        lines=lines,
        names=_names([points for _, points in lines]),
        ticks=[(tick, _y(tick / 100)) for tick in (0, 25, 50, 75, 100)],
        labels=[(number, _x(number, len(history))) for number in range(len(history))],
        chart={"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": WIDTH - RIGHT, "bottom": HEIGHT - BOTTOM},
        commands=commands,
    )
    setup.store.write(PAGE, content)


def _points(figures: Sequence[Mapping[str, Any]], beside: float) -> list[ChartPoint]:
    """The points of a line, so many pixels beside their iterations; none where nothing was scored."""
    return [
        ChartPoint(
            _x(number, len(figures)) + beside,
            _y(one["share"]),
            _y(one["low"]),
            _y(one["high"]),
            f"{100 * one['share']:.1f} %",
        )
        for number, one in enumerate(figures)
        if one["share"] is not None
    ]


def _x(number: int, count: int) -> float:
    return round(LEFT + 20 + (WIDTH - LEFT - RIGHT - 40) * number / max(count - 1, 1), 1)


def _y(share: float) -> float:
    return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share, 1)


def _names(lines: Sequence[Sequence[ChartPoint]]) -> list[float]:
    """Where the name of each line stands: beside its last point, and away from the other's."""
    heights = [points[-1].y if points else _y(0) for points in lines]
    if len(heights) == 2 and abs(heights[0] - heights[1]) < NAMES:
        middle, up = sum(heights) / 2, heights[0] <= heights[1]
        heights = [middle - NAMES / 2, middle + NAMES / 2] if up else [middle + NAMES / 2, middle - NAMES / 2]
    return [round(height + 4, 1) for height in heights]
