"""A script: what the golden trajectory of a task asks of an agent. Only agents that are built with it may see it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

from evaluator.checks.communicate import content_words
from rollout.user.telling.errands import asked_for
from skillweave.dataset import Dataset
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Parameter, Tool, ToolKind
from skillweave.schema.fused import FusedBlueprint, FusedTool
from skillweave.schema.record import Json
from skillweave.schema.task import Fact, FactToTell, GoldenCall, Kind, Task
from skillweave.world.replay import source_of
from skillweave.world.tools import TRANSFER_TOOL
from skillweave.world.undisturbed import undisturbed

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
    plain: str = ""
    """The tool's own name, without a namespace."""
    company: str = ""
    """Whose tool it is, in a world of several companies."""
    demanded_by: str | None = None
    """The bridge rule for whose sake alone it is made ..."""
    needed_for: int | None = None
    """... and the position of the call that the rule holds up."""
    is_demanded: bool = False
    """Whether a bridge rule is broken without it, be it asked for or not."""

    @property
    def from_user(self) -> list[str]:
        """Arguments that the user has to say."""
        return [name for name, source in self.grounding.items() if source == "user" and name in self.parameters]

    @property
    def takes_from(self) -> frozenset[int]:
        """Positions of the calls from whose results it takes arguments."""
        return frozenset(source.call for source in map(source_of, self.grounding.values()) if source is not None)


@dataclass(frozen=True)
class Wish:
    """One request of the goal."""

    text: str
    words: frozenset[str]
    """Stems that tell it from the wishes before it."""
    asks: bool
    """Whether it wants to know something, not to have it done."""


@dataclass(frozen=True)
class Need:
    """What the user has left out, and what needs it."""

    tool: str
    facts: tuple[Fact, ...]
    """Of which one is enough."""


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
    needs: tuple[Need, ...] = ()
    """What has to be asked for."""
    asked: PlannedCall | None = None
    """The call that the request comes to, where it must not be made."""

    def unruled(self) -> "Script":
        """The request of a task that a rule forbids, carried out like any other."""
        calls = (*self.calls, self.asked) if self.asked is not None else self.calls
        return replace(self, kind="do", calls=calls, banned=())

    def need_at(self, position: int) -> Need | None:
        """What has to be asked for before that call: the first of its tool."""
        tool = self.calls[position].tool
        if any(call.tool == tool for call in self.calls[:position]):
            return None
        return next((need for need in self.needs if need.tool == tool), None)

    def undemanded(self) -> "Script":
        """Without the calls that bridge rules demand, and without the reads whose results only those use.

        What a call took from a result that is left out it has as it was in the golden trajectory.
        """
        left = {at for at, call in enumerate(self.calls) if call.is_demanded}
        for at in range(len(self.calls) - 1, -1, -1):
            users = {user for user, call in enumerate(self.calls) if at in call.takes_from}
            if self.calls[at].kind == "read" and users and users <= left:
                left.add(at)
        kept = [at for at in range(len(self.calls)) if at not in left]
        return replace(self, calls=tuple(_renumbered(self.calls[at], kept) for at in kept))


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
    """The script of one task. Of planted faults it knows nothing."""
    task = undisturbed(task)
    tools = [_tool(blueprint, call.tool) for call in task.golden]
    demanded = _demanded(task)
    members = blueprint.members if isinstance(blueprint, FusedBlueprint) else []
    titles = {member.server: member.title for member in members}
    planned = [
        replace(_planned(call, tool, task, titles), is_demanded=call.demanded_by is not None or at in demanded)
        for at, (call, tool) in enumerate(zip(task.golden, tools, strict=True))
    ]
    asked = task.criteria.asked
    known = {fact.id: fact for fact in task.scenario.facts}
    return Script(
        task=task.id,
        kind=task.kind,
        calls=tuple(replace(call, needed_for=_needed_for(at, call, tools)) for at, call in enumerate(planned)),
        wishes=tuple(_wishes(task)),
        facts=tuple(task.criteria.communicate),
        banned=tuple(dict.fromkeys(ban.rule for ban in task.criteria.must_not)),
        tools=tuple(tool for tool in blueprint.tools if tool.name not in task.tools_hidden),
        needs=tuple(
            Need(need.tool, tuple(known[id] for id in need.facts if id in known)) for need in task.criteria.must_ask
        ),
        asked=_planned(asked, _tool(blueprint, asked.tool), task, titles) if asked is not None else None,
    )


def _tool(blueprint: Blueprint, name: str) -> Tool:
    return TRANSFER_TOOL if name == TRANSFER_TOOL.name else blueprint.tool(name)


def _planned(call: GoldenCall, tool: Tool, task: Task, titles: Mapping[str, str]) -> PlannedCall:
    """`titles`: names of the companies by server, in a world of several."""
    wordings = {
        name: (fact.text.partition(":")[2] or fact.text).strip(" .")
        for name in call.arguments
        for fact in task.scenario.facts
        if fact.id.rpartition(".")[2] == name and fact.value == call.arguments[name]
    }
    return PlannedCall(
        tool=call.tool,
        kind=tool.kind,
        confirm=tool.confirm,
        arguments=dict(call.arguments),
        grounding=dict(call.grounding),
        parameters={parameter.name: parameter for parameter in tool.parameters},
        wordings=wordings,
        plain=tool.origin if isinstance(tool, FusedTool) else tool.name,
        company=titles[tool.server] if isinstance(tool, FusedTool) else "",
        demanded_by=call.demanded_by,
    )


def _demanded(task: Task) -> set[Json]:
    """Positions of the golden calls of which the interlock gate has shown that a bridge rule is broken without them."""
    by_rule = task.gates.interlock.get("demanded")
    calls = by_rule.values() if isinstance(by_rule, dict) else []
    return {place for places in calls if isinstance(places, list) for place in places if isinstance(place, int)}


def _needed_for(position: int, call: PlannedCall, tools: Sequence[Tool]) -> int | None:
    """The first later call whose tool is under the rule that demands this one."""
    later = range(position + 1, len(tools))
    return next((at for at in later if call.demanded_by in {guard.rule for guard in tools[at].guards}), None)


def _renumbered(call: PlannedCall, kept: Sequence[int]) -> PlannedCall:
    """The call among those that are kept: its sources by their new positions."""
    grounding = {}
    for name, text in call.grounding.items():
        source = source_of(text)
        if source is None:
            grounding[name] = text
        elif source.call in kept:
            grounding[name] = text.replace(f"call {source.call} ", f"call {kept.index(source.call)} ", 1)
    return replace(call, grounding=grounding)


def _wishes(task: Task) -> list[Wish]:
    """The goal's sentences, without what the user only agrees to. Words of rows and values may be said later, so others
    mark a wish where there are any."""
    found: list[Wish] = []
    told = frozenset[str]().union(*(content_words(fact.text) for fact in task.scenario.facts))
    before: frozenset[str] = frozenset()
    for text in filter(None, _SENTENCE.split(asked_for(task.scenario.goal))):
        words = content_words(text) - _FRAME
        found.append(
            Wish(text, (words - before - told) or (words - before) or words, _TO_KNOW.search(text) is not None)
        )
        before |= words
    return found
