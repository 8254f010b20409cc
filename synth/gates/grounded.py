"""Gate 6, grounded and fixed by the user's words: every argument has a source, and the words fit one outcome.

For every row that the user speaks of, all rows are sought that fit the same words. Where others, one of them or several
at once, would do as well lawfully and end otherwise, the task has two right answers and is rejected.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from math import prod

from evaluator.checks.state import check_state
from skillweave.schema.combination import Combination, SaidRow
from skillweave.schema.record import Json
from skillweave.schema.task import Criteria
from skillweave.schema.template import TaskTemplate
from skillweave.world.canonical import dump
from skillweave.world.replay import source_of
from skillweave.world.world import World
from synth.gates.alike import alike
from synth.gates.attempt import Attempt, attempt, carry_out, opened
from synth.gates.declined import rules_broken
from synth.gates.known import in_reads, said_by_user
from synth.gates.rejection import Rejected
from synth.gates.sourced import sourced
from synth.gates.told import is_cut, told, told_values
from synth.gates.views import views
from synth.graph.columns import origins

MOST = 300
"""Sets of other rows that are tried; where there are more, the words say too little."""

Meant = dict[tuple[int, str], Json]
"""Call and parameter to the value that the argument has if another row is meant."""


def grounded(
    world: World, combination: Combination, template: TaskTemplate, criteria: Criteria, made: Attempt
) -> dict[str, Json]:
    """The gate's figure: arguments with their kinds of source, and rows that fit the words beside the right ones."""
    kinds = sourced(world, combination, made)
    weighed = told(world, combination, template, made)
    groups = _by_row(combination) if combination.kind != "unavailable" else []
    others = [alike(world, combination, said) for said in groups]
    unique = "undecided" if is_cut(world, combination, template) else "proved"
    if prod(len(keys) + 1 for keys in others) > MOST:
        fitting = others
        others = [_own(world, combination, said[0], keys) for said, keys in zip(groups, others, strict=True)]
        # What no read was found to show was set aside; the reads were not called in every way there is.
        unique = unique if others == fitting else "undecided"
    right = [[_meant(world, combination, said, None)] for said in groups]
    wrong = [[*_misread(world, combination, said, keys)] for said, keys in zip(groups, others, strict=True)]
    tried = 0
    for meant in _readings(right, wrong):
        tried += 1
        if tried > MOST:
            raise Rejected("rows too alike", f"more than {MOST} readings of what the user says")
        if combination.kind == "refuse":
            _check_ban(world, combination, meant)
            continue
        other = attempt(world, combination, instead=meant)
        if _could_be(world, combination, other) and not _same(world, combination, template, criteria, made, other):
            raise Rejected("second lawful end state", f"{[said[0].columns for said in groups]} fits {meant} as well")
    return {
        "arguments": kinds.total(),
        "grounded": kinds.total(),
        **{kind: kinds[kind] for kind in ("user", "env", "call")},
        **({"computed": kinds["computed"]} if kinds["computed"] else {}),
        "rows_alike": sum(map(len, others)),
        "readings_tried": tried,
        "answers_weighed": weighed,
        "unique": unique,
    }


def _check_ban(world: World, combination: Combination, meant: Meant) -> None:
    """Whatever is meant, the same rule has to forbid it, as far as the caller is shown what else could be meant."""
    broken = rules_broken(world, combination, meant)
    if broken is None or broken[:1] == combination.forbidden[:1]:
        return
    if not broken:
        raise Rejected("second lawful end state", f"{meant} fits the words as well")
    if _shown(world, combination, combination.rows[0]).issuperset(meant.values()):
        raise Rejected("second rule", f"{meant} fits the words as well, and {broken[0]} forbids it")


def _by_row(combination: Combination) -> list[list[SaidRow]]:
    """What is said of rows that arguments name, by row: one row has one set of words, however often it is named."""
    found: dict[tuple[str, str], list[SaidRow]] = {}
    for said in combination.rows:
        if said.parameter is not None and said.entity is not None and said.key is not None:
            found.setdefault((said.entity, said.key), []).append(said)
    return list(found.values())


def _readings(right: Sequence[Sequence[Meant]], wrong: Sequence[Sequence[Meant]]) -> Iterator[Meant]:
    """Every choice of rows but the right one: first one row is taken for another, then two at once, and so on."""
    for size in range(1, len(right) + 1):
        for places in combinations(range(len(right)), size):
            chosen = [wrong[place] if place in places else right[place] for place in range(len(right))]
            for reading in product(*chosen):
                yield {place: value for meant in reading for place, value in meant.items()}


def _misread(world: World, combination: Combination, said: Sequence[SaidRow], keys: Sequence[str]) -> Iterator[Meant]:
    """The arguments, for each other row that could be meant."""
    shown: set[Json] | None = None
    for key in keys:
        try:
            yield _meant(world, combination, said, key)
        except LookupError as fault:
            shown = _shown(world, combination, said[0]) if shown is None else shown
            if key in shown:
                raise Rejected("row not told apart", f"{said[0].columns} fits {key!r} too, {fault}") from fault


def _own(world: World, combination: Combination, said: SaidRow, keys: list[str]) -> list[str]:
    """Of a row that a list of the caller's own shows, the others that it shows; of one that is searched for, all."""
    if any(parameter.required for parameter in world.blueprint.tool(said.read).parameters):
        return keys
    shown = _shown(world, combination, said)
    return [key for key in keys if key in shown]


def _shown(world: World, combination: Combination, said: SaidRow) -> set[Json]:
    """All texts that reads can show the caller in the domain of a row: nobody can mean what is not among them."""
    reads = [
        tool for tool in world.blueprint.tools if tool.kind == "read" and world.role(tool.name) == world.role(said.read)
    ]
    with world.session(caller=combination.caller, now=combination.now, patch=combination.patch) as session:
        return {
            known.value for known in in_reads(session, reads, said_by_user(combination)) if isinstance(known.value, str)
        }


def _meant(world: World, combination: Combination, said: Sequence[SaidRow], key: str | None) -> Meant:
    """The arguments if `key` is the row that is meant; None: as the golden calls have them."""
    found: Meant = {}
    for row in said:
        name = row.parameter or ""
        value = combination.calls[row.call].arguments[name]
        if key is None or value == row.key:
            found[row.call, name] = value if key is None else key
            continue
        found[row.call, name] = _beside(world, combination, row, name, key)
    return found


def _beside(world: World, combination: Combination, said: SaidRow, name: str, key: str) -> Json:
    """What the read that shows the row meant would give for an argument if another of its rows were meant.

    LookupError where it does not show that one, or several values for it.
    """
    grounding = combination.calls[said.call].grounding[name]
    source = source_of(grounding)
    if source is None:
        raise LookupError(f"and {name!r} is {grounding}")
    column = source.path.rpartition(".")[2]
    entity = world.blueprint.entity(said.entity or "")
    keys = [c for c, origin in origins(world.blueprint.tool(said.read)).items() if origin == (entity.table, entity.key)]
    with opened(world, combination) as session:
        carry_out(session, combination.golden[: source.call])
        shown = views(world, session, combination, combination.golden[source.call])
        values = {
            dump(row[column]): row[column] for row in shown if column in row and any(row.get(k) == key for k in keys)
        }
    if len(values) != 1:
        raise LookupError(f"of which {column!r} is not known")
    (value,) = values.values()
    return str(value)[:10] if source.as_date else value


def _could_be(world: World, combination: Combination, other: Attempt) -> bool:
    """Whether all that matters went through lawfully; a read that finds nothing is no obstacle."""
    kinds = [world.blueprint.tool(call.tool).kind for call in combination.golden]
    steps: Mapping[int, None] = dict.fromkeys(combination.steps)
    needed = [result.ok for n, result in enumerate(other.results) if kinds[n] != "read" or n in steps]
    return all(needed) and other.lawful


def _same(
    world: World,
    combination: Combination,
    template: TaskTemplate,
    criteria: Criteria,
    made: Attempt,
    other: Attempt,
) -> bool:
    """Whether another reading comes to the same: the same end state, and the same told."""
    values = [told_values(template, combination, one.results) for one in (made, other)]
    return values[0] == values[1] and check_state(criteria, other.changes, world.comparison).score == 1
