"""Which tasks a command works on: those that `--tasks` names, and of these the first few.

Nothing that a user names is left out in silence: a value that matches no task is an error.
"""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import zip_longest
from pathlib import Path

from skillweave.base.command import command_line
from skillweave.base.errors import ConfigError
from skillweave.base.text import UnreadableTextError, read_user_lines
from skillweave.schema.task import Task

TASKS_OPTION = "--tasks"
MAX_SHOWN = 3
"""Values without a match that an error names."""
MAX_COMPARED = 20_000
"""Ids among which an error looks for the nearest."""
MAX_VALUE_CHARS = 80


def matching_ids(ids: Sequence[str], values: Sequence[str], option: str = TASKS_OPTION) -> list[str]:
    """The ids that values name, in the order of the ids.

    Args:
        ids: All ids.
        values: Ids, patterns of ids, or `@FILE` for a file with one of these a line; in it, a `#` at the
            beginning or after a blank begins a comment. None given: all ids match.
        option: What gives the values, for errors.

    Raises:
        ConfigError: A value matches nothing, a file cannot be read or names nothing, or there are no ids.
    """
    if not ids:
        raise ConfigError(f"there are no tasks; write some with: {command_line('synth', 'run')}")
    if not values:
        return [*ids]
    known, wanted = frozenset(ids), list(_values_of(values, frozenset(ids), option))
    matching: set[str] = set()
    unmatched: list[tuple[str, str]] = []
    for value, place in wanted:
        is_pattern = value not in known and bool(set(value) & set("*?["))
        found = {id for id in ids if fnmatchcase(id, value)} if is_pattern else known & {value}
        matching |= found
        if not found:
            unmatched.append((value, place))
    if unmatched:
        raise ConfigError(_complaint(unmatched, len(wanted), ids, option))
    return [id for id in ids if id in matching]


def _values_of(values: Sequence[str], known: frozenset[str], option: str) -> Iterable[tuple[str, str]]:
    """Each value with the place where it stands; empty if that is the command line."""
    for value in values:
        if not value.startswith("@"):
            yield value, ""
            continue
        if value == "@":
            raise ConfigError(f"{option} @ names no file; write @FILE, a file with an id or a pattern on each line")
        try:
            lines = read_user_lines(Path(value[1:]))
        except UnreadableTextError as error:
            raise ConfigError(f"{option} {value}: the file of task ids cannot be read: {error}") from error
        without_comments = ((number, _without_comment(line, known)) for number, line in lines)
        named = [(number, line) for number, line in without_comments if line]
        if not named:
            raise ConfigError(f"{option} {value}: the file names no task; write an id or a pattern on each line")
        yield from ((line, f" ({value[1:]}, line {number})") for number, line in named)


def _without_comment(line: str, known: frozenset[str]) -> str:
    """A line without what stands behind a `#` that begins it or follows a blank, unless it is part of an id."""
    ends = [len(line), *(found.start() for found in re.finditer(r"(^|\s+)#", line))]
    first = line[: ends[1]] if ends[1:] else line
    return next((line[:end] for end in sorted(ends, reverse=True) if line[:end] in known), first)


def _complaint(unmatched: Sequence[tuple[str, str]], count: int, ids: Sequence[str], option: str) -> str:
    shown = [f"{value[:MAX_VALUE_CHARS]!r}{place}" for value, place in unmatched[:MAX_SHOWN]]
    more = f" and {len(unmatched) - MAX_SHOWN:,} more" if len(unmatched) > MAX_SHOWN else ""
    first = unmatched[0][0][:MAX_VALUE_CHARS]
    nearest = difflib.get_close_matches(first.strip("*?"), ids[:MAX_COMPARED], n=1, cutoff=0)[0]
    if count == 1:
        return f"{option} {shown[0]} matches none of the {len(ids):,} tasks; the nearest is {nearest!r}"
    return (
        f"{len(unmatched):,} of {count:,} values of {option} match none of the {len(ids):,} tasks: "
        f"{', '.join(shown)}{more}; the nearest to {first!r} is {nearest!r}"
    )


def first_in_turns(ids: Sequence[str], limit: int | None, tasks: Mapping[str, Task] | None = None) -> list[str]:
    """The first `limit` ids. Kinds take turns, in each its worlds, and in each of these levels and forms.

    So a small selection has each kind often enough to tell something about it. A larger limit adds to it and replaces
    nothing.

    Args:
        ids: The ids to choose from.
        limit: The most to choose; None: all.
        tasks: The tasks' records by id; None where there are none, and only worlds, by the ids, take turns.
    """
    if tasks is None or limit is None:
        return _in_turns([((id.rpartition("-")[0],), id) for id in ids])[:limit]
    return _in_turns([(groups_of(tasks[id]), id) for id in ids])[:limit]


def groups_of(task: Task) -> tuple[str, ...]:
    """What a task takes turns by, the first thing first."""
    return (task.kind, task.world, str(task.difficulty.level), "+".join(form.name for form in task.forms))


def _in_turns(ids: Iterable[tuple[tuple[str, ...], str]], start: float = 0.0) -> list[str]:
    """Ids in the order of their turns: one of each group, then another of each; and so within each group.

    Args:
        ids: Each id with its groups, the outermost first.
        start: Where among its groups the turns begin, from 0 to 1.
    """
    groups: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    done: list[str] = []
    for names, id in ids:
        if names:
            groups.setdefault(names[0], []).append((names[1:], id))
        else:
            done.append(id)
    order = sorted(groups, key=lambda name: (-len(groups[name]), name))
    first = int(start * len(order))
    # Each kind begins with other worlds, each world with another level, so that the first few differ in all of them.
    inner = [_in_turns(groups[name], at / len(order)) for at, name in enumerate(order)]
    turns = zip_longest(*inner[first:], *inner[:first])
    return [*done, *(id for turn in turns for id in turn if id is not None)]
