"""Verification of one task from the dataset's files alone: its words, golden calls and criteria are judged again.

Nothing that a task says of itself is believed.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache

from pydantic import ValidationError
from pydantic_core import from_json

from evaluator.text.facts import states_value, tells_fact
from evaluator.text.tokens import letters_and_digits
from skillweave.base.errors import ArtifactError, SkillweaveError
from skillweave.schema.combination import Combination
from skillweave.schema.contract import DECLINE, SESSION_TOOLS, Policy, RowChange
from skillweave.schema.criteria import Criteria
from skillweave.schema.record import Json
from skillweave.schema.task import Fact, Gates, Scenario, Task
from skillweave.world.canonical import dump
from skillweave.world.compare import compare
from skillweave.world.dataset import Dataset
from skillweave.world.replay import without_noise
from skillweave.world.tools import tool_of
from skillweave.world.world import World
from synth.contracts.wording import short_tool_name
from synth.contracts.writes import columns_filled_by
from synth.gates import GATES
from synth.gates.answers import is_guess
from synth.gates.gate import JudgedTask, TaskGate
from synth.policy.manual import on_one_line, stated_rules
from synth.tasks.assembly import golden_of
from synth.tasks.criteria import KnownValue, criteria_of
from synth.tasks.kinds import is_transferred
from synth.tasks.outcomes import check_foreseen
from synth.tasks.replay import GoldenRun, Rejected, make_calls, open_session, rows_of
from synth.verification.records import WorldRecords, figure_faults

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
        if not _holds(fact.text, fact.value) and not _tells(fact, task.now):
            yield f"the fact {fact.id!r} does not say its value {fact.value!r}: {fact.text!r}"
        if fact.tell == "first" and Counter(_figures(fact)) - Counter(_DIGITS.findall(opening)):
            yield f"the first message does not say the fact {fact.id!r}, which is told at once: {fact.text!r}"
    yield from _later_faults(task.scenario)
    asked = {name for ask in task.criteria.must_ask for name in ask.facts}
    for fact in task.scenario.facts:
        texts = (opening, task.scenario.goal)
        if fact.id in asked and (fact.tell == "first" or any(tells_fact(fact, text, task.now) for text in texts)):
            yield f"the fact {fact.id!r} has to be asked for, and is said at once"


def _later_faults(scenario: Scenario) -> Iterator[str]:
    """What is wrong with what the user comes out with later."""
    late = [fact for fact in scenario.facts if fact.tell == "later"]
    named, says = (scenario.later.facts, scenario.later.says) if scenario.later else ([], "")
    if {fact.id for fact in late} != {*named}:
        yield "its later wish names other facts than those that are marked `later`"
    unsaid = [fact for fact in late if Counter(_figures(fact)) - Counter(_DIGITS.findall(says))]
    yield from (f"its later wish does not say the fact {fact.id!r}: {fact.text!r}" for fact in unsaid)


def _tells(fact: Fact, now: str) -> bool:
    """Whether a fact's text says its day in relation to today, or names its month."""
    if fact.id.endswith(".month") and isinstance(fact.value, str):
        return f"{date.fromisoformat(fact.value):%B}" in fact.text
    return states_value(fact.text, fact.value, now=now, loosely=True)


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
        return _TELLING.search(value) is None or letters_and_digits(value) in letters_and_digits(text)
    _, _, *parts = moment.groups()
    return {int(part) for part in parts if part} <= {int(figure) for figure in _DIGITS.findall(text)}


def tool_faults(dataset: Dataset, task: Task) -> Iterator[str]:
    """Golden calls of tools that the task does not offer."""
    offered = _tool_names(dataset.store.read(task.tools).decode("utf-8", "replace")) - {*task.tools_hidden}
    missing = sorted({call.tool for call in task.golden} - offered)
    if missing:
        yield f"{task.tools} does not offer {missing[0]!r}, which the golden calls use"


def policy_faults(world: World, task: Task, policy: Policy) -> Iterator[str]:
    """Rules in play that the policy does not state, each in the section of its tool.

    Another policy may have a rule of the same number, so the sentence counts.
    """
    asked = [task.criteria.asked] if task.criteria.asked else []
    for tool in dict.fromkeys(call.tool for call in [*task.golden, *asked]):
        text = _section(policy, tool)
        for rule, says in stated_rules(tool_of(world.blueprint, tool)).items():
            if f"[{rule}] {on_one_line(says)}" not in text:
                yield f"{task.policy} does not state {rule} of {tool} as the contract has it"


@cache
def _section(policy: Policy, tool: str) -> str:
    return on_one_line(policy.for_tools([tool]).text)


def answer_faults(task: Task, run: GoldenRun) -> Iterator[str]:
    """Answers that no golden call returns, or that the user knows or may guess."""
    held = {dump(value) for result in run.results for row in rows_of(result) for value in row.values()}
    known = {dump(fact.value) for fact in task.scenario.facts}
    for fact in task.criteria.communicate:
        if any(is_guess(value, fact.unit == "cents") or dump(value) in known for value in fact.values):
            yield f"the {fact.noun} to be told is {fact.values}, which the user knows or may guess"
        if not all(any(dump(value) in held for value in values) for values in fact.shown):
            yield f"the {fact.noun} to be told is {fact.values}, which no golden call returns"
        if fact.parts and fact.values not in _made_of(fact.parts):
            yield f"the {fact.noun} to be told is {fact.values}, which its parts {fact.parts} do not make"


def _made_of(parts: Sequence[Json]) -> list[list[Json]]:
    """The values that can be computed from parts: their sum, or the difference of two."""
    numbers = [part for part in parts if isinstance(part, int | float)]
    made: list[list[Json]] = [[sum(numbers)]] if len(numbers) == len(parts) else []
    return [*made, [abs(numbers[0] - numbers[1])]] if made and len(numbers) == 2 else made


@cache
def _tool_names(text: str) -> frozenset[str]:
    try:
        listed: Json = from_json(text)
    except ValueError as error:
        raise ArtifactError(f"the tool list is not JSON: {error}") from error
    functions = [tool.get("function") for tool in listed if isinstance(tool, dict)] if isinstance(listed, list) else []
    return frozenset(str(function.get("name")) for function in functions if isinstance(function, dict))


_NUMBER = re.compile(r"_\d+$")
"""Of a second fact of the same name."""
FIRST_GATES = ("golden", "lawful")
"""Gates that come before the criteria: these say nothing if the golden calls fail or break a rule."""
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
    faults = [*_until_rejected(_faults(dataset, task))]
    if records is not None:
        faults += _until_rejected(records.faults(task))
    return [f"{task.id}: {fault}" for fault in faults]


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
    policy = Policy(world=task.world, text=dataset.store.read(task.policy).decode("utf-8", "replace"))
    yield from tool_faults(dataset, task)
    yield from policy_faults(world, task, policy)
    yield from wording_faults(task)
    calm = without_noise(task)
    is_noisy = task.noise is not None or any(call.fault for call in task.golden)
    judged = JudgedTask(
        world,
        _combination(world, calm),
        policy.rules,
        said=_known_to_user(calm),
        recorded=calm.criteria,
        noisy=task if is_noisy else None,
    )
    first, others = (
        [gate for name, gate in GATES.items() if isinstance(gate, TaskGate) and (name in FIRST_GATES) == is_first]
        for is_first in (True, False)
    )
    yield from _repeated_gates(first, judged, task.gates)
    yield from criteria_faults(world, judged.combination, calm, criteria_of(world, judged.combination, judged.golden))
    yield from answer_faults(calm, judged.golden)
    check_foreseen(world, judged.combination)
    yield from _repeated_gates(others, judged, task.gates)
    for name in task.gates.own:
        if name not in GATES:
            yield f"the gate {name!r} is not known here; name the module that registers it in `plugins`"


def _repeated_gates(gates: Sequence[TaskGate], judged: JudgedTask, recorded: Gates) -> Iterator[str]:
    """Figures of gates that come out otherwise than on the task's record. Raises Rejected."""
    for gate in gates:
        yield from figure_faults(
            recorded, GATES.call(gate.name, gate.check, judged, passing=(Rejected,)), "comes out as"
        )


def criteria_faults(world: World, combination: Combination, task: Task, criteria: Criteria) -> Iterator[str]:
    """Where a task's criteria are not those that its golden run and its request come to.

    Args:
        criteria: The criteria made again.
    """
    for name, fault in (
        ("state", "the criteria are not what the golden calls change"),
        ("declined", "what it records as declined is not what decides the request"),
        ("must_not", "the rules that forbid the request are not those of its tool"),
        ("beyond", "what is out of reach is not what the tools offered leave"),
    ):
        on_record, again = (one.model_dump(mode="json", include={name}) for one in (task.criteria, criteria))
        if dump(on_record) != dump(again):
            yield fault
    if task.forms and not has_other_end_states(world, combination, task.criteria):
        yield "the other end states are not those of the courses that its forms call right"
    if task.golden != golden_of(combination):
        yield "what it records as declined is not what decides the request"
    if sorted(criteria.reward_basis) != sorted(task.criteria.reward_basis):
        yield f"the reward rests on {task.criteria.reward_basis}, and should on {criteria.reward_basis}"
    yield from _request_faults(world, task)


def end_states(world: World, combination: Combination) -> list[list[RowChange]]:
    """The end states to which the right courses of a request's forms lead."""
    states: list[list[RowChange]] = []
    for course in (course for form in combination.forms for course in form.right):
        with open_session(world, combination) as session:
            results = make_calls(session, course.calls)
            if all(result.ok and not result.violations for result in results):
                states.append(session.canonical())
    return states


def has_other_end_states(world: World, combination: Combination, criteria: Criteria) -> bool:
    """Whether the end states on record, beside the first, are those to which right courses lead."""
    reached, wanted = end_states(world, combination), [criteria.state, *criteria.any_of]
    is_reached = all(
        any(compare(state, one, world.comparison).is_empty for one in reached) for state in criteria.any_of
    )
    return is_reached and all(
        any(compare(state, one, world.comparison).is_empty for state in wanted) for one in reached
    )


def _request_faults(world: World, task: Task) -> Iterator[str]:
    """What the user is to give to the request and does not know; rows are named in words."""
    asked = task.criteria.asked
    if asked is None:
        return
    known = {dump(fact.value) for fact in task.scenario.facts}
    tool = world.blueprint.tool(asked.tool)
    for name, value in asked.arguments.items():
        is_row = is_transferred(task) and tool.parameter(name).refers_to is not None
        if name not in asked.grounding:
            yield f"{asked.tool}.{name} has no source"
        elif asked.grounding[name] == "user" and not is_row and dump(value) not in known:
            yield f"{asked.tool}.{name} is {value!r}, which the user does not know"


def _known_to_user(task: Task) -> list[KnownValue]:
    """All that the user knows, and so may say."""
    facts = [fact for fact in task.scenario.facts if fact.value is not None]
    return [KnownValue(_NUMBER.sub("", fact.id.rpartition(".")[2]), fact.value) for fact in facts]


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
        asked_after=task.criteria.asked_after,
        undone=task.criteria.undone,
        thought_better_of=task.criteria.thought_better_of,
        forms=task.forms,
        any_of=task.criteria.any_of,
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
    open_columns: dict[str, list[str]] = {}
    for call in task.golden:
        if call.tool in SESSION_TOOLS:
            continue
        tool, word = world.blueprint.tool(call.tool), short_tool_name(world.blueprint, call.tool)
        for parameter in tool.parameters if tool.kind == "write" else ():
            if parameter.name not in call.arguments and f"{word}.{parameter.name}" not in unwanted:
                for table, columns in (columns_filled_by(tool, parameter.name) or {}).items():
                    open_columns.setdefault(table, []).extend(columns)
    return open_columns


def id_in(line: bytes) -> str:
    """The id of what may be no task; where it has none, how it begins."""
    try:
        record = from_json(line)
    except ValueError:
        record = None
    return str(record.get("id")) if isinstance(record, dict) else f"a line that begins with {line[:40]!r}"
