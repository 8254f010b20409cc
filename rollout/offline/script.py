"""The input of a scripted agent: its script (planned calls and facts to tell), and the conversation so far."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import NamedTuple

from rollout.offline.user import deed, label
from skillweave.llm.backends.backend import Request
from skillweave.schema.blueprint import Blueprint, FusedBlueprint, FusedTool
from skillweave.schema.contract import DECLINE, SESSION_TOOLS, TRANSFER, Parameter, Tool, ToolKind
from skillweave.schema.criteria import FactToTell, GoldenCall
from skillweave.schema.record import Json
from skillweave.schema.task import Fact, Kind, LaterWish, Task
from skillweave.world.dataset import Dataset
from skillweave.world.noise import ERRORS
from skillweave.world.replay import result_reference, value_at, without_noise
from skillweave.world.tools import tool_of

_FOR_NOW = frozenset(error.code for error in ERRORS.values())


class PastCall(NamedTuple):
    """An earlier call and its result."""

    tool: str
    value: Json
    """The result; None if the call failed."""
    error: Mapping[str, Json] | None
    """`code`, `message` and `rule` of the error; None if the call succeeded."""

    @property
    def is_to_be_repeated(self) -> bool:
        """Whether the call should be made again: a passing error stopped it, or it returned only part of the rows."""
        is_part = isinstance(self.value, dict) and "rows" in self.value and self.value.get("partial") is True
        return is_part or (self.error is not None and self.error.get("code") in _FOR_NOW)


class Heard(NamedTuple):
    """A message of the user."""

    text: str


class Reacted(NamedTuple):
    """A reply of the agent."""

    calls: tuple[PastCall, ...]


class Transcript(NamedTuple):
    """A conversation as a scripted agent reads it."""

    system: str
    """The system prompts."""
    events: tuple[Heard | Reacted, ...]

    @property
    def heard(self) -> list[str]:
        """The texts of all messages of the user."""
        return [event.text for event in self.events if isinstance(event, Heard)]

    @property
    def made(self) -> list[PastCall]:
        """All calls, in order."""
        return [call for event in self.events if isinstance(event, Reacted) for call in event.calls]

    @property
    def turn(self) -> int:
        """Number of the agent's replies so far."""
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
            events.append(Reacted(tuple(_past_call(call.function.name, results.get(call.id, "")) for call in calls)))
    return Transcript("\n".join(m.content or "" for m in request.messages if m.role == "system"), tuple(events))


def _past_call(tool: str, result: str) -> PastCall:
    try:
        value: Json = json.loads(result)
    except ValueError:
        value = result
    error = value.get("error") if isinstance(value, dict) and len(value) == 1 else None
    return PastCall(tool, None, error) if isinstance(error, dict) else PastCall(tool, value, None)


KEPT = 2_048
"""Scripts that are kept in memory."""
_NUMBER = re.compile(r"_\d+$")
"""The suffix that makes a fact's id unique: `method_2`."""


@dataclass(frozen=True)
class PlannedCall:
    """A golden call, as a scripted agent makes it."""

    tool: str
    plain: str
    """The tool's own name, without a namespace."""
    kind: ToolKind
    confirm: bool
    is_for_later: bool
    """Whether the user asks for it with what they come out with later, or only such calls need it."""
    arguments: Mapping[str, Json]
    grounding: Mapping[str, str]
    parameters: Mapping[str, Parameter]
    company: str = ""
    """The company that owns the tool, in a world of several companies."""
    demanded_by: str | None = None
    """The bridge rule that alone demands the call; None if the user asked for it."""
    goal: str = ""
    """The later call that this rule blocks, in words; empty if there is none."""
    is_demanded: bool = False
    """Whether a bridge rule is broken without this call, even if the user asked for it."""

    @property
    def deed(self) -> str:
        """What the call does, in words."""
        return deed(self.plain)

    @property
    def is_read(self) -> bool:
        """Whether the call only reads from the world."""
        return self.kind == "read" and self.tool not in SESSION_TOOLS

    @property
    def takes_from(self) -> frozenset[int]:
        """Positions of the calls whose results give it arguments."""
        return frozenset(source.call for source in map(result_reference, self.grounding.values()) if source is not None)

    def bound(self, results: Mapping[int, Json]) -> dict[str, Json]:
        """The arguments, with those from results taken from the actual results.

        Args:
            results: Results of the session's calls, by position in the script.

        Raises:
            LookupError: A result or a value in it is missing.
        """
        arguments = dict(self.arguments)
        for name, text in self.grounding.items():
            source = result_reference(text)
            if source is not None and name in arguments:
                value = value_at(results[source.call], source.path)
                arguments[name] = str(value)[: len("2025-01-24")] if source.as_date else value
        return arguments


@dataclass(frozen=True)
class Script:
    """A task as a scripted agent follows it."""

    kind: Kind
    opening: str
    """The user's request, as the task has it."""
    now: str
    """The session's clock."""
    calls: tuple[PlannedCall, ...]
    known: tuple[Fact, ...]
    """The facts that the user knows."""
    told: tuple[FactToTell, ...]
    """The facts that the user has to be told."""
    accepted: frozenset[str]
    """The rules that may be recorded for declining the request."""
    left_out: Mapping[str, frozenset[str]]
    """Tool -> ids of the facts that the agent must ask for before it calls the tool."""
    rules: Mapping[str, str]
    """Rule -> its sentence, for all rules of the world."""
    tools: tuple[Tool, ...]
    """The tools that the session offers."""
    asked: PlannedCall | None = None
    """The call that the user requests, if it must not be made."""
    later: LaterWish | None = None
    """What the user comes out with later."""
    insists: tuple[str, ...] = ()
    """What the user says against a refusal."""

    @property
    def declines(self) -> bool:
        """Whether the request must be declined."""
        return any(call.tool == DECLINE for call in self.calls)

    @property
    def asks_before_acting(self) -> bool:
        """Whether the agent asks for details; it does not if it transfers the request."""
        return all(call.tool != TRANSFER for call in self.calls)

    def sign_in_facts(self) -> list[Fact]:
        """The facts that identify the user."""
        credentials = [value for call in self.calls if call.kind == "auth" for value in call.arguments.values()]
        return [fact for fact in self.known if fact.tell == "asked" and fact.value in credentials]

    def other_facts(self) -> list[Fact]:
        """The other facts that the user tells when asked."""
        sign_in = self.sign_in_facts()
        return [fact for fact in self.known if fact.tell == "asked" and fact.value is not None and fact not in sign_in]

    def pairs(self, call: PlannedCall, results: Mapping[int, Json]) -> dict[str, Fact]:
        """Label -> fact, for the user's facts about a call's arguments and about the rows that these identify."""
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
        """The script for an agent that carries out a forbidden request like any other."""
        calls = tuple(call for call in self.calls if call.tool != DECLINE)
        return replace(self, calls=(*calls, *([self.asked] if self.asked else [])))

    def undemanded(self) -> "Script":
        """The script without the calls that bridge rules demand, and without the reads that only those calls use.

        An argument from a result that is left out keeps its value of the golden trajectory.
        """
        left_out = _with_their_reads(self.calls, {at for at, call in enumerate(self.calls) if call.is_demanded})
        kept = [at for at in range(len(self.calls)) if at not in left_out]
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
    """The script of one task. It ignores the faults that are planted in the task."""
    task = without_noise(task)
    titles = {one.server: one.title for one in blueprint.members} if isinstance(blueprint, FusedBlueprint) else {}
    demanded, criteria = _demanded(task), task.criteria
    tools = [tool_of(blueprint, call.tool) for call in task.golden]
    planned = [_planned(call, tool, titles) for call, tool in zip(task.golden, tools, strict=True)]
    held = [(tool, {guard.rule for guard in tool.guards}) for tool in tools]
    later = [call.is_for_later or (call.tool == DECLINE and criteria.is_declined_later) for call in planned]
    for_later = _with_their_reads(planned, {at for at, is_later in enumerate(later) if is_later})
    calls = [
        replace(
            call,
            is_demanded=call.demanded_by is not None or at in demanded,
            is_for_later=at in for_later,
            goal=next((deed(_plain(tool)) for tool, rules in held[at + 1 :] if call.demanded_by in rules), ""),
        )
        for at, call in enumerate(planned)
    ]
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
        asked=_planned(asked, tool_of(blueprint, asked.tool), titles) if (asked := criteria.asked) else None,
        later=task.scenario.later,
        insists=tuple(task.scenario.insists),
    )


def _with_their_reads(calls: Sequence[PlannedCall], chosen: set[int]) -> set[int]:
    """Positions of some calls, and of the reads that only these need."""
    for at in reversed(range(len(calls))):
        users = {user for user, call in enumerate(calls) if at in call.takes_from}
        if calls[at].is_read and users and users <= chosen:
            chosen = chosen | {at}
    return chosen


def _planned(call: GoldenCall, tool: Tool, titles: Mapping[str, str]) -> PlannedCall:
    """The planned call of a golden call; `titles` are the companies' names by server."""
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
        is_for_later=call.asked_later,
    )


def _plain(tool: Tool) -> str:
    """The tool's own name, without a namespace."""
    return tool.origin if isinstance(tool, FusedTool) else tool.name


def _demanded(task: Task) -> set[Json]:
    """Positions of the golden calls that a bridge rule demands, as the interlock gate has proved."""
    by_rule = task.gates.interlock.get("demanded")
    calls = by_rule.values() if isinstance(by_rule, dict) else ()
    return {place for places in calls if isinstance(places, list) for place in places if isinstance(place, int)}


def _row(grounding: str, results: Mapping[int, Json]) -> Mapping[str, Json]:
    """The row of a result that an argument comes from; empty if it comes from no result."""
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
    """The call with its sources renumbered to their positions among the kept calls."""
    grounding = {}
    for name, text in call.grounding.items():
        source = result_reference(text)
        if source is None:
            grounding[name] = text
        elif source.call in kept:
            grounding[name] = text.replace(f"call {source.call} ", f"call {kept.index(source.call)} ", 1)
    return replace(call, grounding=grounding)
