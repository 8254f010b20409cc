"""One task for a reader: who wants what, which calls are right and why, and what was proved about the task."""

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from skillweave.base.command import one_line
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import DECLINE, TRANSFER, RowChange
from skillweave.schema.criteria import FaultKind, GoldenCall
from skillweave.schema.record import Json
from skillweave.schema.task import Fact, Task
from skillweave.world.replay import result_reference

WIDTH = 110
"""Columns of a line."""
FAULTS: Mapping[FaultKind, str] = {
    "timeout": "times out, and is made again",
    "temporary_error": "fails for the time being, and is made again",
    "partial_page": "returns only some of its rows, says so, and is made again",
    "stale_read": "returns what was so before, and is made again",
    "reordered_keys": "returns its fields in another order",
    "injected_instruction": "returns a text that tells the agent to do something",
}
PROVED = {
    "golden": "The golden calls go through, time and again with the same end",
    "not_already_true": "Doing nothing fails; its scores",
    "minimal": "Every write is needed, and every read of use",
    "mutants": "Wrong trajectories all fail",
    "equivalents": "Other right ones all pass",
    "grounded": "Every argument has a source, and the user's words allow no other end",
    "lawful": "No rule is broken, and the policy states those in play",
    "interlock": "No domain can be left out",
}
"""Gate -> what it shows."""
LATER = {"second_message": "In their second message", "after_report": "Once that is reported"}
"""When a user comes out with a later wish."""
_TOLD = {"first": "at once", "asked": "when asked", "later": "in a later message", "never": "never"}


def story_of(task: Task, blueprint: Blueprint) -> Iterator[str]:
    """The story, line by line."""
    yield f"task {task.id}: {task.kind}, in {task.world}, {task.split}"
    yield from _section("Who", [_who(task)])
    reason = task.scenario.reason
    yield from _section("Wants", [task.scenario.goal, *([f"Why: {reason}"] if reason else []), *_opening(task)])
    yield from _section("Knows", [_known(fact) for fact in task.scenario.facts])
    yield from _section("Golden calls", _golden(task, blueprint), wraps=False)
    yield from _section("Right is", _criteria(task))
    yield from _section("Faults planted", _faults(task))
    yield from _section("Proved", _proved(task))
    yield from _section("Searched", _searched(task.gates.planner))
    shortest = "" if task.difficulty.shortest is None else f", {task.difficulty.shortest} at least"
    origin = f"template {task.lineage.template}, combination {task.lineage.combo}, seed {task.lineage.seed_domain!r}"
    yield from _section(
        "Comes from",
        [origin, f"{task.difficulty.calls} calls{shortest}; split by template and person: {task.split}"],
    )


def _section(title: str, lines: Iterable[str], *, wraps: bool = True) -> Iterator[str]:
    shown = [one_line(line) if wraps else line for line in lines]
    if not shown:
        return
    yield ""
    yield title
    for line in shown:
        yield from textwrap.wrap(line, WIDTH, initial_indent="  ", subsequent_indent="    ") if wraps else [line]


def _who(task: Task) -> str:
    persona = task.persona
    traits = f", {', '.join(persona.traits)}" if persona.traits else ""
    signed = "the agent has to sign them in" if task.login == "conversation" else "signed in by the channel"
    patience = f"gives up after {persona.patience} turns without progress"
    return f"{persona.name}, {persona.age}, {persona.style}{traits}; {patience}; {signed}; it is {task.now}"


def _opening(task: Task) -> Iterator[str]:
    for message in task.messages[:1]:
        yield f"Begins: {message.content or ''}"
    if task.scenario.later is not None:
        yield f"{LATER[task.scenario.later.when]}: {task.scenario.later.says}"
    yield from (f"When it is declined: {text}" for text in task.scenario.insists)


def _known(fact: Fact) -> str:
    return f"({_TOLD[fact.tell]}) {fact.text}"


def _golden(task: Task, blueprint: Blueprint) -> Iterator[str]:
    """The calls, numbered from 1, each argument with its source."""
    calls = [*task.golden, *([task.criteria.asked] if task.criteria.asked else [])]
    for number, call in enumerate(calls, start=1):
        is_asked = number > len(task.golden)
        yield f"  {number}. {one_line(call.tool)}{' (asked for, and not made)' if is_asked else ''}"
        for name, value in call.arguments.items():
            source = _source(blueprint, call, name, calls)
            yield f"       {one_line(f'{name} = {_shown(value)}')}  <- {source}"
        if call.demanded_by is not None:
            yield f"       {one_line(f'for the sake of {call.demanded_by}: {_rule(blueprint, call.demanded_by)}')}"
        if call.fault is not None:
            yield f"       {FAULTS[call.fault]}"


def _source(blueprint: Blueprint, call: GoldenCall, name: str, calls: Sequence[GoldenCall]) -> str:
    source = call.grounding.get(name, "")
    if call.tool == DECLINE:
        return "the rule that decides it"
    if call.tool == TRANSFER:
        return "as the policy says" if source == "env" else "in the agent's own words"
    names_row = any(
        parameter.name == name and parameter.refers_to
        for tool in blueprint.tools
        if tool.name == call.tool
        for parameter in tool.parameters
    )
    return "of the row that the user describes" if names_row and source == "user" else source_in_words(source, calls)


def source_in_words(source: str, calls: Sequence[GoldenCall]) -> str:
    """Where an argument comes from, in words. Calls are counted from 1.

    Args:
        source: The argument's grounding in the task's record.
        calls: The golden calls.
    """
    if source == "user":
        return "the user says it"
    if source == "env":
        return "the session gives it"
    rule = source.removeprefix("policy ")
    if rule != source:
        return f"a constant of rule {rule}"
    reference = result_reference(source)
    if reference is None:
        return one_line(source) or "nothing on record"
    tool = calls[reference.call].tool if reference.call < len(calls) else "?"
    day = "the day of " if reference.as_date else ""
    return one_line(f"{day}{reference.path} of call {reference.call + 1} ({tool})")


def _rule(blueprint: Blueprint, rule: str) -> str:
    says = (guard.says for tool in blueprint.tools for guard in tool.guards if guard.rule == rule)
    return next(says, "a rule that the contract does not have")


def _criteria(task: Task) -> Iterator[str]:
    criteria = task.criteria
    for change in criteria.state:
        yield _change(change)
    if not criteria.state:
        yield "nothing changes"
    for ends in criteria.any_of:
        yield f"or else: {'; '.join(map(_change, ends)) or 'nothing changes'}"
    for fact in criteria.communicate:
        yield f"the user is told the {fact.noun}: {' or '.join(map(_shown, fact.values))}"
    for ban in criteria.must_not:
        yield f"forbidden by {ban.rule}: {ban.why}"
    if criteria.declined:
        others = "".join(f", or {rule}" for rule in criteria.declined.also)
        yield f"recorded as declined by {criteria.declined.rule}{others}, and the user told"
    for ask in criteria.must_ask:
        yield f"asked for before {ask.tool}: {' or '.join(ask.facts)}"
    if task.tools_hidden:
        yield f"handed over to a human; not offered: {', '.join(task.tools_hidden)}"
    for table, columns in criteria.beyond.items():
        yield f"no offered tool writes {table}: {', '.join(columns)}"
    yield f"the reward is the product of: {', '.join(criteria.reward_basis)}"


def _change(change: RowChange) -> str:
    key = ", ".join(_shown(value) for value in change.key.values())
    if change.op == "delete":
        return f"{change.table} {key} is deleted"
    before, after = change.before or {}, change.after or {}
    if change.op == "insert":
        return f"{change.table} {key} is new: {', '.join(f'{name} {_shown(value)}' for name, value in after.items())}"
    moved = (f"{name} from {_shown(before.get(name))} to {_shown(value)}" for name, value in after.items())
    return f"{change.table} {key}: {', '.join(moved)}"


def _faults(task: Task) -> Iterator[str]:
    for planted in task.noise.faults if task.noise else ():
        given = "" if planted.arguments is None else f"({_shown(planted.arguments)})"
        yield f"{planted.tool}{given}, call {planted.occurrence} of this kind: {FAULTS[planted.fault]}"


def _proved(task: Task) -> Iterator[str]:
    """The gates, each with its figures."""
    for name, words in PROVED.items():
        figures: dict[str, Json] = getattr(task.gates, name)
        if figures:
            yield f"{words} ({_in_words(figures)})"


def _searched(planner: dict[str, Json]) -> Iterator[str]:
    if planner:
        yield f"without the golden calls: {_in_words(planner)}"


def _in_words(figures: Json) -> str:
    """Figures as `name value`, nested ones in brackets."""
    if isinstance(figures, dict):
        parts = []
        for name, value in sorted(figures.items(), key=lambda item: isinstance(item[1], list)):
            if value is None or (isinstance(value, int) and value == 0):
                continue
            words = _in_words(value)
            parts.append(f"{name.replace('_', ' ')} {f'({words})' if isinstance(value, dict) and value else words}")
        return ", ".join(parts) or "none"
    if isinstance(figures, list):
        return "; ".join(map(_in_words, figures)) or "none"
    return figures if isinstance(figures, str) else _shown(figures)


def _shown(value: Json) -> str:
    if isinstance(value, dict) and "$any" in value:
        return "anything"
    if isinstance(value, dict) and "$new" in value:
        return f"a new id ({value['$new']})"
    return json.dumps(value, ensure_ascii=False)
