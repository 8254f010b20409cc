"""Gate 6, grounded and fixed by the user's words: every argument has a source, and the words fit one row and one end.

For every row that the user speaks of, all rows are sought that fit the same words, through any read that could show
them. If another of them would do as well lawfully and end otherwise, the task has two right answers and is rejected.
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from evaluator.checks.state import check_state
from skillweave.schema.combination import Combination, SaidRow
from skillweave.schema.contract import Tool
from skillweave.schema.record import Json
from skillweave.schema.task import Criteria
from skillweave.schema.template import Source, TaskTemplate
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.gates.attempt import attempt, carry_out, opened
from synth.gates.rejection import Rejected

WEEKS = 10
"""Weeks ahead in which rows that fit the words are sought."""


def grounded(world: World, combination: Combination, template: TaskTemplate, criteria: Criteria) -> dict[str, Json]:
    """The gate's figure: arguments with their kinds of source, and rows that fit the words beside the right ones."""
    sources = [
        source
        for call in combination.golden
        for source in _sources_of(combination, call.tool, call.arguments, call.grounding)
    ]
    others = 0
    for row in combination.rows:
        if row.parameter is None:
            continue
        for key in _alike(world, combination, template, row):
            others += 1
            made = attempt(world, combination, instead={(row.call, row.parameter): key})
            same = check_state(criteria, made.changes, world.comparison).score == 1
            if made.succeeded and made.lawful and not same:
                raise Rejected("second lawful end state", f"{row.entity} {row.columns} fits {row.key} and {key}")
    kinds = {kind: sum(source.partition(" ")[0] == kind for source in sources) for kind in ("user", "env", "call")}
    return {"arguments": len(sources), "grounded": len(sources), **kinds, "rows_alike": others}


def _sources_of(
    combination: Combination, tool: str, arguments: Mapping[str, Json], grounding: Mapping[str, str]
) -> list[str]:
    missing = [name for name in arguments if name not in grounding]
    if missing:
        raise Rejected("argument without source", f"{tool}.{missing[0]}")
    said = {value.value for value in combination.values if not isinstance(value.value, (list, dict))}
    said |= {value for value in combination.credentials.values() if not isinstance(value, (list, dict))}
    for name, source in grounding.items():
        if source == "user" and arguments.get(name) not in said:
            raise Rejected("argument without source", f"{tool}.{name} is said by nobody")
    return list(grounding.values())


def _alike(world: World, combination: Combination, template: TaskTemplate, row: SaidRow) -> list[Json]:
    """Keys of other rows that fit what the user says of this one, at the moment when it is needed."""
    keys: dict[str, Json] = {}
    with opened(world, combination) as session:
        carry_out(session, combination.golden[: row.call])
        for source in _sources(template, combination.golden[row.call].tool, row.parameter or ""):
            for found in _rows(world, session, combination, source):
                shared = [column for column in row.columns if column in found]
                if shared and all(found[column] == row.columns[column] for column in shared):
                    keys[str(found.get(source.column))] = found.get(source.column)
    return [key for text, key in sorted(keys.items()) if text != row.key and key is not None]


def _sources(template: TaskTemplate, tool: str, parameter: str) -> Sequence[Source]:
    for call in template.calls:
        if call.tool == tool and parameter in call.found_by:
            return call.found_by[parameter]
    return template.lookups.get(tool, {}).get(parameter, [])


def _rows(world: World, session: ContractSession, combination: Combination, source: Source) -> list[dict[str, Json]]:
    """Rows that a read gives: as the golden calls call it, else with what is known to call it with."""
    tool = world.blueprint.tool(source.tool)
    given = [call.arguments for call in combination.golden if call.tool == source.tool]
    if not given:
        known = {name: value for call in combination.golden for name, value in call.arguments.items()}
        required = [parameter.name for parameter in tool.parameters if parameter.required]
        if not all(name in known for name in required):
            return []
        given = [{name: known[name] for name in required}]
    found = []
    for arguments in [*given, *_other_windows(tool, given[0], combination.now)]:
        result = session.peek(tool.name, arguments)
        rows = result.value if isinstance(result.value, list) else [result.value]
        found += [row for row in rows if isinstance(row, dict)]
    return found


def _other_windows(tool: Tool, arguments: Mapping[str, Json], now: str) -> list[dict[str, Json]]:
    """The same call for other weeks, where the read takes a date: an agent may look there too."""
    dates = [p.name for p in tool.parameters if p.type == "date" and p.name in arguments]
    today = date.fromisoformat(now[:10])
    weeks = [(today + timedelta(weeks=week)).isoformat() for week in range(-1, WEEKS)]
    return [{**arguments, **dict.fromkeys(dates, week)} for week in weeks] if dates else []
