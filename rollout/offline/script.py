"""What a scripted agent works from: its script (planned calls and facts to tell), and the conversation so far."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import NamedTuple

from rollout.offline.phrases import deed, label
from skillweave.llm.backends.backend import Request
from skillweave.schema.blueprint import Blueprint, FusedBlueprint, FusedTool
from skillweave.schema.call import DECLINE, SESSION_TOOLS, TRANSFER
from skillweave.schema.contract import Parameter, Tool, ToolKind
from skillweave.schema.record import Json
from skillweave.schema.task import Fact, FactToTell, GoldenCall, Kind, Task
from skillweave.world.dataset import Dataset
from skillweave.world.noise import ERRORS
from skillweave.world.replay import result_reference, value_at, without_noise
from skillweave.world.tools import tool_of

_FOR_NOW = frozenset(error.code for error in ERRORS.values())


class PastCall(NamedTuple):
    """A call of the past and what it came to."""

    tool: str
    value: Json
    """The result; None where it failed."""
    error: Mapping[str, Json] | None
    """`code`, `message`, `rule`."""

    @property
    def is_to_be_repeated(self) -> bool:
        """Whether the tool says that the call may be made again: it was not carried out, or its rows are not all."""
        is_part = isinstance(self.value, dict) and "rows" in self.value and self.value.get("partial") is True
        return is_part or (self.error is not None and self.error.get("code") in _FOR_NOW)


class Heard(NamedTuple):
    """What the user said."""

    text: str


class Reacted(NamedTuple):
    """A reply of the agent."""

    calls: tuple[PastCall, ...]


class Transcript(NamedTuple):
    system: str
    events: tuple[Heard | Reacted, ...]

    @property
    def heard(self) -> list[str]:
        """All that the user said."""
        return [event.text for event in self.events if isinstance(event, Heard)]

    @property
    def made(self) -> list[PastCall]:
        """All calls."""
        return [made for event in self.events if isinstance(event, Reacted) for made in event.calls]

    @property
    def turn(self) -> int:
        """Replies of the agent so far."""
        return sum(isinstance(event, Reacted) for event in self.events)


def transcript_of(request: Request) -> Transcript:
    """The conversation in a request."""
    results = {message.tool_call_id: message.content or "" for message in request.messages if message.role == "tool"}
    events: list[Heard | Reacted] = []
    for message in request.messages:
        if message.role == "user":
            events.append(Heard(message.content or ""))
        elif message.role == "assistant":
            calls = message.tool_calls or []
            events.append(Reacted(tuple(_made(call.function.name, results.get(call.id, "")) for call in calls)))
    return Transcript("\n".join(m.content or "" for m in request.messages if m.role == "system"), tuple(events))


def _made(tool: str, result: str) -> PastCall:
    try:
        value: Json = json.loads(result)
    except ValueError:
        value = result
    error = value.get("error") if isinstance(value, dict) and len(value) == 1 else None
    return PastCall(tool, None, error) if isinstance(error, dict) else PastCall(tool, value, None)


KEPT = 2_048
"""Scripts that are remembered."""
_NUMBER = re.compile(r"_\d+$")
"""What tells a fact's id from another of the same name: `method_2`."""


@dataclass(frozen=True)
class PlannedCall:
    tool: str
    plain: str
    """The tool's own name, without a namespace."""
    kind: ToolKind
    confirm: bool
    arguments: Mapping[str, Json]
    grounding: Mapping[str, str]
    parameters: Mapping[str, Parameter]
    company: str = ""
    """Whose tool it is, in a world of several companies."""
    demanded_by: str | None = None
    """The bridge rule for whose sake alone it is made ..."""
    goal: str = ""
    """... and what the rule holds up, in words."""
    is_demanded: bool = False
    """Whether a bridge rule is broken without it, be it asked for or not."""

    @property
    def deed(self) -> str:
        """What it does, in words."""
        return deed(self.plain)

    @property
    def is_read(self) -> bool:
        """Whether it only looks something up in the world."""
        return self.kind == "read" and self.tool not in SESSION_TOOLS

    @property
    def takes_from(self) -> frozenset[int]:
        """Positions of the calls from whose results it takes arguments."""
        return frozenset(source.call for source in map(result_reference, self.grounding.values()) if source is not None)

    def bound(self, results: Mapping[int, Json]) -> dict[str, Json]:
        """The arguments, those from results bound again. LookupError where one is not there."""
        arguments = dict(self.arguments)
        for name, text in self.grounding.items():
            source = result_reference(text)
            if source is not None and name in arguments:
                value = value_at(results[source.call], source.path)
                arguments[name] = str(value)[: len("2025-01-24")] if source.as_date else value
        return arguments


@dataclass(frozen=True)
class Script:
    kind: Kind
    opening: str
    """The user's request, as the task has it."""
    now: str
    calls: tuple[PlannedCall, ...]
    known: tuple[Fact, ...]
    """What the user knows."""
    told: tuple[FactToTell, ...]
    """What the user has to hear."""
    accepted: frozenset[str]
    """Rules by which the request may be declined."""
    left_out: Mapping[str, frozenset[str]]
    """Tool -> ids of the facts that have to be asked for before it is called."""
    rules: Mapping[str, str]
    """Rule -> its sentence, of all rules of the world."""
    tools: tuple[Tool, ...]
    """The tools that are offered."""
    asked: PlannedCall | None = None
    """The call that the request comes to, where it must not be made."""

    @property
    def declines(self) -> bool:
        """Whether the request is to be declined."""
        return any(call.tool == DECLINE for call in self.calls)

    @property
    def asks_before_acting(self) -> bool:
        """Whether details matter: a request that is handed over is not asked about."""
        return all(call.tool != TRANSFER for call in self.calls)

    def sign_in_facts(self) -> list[Fact]:
        """What the user has to say to be identified."""
        given = [value for call in self.calls if call.kind == "auth" for value in call.arguments.values()]
        return [fact for fact in self.known if fact.tell == "asked" and fact.value in given]

    def other_facts(self) -> list[Fact]:
        """What else the user says when it is asked."""
        sign_in = self.sign_in_facts()
        return [fact for fact in self.known if fact.tell == "asked" and fact.value is not None and fact not in sign_in]

    def pairs(self, call: PlannedCall, results: Mapping[int, Json]) -> dict[str, Fact]:
        """The user's facts that a call is about: those of its arguments, and of the rows that these name."""
        rows = [_row(source, results) for source in call.grounding.values()]
        others = {name for other in self.calls for name in (other.tool, other.plain)} - {call.tool, call.plain}
        about: dict[str, Fact] = {}
        for fact in self.known:
            thing, _, name = fact.id.rpartition(".")
            column = _NUMBER.sub("", name)
            is_argument = call.grounding.get(column) == "user" and call.arguments.get(column) == fact.value
            is_of_row = any(row.get(column) == fact.value for row in rows)
            is_known = fact.tell != "never" and fact.value is not None
            if is_known and thing not in others and (is_argument or is_of_row):
                about[label(fact.id)] = fact
        return about

    def without_policy(self) -> "Script":
        """The request of a task that a rule forbids, carried out like any other."""
        calls = tuple(call for call in self.calls if call.tool != DECLINE)
        return replace(self, calls=(*calls, *([self.asked] if self.asked else [])))

    def undemanded(self) -> "Script":
        """Without the calls that bridge rules demand, and without the reads whose results only those use.

        What a call took from a result that is left out it has as it was in the golden trajectory.
        """
        left = {at for at, call in enumerate(self.calls) if call.is_demanded}
        for at in range(len(self.calls) - 1, -1, -1):
            users = {user for user, call in enumerate(self.calls) if at in call.takes_from}
            if self.calls[at].is_read and users and users <= left:
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
    task = without_noise(task)
    members = blueprint.members if isinstance(blueprint, FusedBlueprint) else []
    titles = {member.server: member.title for member in members}
    demanded, criteria = _demanded(task), task.criteria
    tools = [tool_of(blueprint, call.tool) for call in task.golden]
    planned = [_planned(call, tool, titles) for call, tool in zip(task.golden, tools, strict=True)]
    calls = [
        replace(
            call,
            is_demanded=call.demanded_by is not None or at in demanded,
            goal=next((deed(_plain(tool)) for tool in tools[at + 1 :] if _is_under(tool, call.demanded_by)), ""),
        )
        for at, call in enumerate(planned)
    ]
    asked = criteria.asked
    return Script(
        kind=task.kind,
        opening=task.messages[0].content or "" if task.messages else "",
        now=task.now,
        calls=tuple(calls),
        known=tuple(task.scenario.facts),
        told=tuple(criteria.communicate),
        accepted=criteria.declined.accepted if criteria.declined else frozenset(),
        left_out={need.tool: frozenset(need.facts) for need in criteria.must_ask},
        rules={guard.rule: guard.says for tool in blueprint.tools for guard in tool.guards},
        tools=tuple(tool for tool in blueprint.tools if tool.name not in task.tools_hidden),
        asked=_planned(asked, tool_of(blueprint, asked.tool), titles) if asked is not None else None,
    )


def _planned(call: GoldenCall, tool: Tool, titles: Mapping[str, str]) -> PlannedCall:
    """`titles`: names of the companies by server, in a world of several."""
    return PlannedCall(
        tool=call.tool,
        plain=_plain(tool),
        kind=tool.kind,
        confirm=tool.confirm,
        arguments=dict(call.arguments),
        grounding=dict(call.grounding),
        parameters={parameter.name: parameter for parameter in tool.parameters},
        company=titles[tool.server] if isinstance(tool, FusedTool) else "",
        demanded_by=call.demanded_by,
    )


def _plain(tool: Tool) -> str:
    """The tool's own name, without a namespace."""
    return tool.origin if isinstance(tool, FusedTool) else tool.name


def _is_under(tool: Tool, rule: str | None) -> bool:
    return rule in {guard.rule for guard in tool.guards}


def _demanded(task: Task) -> set[Json]:
    """Positions of the golden calls of which the interlock gate has shown that a bridge rule is broken without them."""
    by_rule = task.gates.interlock.get("demanded")
    calls = by_rule.values() if isinstance(by_rule, dict) else []
    return {place for places in calls if isinstance(places, list) for place in places if isinstance(place, int)}


def _row(grounding: str, results: Mapping[int, Json]) -> Mapping[str, Json]:
    """The row of a result from which an argument comes; empty where it comes from none."""
    source = result_reference(grounding)
    if source is None or source.call not in results:
        return {}
    above = source.path.rpartition(".")[0]
    try:
        row = value_at(results[source.call], above) if above else results[source.call]
    except LookupError:
        return {}
    return row if isinstance(row, dict) else {}


def _renumbered(call: PlannedCall, kept: list[int]) -> PlannedCall:
    """The call among those that are kept: its sources by their new positions."""
    grounding = {}
    for name, text in call.grounding.items():
        source = result_reference(text)
        if source is None:
            grounding[name] = text
        elif source.call in kept:
            grounding[name] = text.replace(f"call {source.call} ", f"call {kept.index(source.call)} ", 1)
    return replace(call, grounding=grounding)
