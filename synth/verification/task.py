"""Verification of one task from the dataset's files alone: gates and checks are repeated on what it records.

Nothing that a task says of itself is believed: the golden calls are replayed and the criteria are made again.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

from pydantic import ValidationError
from pydantic_core import from_json

from evaluator.text.facts import tells_fact
from skillweave.base.errors import ArtifactError, SkillweaveError
from skillweave.schema.blueprint import FusedBlueprint
from skillweave.schema.call import DECLINE, SESSION_TOOLS, RowChange
from skillweave.schema.combination import Combination
from skillweave.schema.contract import Policy
from skillweave.schema.record import Json
from skillweave.schema.task import Criteria, Fact, GoldenCall, Task
from skillweave.world.canonical import dump
from skillweave.world.dataset import Dataset
from skillweave.world.replay import without_noise
from skillweave.world.tools import tool_of
from skillweave.world.world import World
from synth.contracts.dependencies import columns_filled_by
from synth.contracts.wording import short_tool_name
from synth.gates.alternative_actions import check_alternative_actions
from synth.gates.answers import is_guess
from synth.gates.declined import check_declined
from synth.gates.fresh_sources import check_fresh_sources
from synth.gates.golden import check_golden
from synth.gates.interlock import check_interlock
from synth.gates.lawful import check_lawful
from synth.gates.minimal import check_minimal
from synth.gates.noise import check_noise
from synth.gates.not_already_true import check_not_already_true
from synth.gates.unreachable import check_unreachable
from synth.policy.manual import on_one_line, stated_rules
from synth.tasks.assembly import golden_of
from synth.tasks.criteria import criteria_of
from synth.tasks.knowledge import KnownValue
from synth.tasks.replay import GoldenRun, Rejected, rows_of
from synth.verification.records import WorldRecords


def conduct_faults(world: World, combination: Combination, task: Task, criteria: Criteria) -> Iterator[str]:
    """Where a task's bans or what it holds to be out of reach is not what its request comes to; Rejected like a gate.

    `criteria` are those made anew.
    """
    if task.criteria.declined != criteria.declined or task.golden != golden_of(combination):
        yield "what it records as declined is not what decides the request"
    if task.criteria.must_not != criteria.must_not:
        yield "the rules that forbid the request are not those of its tool"
    if task.criteria.beyond != criteria.beyond:
        yield "what is out of reach is not what the tools offered leave"
    if task.criteria.asked is not None:
        yield from _unsaid(world, task, task.criteria.asked)
    check_declined(world, combination)
    check_unreachable(world, combination, task.criteria)


def _unsaid(world: World, task: Task, asked: GoldenCall) -> Iterator[str]:
    """What the user is to give to the request and does not know; rows are named in words."""
    known = {dump(fact.value) for fact in task.scenario.facts}
    tool = world.blueprint.tool(asked.tool)
    for name, value in asked.arguments.items():
        is_row = task.kind == "unavailable" and tool.parameter(name).refers_to is not None
        if name not in asked.grounding:
            yield f"{asked.tool}.{name} has no source"
        elif asked.grounding[name] == "user" and not is_row and dump(value) not in known:
            yield f"{asked.tool}.{name} is {value!r}, which the user does not know"


_DIGITS = re.compile(r"\d+")
_DATED = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):\d\d)?")
_TELLING = re.compile(r"[\d@]")
"""A text that has such is said to the letter; names and kinds may be put in other words."""


def wording_faults(task: Task) -> Iterator[str]:
    """What is wrong with the first message, the goal and the facts."""
    opening = task.messages[0].content or "" if task.messages else ""
    if len(task.messages) != 1 or task.messages[0].role != "user" or not opening.strip():
        yield "its messages are not one, of the user"
        return
    for fact in task.scenario.facts:
        if not _holds(fact.text, fact.value):
            yield f"the fact {fact.id!r} does not say its value {fact.value!r}: {fact.text!r}"
        if fact.tell == "first" and Counter(_figures(fact)) - Counter(_DIGITS.findall(opening)):
            yield f"the first message does not say the fact {fact.id!r}, which is told at once: {fact.text!r}"
    asked = {name for ask in task.criteria.must_ask for name in ask.facts}
    for fact in task.scenario.facts:
        texts = (opening, task.scenario.goal)
        if fact.id in asked and (fact.tell == "first" or any(tells_fact(fact, text, task.now) for text in texts)):
            yield f"the fact {fact.id!r} has to be asked for, and is said at once"


def _figures(fact: Fact) -> list[str]:
    """Figures of a fact that are said to the digit wherever it is told."""
    if isinstance(fact.value, str) and not _DATED.fullmatch(fact.value):
        return []
    return _DIGITS.findall(fact.text) if isinstance(fact.value, str | int | float) else []


def _holds(text: str, value: Json) -> bool:
    """Whether a fact's text says its value; of money in cents or in full."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return True
    if isinstance(value, int | float):
        return any(said in text for said in (f"{value:g}", f"{value}", f"{value:,}", f"{value / 100:,.2f}"))
    moment = _DATED.fullmatch(value)
    if moment is None:
        return _TELLING.search(value) is None or _squeezed(value) in _squeezed(text)
    _, _, *parts = moment.groups()
    return {int(part) for part in parts if part} <= {int(figure) for figure in _DIGITS.findall(text)}


def _squeezed(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


_NUMBER = re.compile(r"_\d+$")
"""Of a second fact of the same name."""
MOST_CHARACTERS = 200
"""Characters of an error that a fault quotes."""


def faults_of(dataset: Dataset, world_name: str, line: bytes, records: WorldRecords | None = None) -> list[str]:
    """What is wrong with one line of `queries/<world>.jsonl`, each fault with the task's id; by `records` too."""
    try:
        task = Task.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        return [f"{id_in(line)}: the line is no task: {'.'.join(map(str, first['loc']))}: {first['msg']}"]
    if task.world != world_name:
        return [f"{task.id}: is of the world {task.world!r}"]
    found = [*_until_rejected(_faults(dataset, task))]
    if records is not None:
        found += _until_rejected(records.faults(task))
    return [f"{task.id}: {fault}" for fault in found]


def _until_rejected(faults: Iterator[str]) -> Iterator[str]:
    """Faults that are told, and the one at which a gate or a file gave up."""
    try:
        yield from faults
    except (SkillweaveError, Rejected, LookupError) as fault:
        yield str(fault)
    except Exception as fault:
        # Gates take what the steps make; what somebody has edited may be anything.
        yield f"cannot be proved: {type(fault).__name__}: {str(fault)[:MOST_CHARACTERS]}"


def _faults(dataset: Dataset, task: Task) -> Iterator[str]:
    world = dataset.world(task)
    yield from _unoffered(dataset, task)
    policy = Policy(world=task.world, text=_text(dataset, task.policy))
    yield from _unstated(world, task, policy)
    yield from wording_faults(task)
    if task.noise is not None or any(call.fault for call in task.golden):
        check_noise(world, task)
    task = without_noise(task)
    combination = _combination(world, task)
    made, _ = check_golden(world, combination)
    check_lawful(world, combination, made, policy.rules)
    criteria = criteria_of(world, combination, made)
    if dump(_plain(criteria.state)) != dump(_plain(task.criteria.state)):
        yield "the criteria are not what the golden calls change"
    if sorted(criteria.reward_basis) != sorted(task.criteria.reward_basis):
        yield f"the reward rests on {task.criteria.reward_basis}, and should on {criteria.reward_basis}"
    yield from _untold(task, made)
    yield from conduct_faults(world, combination, task, criteria)
    check_not_already_true(world, combination, task.criteria)
    check_minimal(world, combination, task.criteria, made)
    check_fresh_sources(world, combination)
    check_alternative_actions(world, combination, task.criteria)
    if isinstance(world.blueprint, FusedBlueprint):
        yield from _apart(world, combination, task)


def _apart(world: World, combination: Combination, task: Task) -> Iterator[str]:
    """Links that the task has on record and that do not show, or the reverse; all that the user knows may be said."""
    facts = [fact for fact in task.scenario.facts if fact.value is not None]
    said = [KnownValue(_NUMBER.sub("", fact.id.rpartition(".")[2]), fact.value) for fact in facts]
    if check_interlock(world, combination, said) != task.gates.interlock:
        yield "the links between its domains are not those on record"


def _combination(world: World, task: Task) -> Combination:
    """The task as the gates see it, without what its words are made from; a decline is no call of a combination."""
    calls = [call for call in task.golden if call.tool != DECLINE]
    return Combination(
        id=task.task_info.combo_id,
        template=task.lineage.template,
        server=task.world,
        kind=task.kind,
        login=task.login,
        caller=task.env_variables.LOGGED_IN_USER or "",
        now=task.now,
        patch=task.initial_state.patch,
        golden=calls,
        asked=task.criteria.asked,
        forbidden=[ban.rule for ban in task.criteria.must_not],
        hidden=task.tools_hidden,
        steps=list(range(len(calls))),
        rows=[],
        values=[],
        communicate=task.criteria.communicate,
        open_columns=_open_columns(world, task),
    )


def _open_columns(world: World, task: Task) -> dict[str, list[str]]:
    """Columns of optional arguments that are left out, where the user has not said to leave them out."""
    unwanted = {fact.id for fact in task.scenario.facts if fact.value is None}
    found: dict[str, list[str]] = {}
    for call in task.golden:
        if call.tool in SESSION_TOOLS:
            continue
        tool, word = world.blueprint.tool(call.tool), short_tool_name(world.blueprint, call.tool)
        for parameter in tool.parameters if tool.kind == "write" else ():
            if parameter.name not in call.arguments and f"{word}.{parameter.name}" not in unwanted:
                for table, columns in (columns_filled_by(tool, parameter.name) or {}).items():
                    found.setdefault(table, []).extend(columns)
    return found


def _unoffered(dataset: Dataset, task: Task) -> Iterator[str]:
    offered = _tool_names(_text(dataset, task.tools)) - {*task.tools_hidden}
    missing = sorted({call.tool for call in task.golden} - offered)
    if missing:
        yield f"{task.tools} does not offer {missing[0]!r}, which the golden calls use"


def _unstated(world: World, task: Task, policy: Policy) -> Iterator[str]:
    """Another policy may have a rule of the same number: it is the sentence that counts, in the section of its tool."""
    asked = [task.criteria.asked] if task.criteria.asked else []
    for tool in dict.fromkeys(call.tool for call in [*task.golden, *asked]):
        text = _section(policy, tool)
        for rule, says in stated_rules(tool_of(world.blueprint, tool)).items():
            if f"[{rule}] {on_one_line(says)}" not in text:
                yield f"{task.policy} does not state {rule} of {tool} as the contract has it"


@cache
def _section(policy: Policy, tool: str) -> str:
    return on_one_line(policy.for_tools([tool]).text)


def _untold(task: Task, made: GoldenRun) -> Iterator[str]:
    held = {dump(value) for result in made.results for row in rows_of(result) for value in row.values()}
    known = {dump(fact.value) for fact in task.scenario.facts}
    for fact in task.criteria.communicate:
        if any(is_guess(value, fact.unit == "cents") or dump(value) in known for value in fact.values):
            yield f"the {fact.noun} to be told is {fact.values}, which the user knows or may guess"
        if not any(dump(value) in held for value in fact.values):
            yield f"the {fact.noun} to be told is {fact.values}, which no golden call returns"


@cache
def _tool_names(text: str) -> frozenset[str]:
    try:
        listed: Json = from_json(text)
    except ValueError as error:
        raise ArtifactError(f"the tool list is not JSON: {error}") from error
    functions = [tool.get("function") for tool in listed if isinstance(tool, dict)] if isinstance(listed, list) else []
    return frozenset(str(function.get("name")) for function in functions if isinstance(function, dict))


def _text(dataset: Dataset, path: str) -> str:
    return dataset.store.read(path).decode("utf-8", "replace")


def _plain(changes: list[RowChange]) -> list[Json]:
    return [change.model_dump(mode="json") for change in changes]


def id_in(line: bytes) -> str:
    """The id of what may be no task; where it has none, how it begins."""
    try:
        record = from_json(line)
    except ValueError:
        record = None
    return str(record.get("id")) if isinstance(record, dict) else f"a line that begins with {line[:40]!r}"
