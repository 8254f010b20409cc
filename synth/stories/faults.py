"""What is wrong with an author's stories, in words for the author: tools, links and rows that are not there."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from skillweave.schema.blueprint import BridgeRule, FusedBlueprint
from skillweave.schema.contract import Tool
from skillweave.schema.fusion import StoryCall, Storyline
from synth.contracts.visibility import column_origins
from synth.fusion.bridge_rules import bridge_faults
from synth.fusion.links import link_source


def story_faults(stories: Sequence[Storyline], fused: FusedBlueprint) -> list[str]:
    """Complaints, each with its story's name; empty where all stories can be tried."""
    return list(dict.fromkeys(chain.from_iterable(faults_by_story(stories, fused))))


def faults_by_story(stories: Sequence[Storyline], fused: FusedBlueprint) -> list[list[str]]:
    """Complaints about each story, those about its bridge rules among them."""
    rules = _rule_faults(list(chain.from_iterable(story.bridges for story in stories)), fused)
    names: set[str] = set()
    found = []
    for story in stories:
        faults = [f"story {story.name!r} comes twice"] if story.name in names else []
        faults += [f"story {story.name!r}: {fault}" for fault in _faults(story, fused)]
        found.append([*faults, *chain.from_iterable(rules.get(rule.rule, []) for rule in story.bridges)])
        names.add(story.name)
    return found


def _rule_faults(rules: Sequence[BridgeRule], fused: FusedBlueprint) -> dict[str, list[str]]:
    """Name of a bridge rule -> what is wrong with it; stories may share rules."""
    known: dict[str, BridgeRule] = {}
    found: dict[str, list[str]] = {}
    for rule in rules:
        if known.setdefault(rule.rule, rule) != rule:
            found[rule.rule] = [f"bridge rule {rule.rule!r} is given in two ways; give it in one, or two names"]
    for name, faults in bridge_faults(list(known.values()), fused).items():
        found.setdefault(name, []).extend(f"bridge rule {name!r}: {fault}" for fault in faults)
    return found


def _faults(story: Storyline, fused: FusedBlueprint) -> Iterator[str]:
    servers = [member.server for member in fused.members]
    unknown = sorted({call.server for call in story.calls} - {*servers})
    if unknown:
        yield f"there is no company {unknown[0]!r}; there are {', '.join(servers)}"
        return
    tools = [_tool(call, fused) for call in story.calls]
    for call, tool in zip(story.calls, tools, strict=True):
        if tool is None:
            yield f"{call.server} has no tool {call.tool!r}; it has {', '.join(fused.member(call.server).tools)}"
    left_out = sorted({*servers} - {call.server for call in story.calls} - _named(story))
    if left_out:
        yield f"{', '.join(left_out)} has no part in it; every story needs all companies"
    rules = {rule.rule for rule in story.bridges}
    for place, (call, tool) in enumerate(zip(story.calls, tools, strict=True), start=1):
        if tool is not None:
            yield from (f"call {place}: {fault}" for fault in _call_faults(place, call, tool, story, fused))
            yield from (f"call {place}: {fault}" for fault in _unnamed_faults(place, call, story, fused))
        if call.demanded_by is not None and call.demanded_by not in rules:
            yield f"call {place} is demanded by {call.demanded_by!r}, which is none of its bridge rules"
    for told in story.tell:
        shown = tools[told.call - 1] if told.call <= len(tools) else None
        if shown is None or told.column not in column_origins(shown):
            yield f"tell names {told.column!r}, which call {told.call} does not return"


def _named(story: Storyline) -> set[str]:
    """Companies whose rows a call is given: they have a part by their reads."""
    return {reference.partition(".")[0] for call in story.calls for reference in call.names.values()}


def _tool(call: StoryCall, fused: FusedBlueprint) -> Tool | None:
    name = fused.member(call.server).tools.get(call.tool)
    return fused.tool(name) if name else None


def _call_faults(place: int, call: StoryCall, tool: Tool, story: Storyline, fused: FusedBlueprint) -> Iterator[str]:
    taken = {parameter.name for parameter in tool.parameters}
    for name in sorted({*call.same, *call.names, *call.given} - taken):
        yield f"{call.tool} takes no {name!r}; it takes {', '.join(sorted(taken)) or 'nothing'}"
    for phrase in call.ask:
        strange = sorted({*re.findall(r"\{[^{}]*\}|[{}]", phrase)} - {f"{{{name}}}" for name in taken})
        if strange:
            yield f"the phrase {phrase!r} holds {strange[0]!r}; in braces stand parameters: {', '.join(sorted(taken))}"
    sources = Counter(chain(call.same, call.names, call.given))
    for name in sorted(name for name, times in sources.items() if times > 1):
        yield f"{name!r} is given in two ways; give it in one of same, names and given"
    every = [*fused.entities, *fused.relationships]
    entities = {f"{entity.server}.{entity.origin}" for entity in every if entity.server is not None}
    for name, reference in call.names.items():
        if reference not in entities:
            yield f"{name!r} names a row of {reference!r}; it must be one of {', '.join(sorted(entities))}"
        elif reference.startswith(f"{call.server}."):
            yield f"{name!r} names a row of its own company"
    for name in call.rows:
        yield from _row_faults(name, call, tool, fused)
    for name, link in call.same.items():
        yield from _link_faults(place, name, link, story, fused)


def _row_faults(name: str, call: StoryCall, tool: Tool, fused: FusedBlueprint) -> Iterator[str]:
    """What is wrong with the columns that the row which an argument names must have."""
    server, _, origin = call.names.get(name, "").partition(".")
    referred = next((one.refers_to or "" for one in tool.parameters if one.name == name), "").partition(".")[0]
    entities = [*fused.entities, *fused.relationships]
    entity = next((e for e in entities if e.name == referred or (e.server, e.origin) == (server, origin)), None)
    if entity is None or name in {*call.same, *call.given}:
        yield f"{name!r} names no row that is free to be chosen by its columns"
        return
    columns = {attribute.name for attribute in entity.attributes}
    for column in sorted(call.rows[name].keys() - columns):
        yield f"the row of {name!r} has no {column!r}; it has {', '.join(sorted(columns))}"


def _link_faults(place: int, name: str, link: str, story: Storyline, fused: FusedBlueprint) -> Iterator[str]:
    found = link_source(link)
    if found is None:
        yield f"{name!r}: {link!r} is not of the form '<call>.<column>', '<call>.<parameter>.<column>' or 'date(...)'"
        return
    latest = place if found.row is not None else place - 1
    if not 1 <= found.call <= latest:
        yield f"{name!r}: {link!r} names call {found.call}; it must be one of 1 to {latest}"
        return
    source = story.calls[found.call - 1]
    tool = _tool(source, fused)
    if tool is None:
        return
    taken = {parameter.name for parameter in tool.parameters}
    if found.row is not None and found.row not in taken:
        yield f"{name!r}: {source.tool} takes no {found.row!r}"
    elif found.row is None and found.column not in {*column_origins(tool), *taken}:
        yield f"{name!r}: {source.tool} returns {', '.join(column_origins(tool))}"


def _unnamed_faults(place: int, call: StoryCall, story: Storyline, fused: FusedBlueprint) -> Iterator[str]:
    """Rows that what the user asks for is taken from, and that only calls which rules demand have named.

    The words for such a row stand for the argument that is taken from it, so the phrases have to have a place for them.
    """
    if call.demanded_by is not None or not call.ask:
        return
    asked = [number for number in range(1, place) if story.calls[number - 1].demanded_by is None]
    said = {_row(story, number, name) for number in asked for name in _parameters(story.calls[number - 1], fused)}
    taken: dict[tuple[int, str], list[str]] = {}
    for name, link in call.same.items():
        found = link_source(link)
        if found is not None and found.row is not None and 1 <= found.call < place:
            taken.setdefault(_row(story, found.call, found.row), []).append(name)
    for (number, parameter), names in taken.items():
        if (number, parameter) in said:
            continue
        key = _key_of(story.calls[number - 1], parameter, fused)
        words = next((name for name in names if _column(call.same[name]) == key), names[0])
        if lacking := [phrase for phrase in call.ask if f"{{{words}}}" not in phrase]:
            yield (
                f"{words!r} is taken from a row that nothing asked for has named; "
                f"the phrase {lacking[0]!r} needs {{{words}}} for that row in words"
            )


def _parameters(call: StoryCall, fused: FusedBlueprint) -> list[str]:
    tool = _tool(call, fused)
    return [parameter.name for parameter in tool.parameters] if tool else []


def _row(story: Storyline, number: int, parameter: str) -> tuple[int, str]:
    """The call and the parameter that are the first to name a row."""
    found = link_source(story.calls[number - 1].same.get(parameter, ""))
    if found is None or not 1 <= found.call < number:
        return number, parameter
    return _row(story, found.call, found.row or found.column)


def _key_of(call: StoryCall, parameter: str, fused: FusedBlueprint) -> str:
    tool, named = _tool(call, fused), call.names.get(parameter, "")
    if named:
        every = [*fused.entities, *fused.relationships]
        return next((entity.key for entity in every if f"{entity.server}.{entity.origin}" == named), "")
    references = [one.refers_to or "" for one in (tool.parameters if tool else []) if one.name == parameter]
    return references[0].partition(".")[2] if references else ""


def _column(link: str) -> str:
    found = link_source(link)
    return found.column if found else ""
