"""Tasks that are told in one question: which go together, what their author reads of each, and which are told well."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination
from skillweave.schema.fused import FusedBlueprint
from skillweave.schema.telling import Known, Request, RowKnown, Telling, Wish
from synth.tasks.naming import table_word, tool_word
from synth.tasks.telling_check import gives_away, telling_faults
from synth.tasks.words import VALUE, name_in_words

MOST = 8
"""Tasks of one question."""
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Untold:
    """A task that wants words."""

    combination: Combination
    request: Request
    text: str
    """What its author reads of it."""


def untold(combination: Combination, request: Request, blueprint: Blueprint) -> Untold:
    """The task as its author reads it. The value of what is left out stands nowhere in the text, nor does what would
    give it away."""
    left_out = [thing for thing in request.known if thing.withheld]

    def is_telling(text: str) -> bool:
        return any(gives_away(text, thing, combination.now) for thing in left_out)

    who = request.persona
    lines = [f"who: {who.name}, {who.age}; {'; '.join([who.style, *who.traits])}"]
    if request.title and not left_out:
        # A title says what the request is about, and so what is left out of it.
        lines.append(f"about: {request.title}")
    if request.reason and not is_telling(request.reason):
        lines.append(f"why: {request.reason}")
    lines.append("wants:")
    named: set[str] = set()
    for wish in request.wishes:
        things = _things(wish, blueprint)
        ask = wish.ask if wish.ask and not is_telling(wish.ask) else name_in_words(tool_word(blueprint, wish.tool))
        lines.append(f"- {_wish(wish, ask, things, named)}{_company(wish, blueprint)}")
        named |= {*things.values()}
    lines += ["knows:", *(f"- {_known(thing)}" for thing in request.known if not thing.secret)]
    return Untold(combination, request, "\n".join(" ".join(line.split()) for line in lines))


def batches(tasks: Sequence[Untold]) -> list[list[Untold]]:
    """The tasks by the ids of their combinations, MOST at a time."""
    ordered = sorted(tasks, key=lambda task: task.combination.id)
    return [ordered[start : start + MOST] for start in range(0, len(ordered), MOST)]


def numbered(tasks: Sequence[Untold]) -> dict[str, Untold]:
    """The tasks of a question by their numbers: `1`, `2`, ..."""
    return {str(number): task for number, task in enumerate(tasks, 1)}


def batch_faults(tellings: Sequence[Telling], tasks: Mapping[str, Untold]) -> list[list[str]]:
    """What is wrong with each of an answer's tellings."""
    found: list[list[str]] = []
    for telling in tellings:
        if (task := tasks.get(telling.id)) is None:
            found.append([f"there is no task {telling.id!r}; there are {', '.join(tasks)}"])
        else:
            faults = telling_faults(telling, task.request, task.combination)
            found.append([f"task {telling.id} ({task.combination.id}): {fault}" for fault in faults])
    return found


def _wish(wish: Wish, ask: str, things: Mapping[str, str], named: set[str]) -> str:
    """`do: move <appointment> to <slot>`; what is to be heard is not told what it is about when that was `named`."""
    said = _SLOT.sub(lambda slot: things.get(slot[1], f"that {name_in_words(slot[1])}"), ask)
    rest = [thing for name, thing in things.items() if f"{{{name}}}" not in ask]
    rest = [thing for thing in rest if wish.kind == "do" or thing not in named]
    kind = "agree to, if needed" if wish.only_if_needed else wish.kind
    return f"{kind}: {said}" + (f" ({', '.join(rest)})" if rest else "")


def _things(wish: Wish, blueprint: Blueprint) -> dict[str, str]:
    """Parameter -> what the author calls the row or value that goes into it: `<slot>`, `that invoice`."""
    things = {name: f"<{_row_name(row)}>" for name, row in wish.rows.items()}
    things |= {name: f"<{thing}>" for name, thing in wish.values.items()}
    linked = {name: name_in_words(table_word(blueprint, entity)) for name, entity in wish.linked.items()}
    return {**things, **{name: f"that {noun}" for name, noun in linked.items()}}


def _company(wish: Wish, blueprint: Blueprint) -> str:
    """Whose matter a wish is, where several companies are spoken to."""
    return f", at {blueprint.member_of(wish.tool).title}" if isinstance(blueprint, FusedBlueprint) else ""


def _row_name(row: RowKnown) -> str:
    """What the names of a row's columns have in common: `appointment_2`."""
    return next((name.partition(".")[0] for name in row.columns.values()), name_in_words(row.entity).lower())


def _known(thing: Known) -> str:
    if thing.withheld:
        return f"{thing.id} = {VALUE} [left out]"
    return f"{thing.id} = {thing.words}{' [first]' if thing.volunteered else ''}"
