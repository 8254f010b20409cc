"""Verification: the tasks of a finished dataset, proven again from its files alone, by the gates that let them pass.

Nothing that a task says of itself is believed: the state is digested, the golden calls are replayed, the criteria are
made anew from what they changed, and doing nothing or too little has to fail.
"""

import re
from collections.abc import Iterator
from functools import cache

from pydantic import ValidationError
from pydantic_core import from_json

from skillweave.dataset import Dataset
from skillweave.errors import ArtifactError, SkillweaveError
from skillweave.schema.call import DECLINE, SESSION_TOOLS
from skillweave.schema.change import RowChange
from skillweave.schema.combination import Combination
from skillweave.schema.fused import FusedBlueprint
from skillweave.schema.policy import Policy
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.world.canonical import dump
from skillweave.world.tools import tool_of
from skillweave.world.undisturbed import undisturbed
from skillweave.world.world import World
from synth.gates.attempt import Attempt
from synth.gates.conduct import conduct_faults
from synth.gates.criteria import criteria_of
from synth.gates.disturbed import disturbed
from synth.gates.fresh import fresh
from synth.gates.golden import golden
from synth.gates.interlock import interlock
from synth.gates.known import Known
from synth.gates.lawful import lawful
from synth.gates.minimal import minimal
from synth.gates.not_already_true import not_already_true
from synth.gates.otherwise import otherwise
from synth.gates.records import Records
from synth.gates.rejection import Rejected
from synth.gates.told import is_guess
from synth.gates.views import rows_of
from synth.gates.worded import word_faults
from synth.policy.manual import flat, stated_rules
from synth.tasks.fills import filled_by
from synth.tasks.naming import tool_word

_NUMBER = re.compile(r"_\d+$")
"""Of a second fact of the same name."""
MOST = 200
"""Characters of an error that a fault quotes."""


def faults_of(dataset: Dataset, world_name: str, line: bytes, records: Records | None = None) -> list[str]:
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
        yield f"cannot be proved: {type(fault).__name__}: {str(fault)[:MOST]}"


def _faults(dataset: Dataset, task: Task) -> Iterator[str]:
    world = dataset.world(task)
    yield from _unoffered(dataset, task)
    policy = Policy(world=task.world, text=_text(dataset, task.policy))
    yield from _unstated(world, task, policy)
    yield from word_faults(task)
    if task.noise is not None or any(call.fault for call in task.golden):
        disturbed(world, task)
    task = undisturbed(task)
    combination = _combination(world, task)
    made, _ = golden(world, combination)
    lawful(world, combination, made, policy.rules)
    criteria = criteria_of(world, combination, made)
    if dump(_plain(criteria.state)) != dump(_plain(task.criteria.state)):
        yield "the criteria are not what the golden calls change"
    if sorted(criteria.reward_basis) != sorted(task.criteria.reward_basis):
        yield f"the reward rests on {task.criteria.reward_basis}, and should on {criteria.reward_basis}"
    yield from _untold(task, made)
    yield from conduct_faults(world, combination, task, criteria)
    not_already_true(world, combination, task.criteria)
    minimal(world, combination, task.criteria, made)
    fresh(world, combination)
    otherwise(world, combination, task.criteria)
    if isinstance(world.blueprint, FusedBlueprint):
        yield from _apart(world, combination, task)


def _apart(world: World, combination: Combination, task: Task) -> Iterator[str]:
    """Links that the task has on record and that do not show, or the reverse; all that the user knows may be said."""
    facts = [fact for fact in task.scenario.facts if fact.value is not None]
    said = [Known(_NUMBER.sub("", fact.id.rpartition(".")[2]), fact.value) for fact in facts]
    if interlock(world, combination, said) != task.gates.interlock:
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
        tool, word = world.blueprint.tool(call.tool), tool_word(world.blueprint, call.tool)
        for parameter in tool.parameters if tool.kind == "write" else ():
            if parameter.name not in call.arguments and f"{word}.{parameter.name}" not in unwanted:
                for table, columns in (filled_by(tool, parameter.name) or {}).items():
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
            if f"[{rule}] {flat(says)}" not in text:
                yield f"{task.policy} does not state {rule} of {tool} as the contract has it"


@cache
def _section(policy: Policy, tool: str) -> str:
    return flat(policy.for_tools([tool]).text)


def _untold(task: Task, made: Attempt) -> Iterator[str]:
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
