"""A script: what the golden trajectory of a task asks of an agent. Only agents that are built with it may see it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache

from evaluator.checks.communicate import content_words
from skillweave.dataset import Dataset
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Parameter, Tool, ToolKind
from skillweave.schema.record import Json
from skillweave.schema.task import FactToTell, GoldenCall, Kind, Task
from skillweave.world.tools import TRANSFER_TOOL

_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z])")
_TO_KNOW = re.compile(r"\bwants? to (?:know|hear|find out|learn)\b|\?", re.IGNORECASE)
_FRAME = frozenset({"want", "after", "becau", "calle", "know", "find", "hear", "learn"})
KEPT = 2_048
"""Scripts that are remembered."""


@dataclass(frozen=True)
class PlannedCall:
    tool: str
    kind: ToolKind
    confirm: bool
    arguments: Mapping[str, Json]
    grounding: Mapping[str, str]
    parameters: Mapping[str, Parameter]
    wordings: Mapping[str, str] = field(default_factory=dict)
    """Argument -> how the user may put it, where their facts tell it."""

    @property
    def from_user(self) -> list[str]:
        """Arguments that the user has to say."""
        return [name for name, source in self.grounding.items() if source == "user" and name in self.parameters]


@dataclass(frozen=True)
class Wish:
    """One request of the goal."""

    text: str
    words: frozenset[str]
    """Stems that tell it from the wishes before it."""
    asks: bool
    """Whether it wants to know something, not to have it done."""


@dataclass(frozen=True)
class Script:
    task: str
    kind: Kind
    calls: tuple[PlannedCall, ...]
    wishes: tuple[Wish, ...]
    facts: tuple[FactToTell, ...]
    banned: tuple[str, ...]
    """Rules that the request would break."""
    tools: tuple[Tool, ...] = ()
    """All tools of the world."""


Scripts = Callable[[str], Script]
"""Task id -> script."""


def scripts_of(dataset: Dataset) -> Scripts:
    """The scripts of a dataset's tasks."""
    blueprint = cache(dataset.blueprint)

    @lru_cache(maxsize=KEPT)
    def script(task: str) -> Script:
        record = dataset.tasks[task]
        return script_of(record, blueprint(record.world))

    return script


def script_of(task: Task, blueprint: Blueprint) -> Script:
    """The script of one task."""
    return Script(
        task=task.id,
        kind=task.kind,
        calls=tuple(_planned(call, _tool(blueprint, call.tool), task) for call in task.golden),
        wishes=tuple(_wishes(task)),
        facts=tuple(task.criteria.communicate),
        banned=tuple(dict.fromkeys(ban.rule for ban in task.criteria.must_not)),
        tools=tuple(tool for tool in blueprint.tools if tool.name not in task.tools_hidden),
    )


def _tool(blueprint: Blueprint, name: str) -> Tool:
    return TRANSFER_TOOL if name == TRANSFER_TOOL.name else blueprint.tool(name)


def _planned(call: GoldenCall, tool: Tool, task: Task) -> PlannedCall:
    wordings = {
        name: fact.text.partition(":")[2].strip(" .")
        for name in call.arguments
        for fact in task.scenario.facts
        if fact.id.rpartition(".")[2] == name and fact.value == call.arguments[name] and ":" in fact.text
    }
    return PlannedCall(
        tool=call.tool,
        kind=tool.kind,
        confirm=tool.confirm,
        arguments=dict(call.arguments),
        grounding=dict(call.grounding),
        parameters={parameter.name: parameter for parameter in tool.parameters},
        wordings=wordings,
    )


def _wishes(task: Task) -> list[Wish]:
    """The goal's sentences. Words of rows and values may be said later, so others mark a wish where there are any."""
    found: list[Wish] = []
    told = frozenset[str]().union(*(content_words(fact.text) for fact in task.scenario.facts))
    before: frozenset[str] = frozenset()
    for text in filter(None, _SENTENCE.split(task.scenario.goal.strip())):
        words = content_words(text) - _FRAME
        found.append(
            Wish(text, (words - before - told) or (words - before) or words, _TO_KNOW.search(text) is not None)
        )
        before |= words
    return found
