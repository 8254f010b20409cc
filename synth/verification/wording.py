"""Verification of a task's texts: its words say what the user knows, its policy states the rules in play.

What has to be asked for is left unsaid, and what is to be told is worth telling.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

from pydantic_core import from_json

from evaluator.text.facts import tells_fact
from skillweave.base.errors import ArtifactError
from skillweave.schema.contract import Policy
from skillweave.schema.record import Json
from skillweave.schema.task import Fact, Task
from skillweave.world.canonical import dump
from skillweave.world.dataset import Dataset
from skillweave.world.tools import tool_of
from skillweave.world.world import World
from synth.gates.answers import is_guess
from synth.policy.manual import on_one_line, stated_rules
from synth.tasks.replay import GoldenRun, rows_of

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
