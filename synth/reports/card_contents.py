"""The sections of a dataset's card on what it holds: tasks by kind, form, level, split and world."""

from collections.abc import Sequence
from statistics import median
from typing import get_args

from evaluator.kinds import KINDS
from skillweave.schema.task import Split, Task
from synth.reports.card_sections import share, table
from synth.reports.diversity import forms_of
from synth.tasks.turns import PLAIN

SPLITS: tuple[Split, ...] = get_args(Split)

KINDS_LEGEND = (
    "`do` changes records; `inform` tells the user something; `refuse` must be recorded as declined, since a rule "
    "forbids it; `clarify` leaves something unsaid that the agent has to ask for; `unavailable` is served by no tool "
    "that is offered, and is handed over to a human."
)
FORMS_LEGEND = (
    "A request may come in several forms, or in none. `choice` means the first of several rows; `condition` depends on "
    "what is found; `fallback` has a second wish, if the first cannot be; `batch` means several rows at once; "
    "`aggregate` and `comparison` ask for what no result shows; `false_premise` takes something for true that is not; "
    "`change_of_mind` is replaced on the way; `errands` are several requests in one conversation; `pressure` insists "
    "on what was declined."
)
LEVELS_LEGEND = (
    "The level, 1 to 5, follows from golden calls, writes, domains, values to tell and forms. Plain requests with one "
    "write are of level 1 or 2. Level 4 has 7 calls, 3 writes, 2 forms, or a look-up at another company before the "
    "first write; level 5 two of these: 10 calls, 5 writes, 3 forms."
)
INTERLOCK_LEGEND = (
    "Without the calls at one company, a call at another breaks a rule or lacks a value. Both ways: that is so of each "
    "company; otherwise one of them could be left out."
)


def contents(tasks: Sequence[Task]) -> list[str]:
    """The number of tasks of each kind, form and level, in each split and world."""
    by_kind = [(kind, *_row([task for task in tasks if task.kind == kind])) for kind in KINDS]
    forms = sorted({form.name for task in tasks for form in task.forms})
    by_form = [(form, *_row([task for task in tasks if form in forms_of(task)])) for form in [*forms, PLAIN]]
    levels = sorted({task.difficulty.level for task in tasks})
    by_level = [(level, *_row([task for task in tasks if task.difficulty.level == level])) for level in levels]
    worlds = sorted({task.world for task in tasks})
    by_world = [(world, *_kinds([task for task in tasks if task.world == world])) for world in worlds]
    return [
        *table(("kind", "tasks", *SPLITS), [row for row in [*by_kind, ("all", *_row(tasks))] if row[1]]),
        KINDS_LEGEND,
        "",
        *(table(("form of the request", "tasks", *SPLITS), by_form) if forms else []),
        *([FORMS_LEGEND, ""] if forms else []),
        *table(("level", "tasks", *SPLITS), by_level),
        *table(("world", "tasks", *KINDS), by_world),
    ]


def _row(tasks: Sequence[Task]) -> list[int]:
    return [len(tasks), *(sum(task.split == split for task in tasks) for split in SPLITS)]


def _kinds(tasks: Sequence[Task]) -> list[int]:
    return [len(tasks), *(sum(task.kind == kind for task in tasks) for kind in KINDS)]


def difficulty(tasks: Sequence[Task]) -> list[str]:
    """How difficult the tasks are: levels, calls, facts and planted faults."""
    rows = [_spread(name, tasks) for name in ("level", "calls", "writes", "domains", "facts", "shortest")]
    noisy = sum(task.noise is not None for task in tasks)
    spoken = sum(task.login == "conversation" for task in tasks)
    return [
        *table(("of one task", "tasks", "least", "median", "most"), [row for row in rows if row]),
        LEVELS_LEGEND,
        "",
        f"In {share(spoken, len(tasks))} of the tasks the agent has to sign the user in; "
        f"in {share(noisy, len(tasks))} faults are planted in what the tools answer.",
        "",
    ]


def _spread(name: str, tasks: Sequence[Task]) -> tuple[object, ...]:
    values = [value for task in tasks if isinstance(value := getattr(task.difficulty, name), int)]
    label = {
        "calls": "golden calls",
        "facts": "facts that the user knows",
        "shortest": "calls of the shortest solution",
    }
    return (label.get(name, name), len(values), min(values), f"{median(values):g}", max(values)) if values else ()


def interlock(tasks: Sequence[Task]) -> list[str]:
    """How many tasks of several companies are interlocked both ways, by world; empty if there are none."""
    joined = [task for task in tasks if len(task.domains) > 1]
    rows = [
        (
            world,
            len(own),
            both := sum(task.gates.interlock.get("ways") == "both" for task in own),
            share(both, len(own)),
        )
        for world in [*sorted({task.world for task in joined}), *(["all"] if joined else [])]
        if (own := [task for task in joined if world in (task.world, "all")])
    ]
    return [*table(("world", "tasks", "both ways", "share"), rows), INTERLOCK_LEGEND, ""] if rows else []
