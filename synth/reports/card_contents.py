"""The sections of a dataset's card on what it holds: tasks by kind, form, level, split and world.

The card says what a kind, a form or a level is in the words of the code that decides it, and only of those that occur.
"""

import inspect
import re
from collections.abc import Sequence
from statistics import median
from typing import get_args

from evaluator.kinds import KINDS
from skillweave.schema.task import Split, Task
from synth.reports.card_sections import share, table
from synth.reports.diversity import forms_of
from synth.tasks.difficulty import DEMANDING, LEVELS
from synth.tasks.forms import FORMS
from synth.tasks.turns import PLAIN

SPLITS: tuple[Split, ...] = get_args(Split)
COLUMNS = ("tasks", *SPLITS)

LEVELS_LEGEND = (
    "A task is of the highest level that holds. Demanding forms are {demanding}, and whatever turns on what a call "
    "would come to. Planted faults do not count."
)
INTERLOCK_LEGEND = (
    "Without the calls at one company, a call at another breaks a rule or lacks a value. Both ways: that is so of each "
    "company; otherwise one of them could be left out."
)


def contents(tasks: Sequence[Task]) -> list[str]:
    """The number of tasks of each kind, form and level, in each split and world."""
    by_kind = [(kind, *_row([task for task in tasks if task.kind == kind]), meaning(KINDS[kind])) for kind in KINDS]
    forms = sorted({form.name for task in tasks for form in task.forms})
    by_form = [
        (form, *_row([task for task in tasks if form in forms_of(task)]), _form(form)) for form in [*forms, PLAIN]
    ]
    by_level = [
        (rule.level, *_row([task for task in tasks if task.difficulty.level == rule.level]), rule.words)
        for rule in reversed(LEVELS)
    ]
    worlds = sorted({task.world for task in tasks})
    by_world = [(world, *_kinds([task for task in tasks if task.world == world])) for world in worlds]
    return [
        *table(("kind", *COLUMNS, "what it is"), [row for row in [*by_kind, ("all", *_row(tasks), "")] if row[1]]),
        *(table(("form of the request", *COLUMNS, "what it is"), by_form) if forms else []),
        *table(("level", *COLUMNS, "what it takes"), [row for row in by_level if row[1]]),
        LEVELS_LEGEND.format(demanding=", ".join(f"`{name}`" for name in sorted(DEMANDING))),
        "",
        *table(("world", "tasks", *KINDS), by_world),
    ]


def meaning(entry: object) -> str:
    """What a kind or a form is: the first sentence that its own class says of itself, a plug-in's too."""
    text = " ".join((inspect.getdoc(type(entry)) or "").partition("\n\n")[0].split())
    return re.split(r"(?<=\.) ", text)[0].rstrip(".")


def _form(name: str) -> str:
    return "none of these" if name == PLAIN else meaning(FORMS[name]) if name in FORMS else ""


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
