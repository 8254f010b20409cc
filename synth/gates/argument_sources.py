"""Gate: every argument has a source that gives exactly its value, and the user's words identify every row.

The gate checks each source. It compares what the user says with what they know, a reference to a result with the value
there, and a row of a list with the words that pick it.
"""

import re
from collections import Counter
from collections.abc import Sequence

from skillweave.schema.combination import Combination, MentionedRow
from skillweave.schema.contract import SESSION_TOOLS
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.record import Json
from skillweave.world.canonical import dump
from skillweave.world.replay import rebound, result_reference
from skillweave.world.tools import tool_of
from skillweave.world.world import World
from synth.contracts.visibility import page_parameter
from synth.gates.gate import Gate
from synth.search.slots import slots
from synth.tasks.combinations import person_tables
from synth.tasks.forms.form import mentions_of_forms
from synth.tasks.kinds import is_transferred
from synth.tasks.replay import NEXT_PAGE, GoldenRun, Rejected, rows_of

_IN_LIST = re.compile(r"\[(?P<row>\d+)\]\.(?P<column>\w+)")


GATE = Gate(
    name="argument_sources",
    proves="Every argument has a source, the words pick one row of a list, and the credentials fit one person.",
    runs=(
        "Each argument is compared with what the user says, the session gives, or an earlier result holds; the words"
        " with each row of the list that the golden call returned; the credentials with the rows of all persons."
    ),
    figures={
        "grounded.arguments": "arguments of the golden calls",
        "grounded.grounded": "arguments with a source: all of them",
        "grounded.user": "arguments that the user states",
        "grounded.env": "arguments that the session gives",
        "grounded.call": "arguments from an earlier result",
        "grounded.computed": "arguments computed from an earlier result; omitted if there are none",
    },
    reasons=(
        "argument without source",
        "row not told apart",
        "credentials fit another person",
    ),
    check=lambda judged: {"grounded": check_argument_sources(judged.world, judged.combination, judged.golden)},
)


def check_argument_sources(world: World, combination: Combination, run: GoldenRun) -> dict[str, Json]:
    """Count the arguments by kind of source. Raises Rejected if one has no source, or if words fit several rows."""
    kinds: Counter[str] = Counter()
    for place, call in enumerate(combination.calls):
        for name in call.arguments:
            source = call.grounding.get(name)
            if source is None:
                raise Rejected("argument without source", f"{call.tool}.{name}")
            kinds[source.partition(" ")[0]] += 1
            fault = _fault(world, combination, run, place, name, source)
            if fault:
                raise Rejected("argument without source", f"{call.tool}.{name} {fault}")
        _check_rows(combination, run, place, call)
    for mention in combination.rows:
        if mention.parameter is None:
            _check_apart(mention, rows_of(run.results[mention.call]))
    _check_person(world, combination, run)
    return {
        "arguments": kinds.total(),
        "grounded": kinds.total(),
        **{kind: kinds[kind] for kind in ("user", "env", "call")},
        **({"computed": kinds["computed"]} if kinds["computed"] else {}),
    }


def _fault(world: World, combination: Combination, run: GoldenRun, place: int, name: str, source: str) -> str | None:
    call = combination.calls[place]
    value = dump(call.arguments[name])
    if call.tool in SESSION_TOOLS:
        return None  # The agent chooses the reason and the summary of a transfer.
    if source == "user":
        return None if value in _said(world, combination, place, name) else "is said by nobody"
    if source == "env":
        given = (combination.caller, combination.now, combination.now[:10])
        return None if value in map(dump, given) else "is not given by the session"
    if result_reference(source):
        return None if dump(rebound(call, run.results[:place])[name]) == value else f"is not at {source!r}"
    if source == NEXT_PAGE:
        return None if _is_next_page(world, combination, run, place, name) else "is no page that comes next"
    return f"has the source {source!r}, which cannot be checked"


def _is_next_page(world: World, combination: Combination, run: GoldenRun, place: int, name: str) -> bool:
    """Whether an earlier call has shown the page before that one, and it was not empty."""
    call = combination.calls[place]
    if page_parameter(world.blueprint.tool(call.tool)) != name:
        return False
    before = [
        at
        for at, earlier in enumerate(combination.calls[:place])
        if earlier.tool == call.tool and {name: 1, **earlier.arguments} == {**call.arguments, name: _before(call, name)}
    ]
    return any(rows_of(run.results[at]) for at in before)


def _before(call: GoldenCall, name: str) -> Json:
    page = call.arguments[name]
    return page - 1 if isinstance(page, int) else None


def _said(world: World, combination: Combination, place: int, name: str) -> list[str]:
    """The values that the user states for this argument."""
    if world.blueprint.tool(combination.calls[place].tool).kind == "auth":
        return [dump(combination.credentials[name])] if name in combination.credentials else []
    values = [dump(known.value) for known in combination.values if (known.call, known.parameter) == (place, name)]
    if is_transferred(combination):
        values += [dump(row.key) for row in combination.rows if (row.call, row.parameter) == (place, name)]
    return values


def _check_rows(combination: Combination, run: GoldenRun, place: int, call: GoldenCall) -> None:
    """Check that the user's words pick the row of each list from which the call takes an argument."""
    settled = mentions_of_forms(combination)
    for name, source in call.grounding.items():
        if (place, name) in settled:
            continue
        reference = result_reference(source)
        matched = _IN_LIST.fullmatch(reference.path) if reference else None
        if reference is None or matched is None:
            continue
        mentions = [row for row in combination.rows if (row.call, row.parameter) == (place, name)]
        if not mentions:
            raise Rejected("row not told apart", f"{call.tool}.{name}: no words say which row of {source!r}")
        for row in mentions:
            _check_apart(row, rows_of(run.results[reference.call]), int(matched["row"]), matched["column"])


def _check_apart(
    mention: MentionedRow, rows: Sequence[dict[str, Json]], wanted: int | None = None, column: str = ""
) -> None:
    """Check that the words fit only the wanted row, or only rows with the same value in the column."""
    fitting = [n for n, row in enumerate(rows) if all(row.get(c) == value for c, value in mention.columns.items())]
    is_one = len(fitting) == 1 and wanted in (None, fitting[0])
    same = wanted in fitting and len({dump(rows[n].get(column)) for n in fitting}) == 1
    if not (is_one or same) or not mention.columns:
        raise Rejected("row not told apart", f"{mention.read}: {mention.columns} fits {len(fitting)} rows")


def _check_person(world: World, combination: Combination, run: GoldenRun) -> None:
    """Check that signing in identifies the caller, and that nobody else has the same credentials."""
    for call, result in zip(combination.golden, run.results, strict=True):
        if tool_of(world.blueprint, call.tool).kind != "auth":
            continue
        role, tables = world.role(call.tool), person_tables(world, call.tool)
        account = (world.row_of(combination.caller, call.tool) or {}).get(role.key)
        signed_in = result.value.get(role.key) if isinstance(result.value, dict) else None
        compared = slots(world.blueprint.tool(call.tool))
        facts = {c: call.arguments[name] for name, slot in compared.items() for t, c in slot.columns if t in tables}
        with world.session(patch=combination.patch) as session:
            people = session.query(f"SELECT * FROM {role.entity.table}")
            fitting = [row for row in people if all(row[c] == value for c, value in facts.items())]
        if account is None or signed_in != account or len(fitting) != 1:
            raise Rejected("credentials fit another person", f"{sorted(facts)} fit {len(fitting)} persons")
