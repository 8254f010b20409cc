"""The check of an author's stories on the contracts alone: their tools, links, rows and bridge rules."""

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
    """What is wrong with the stories, each fault with its story's name. Empty if all stories can be tried."""
    return list(dict.fromkeys(chain.from_iterable(faults_by_story(stories, fused))))


def faults_by_story(stories: Sequence[Storyline], fused: FusedBlueprint) -> list[list[str]]:
    """What is wrong with each story and with its bridge rules.

    Returns:
        One list of faults for each story, in their order.
    """
    rules = _rule_faults(list(chain.from_iterable(story.bridges for story in stories)), fused)
    names: set[str] = set()
    by_story = []
    for story in stories:
        faults = [f"story {story.name!r} comes twice"] if story.name in names else []
        faults += [f"story {story.name!r}: {fault}" for fault in _story_faults(story, fused)]
        by_story.append([*faults, *chain.from_iterable(rules.get(rule.rule, []) for rule in story.bridges)])
        names.add(story.name)
    return by_story


def _rule_faults(rules: Sequence[BridgeRule], fused: FusedBlueprint) -> dict[str, list[str]]:
    """Bridge rule -> what is wrong with it. Stories may share rules."""
    known: dict[str, BridgeRule] = {}
    faults_by_rule: dict[str, list[str]] = {}
    for rule in rules:
        if known.setdefault(rule.rule, rule) != rule:
            faults_by_rule[rule.rule] = [
                f"bridge rule {rule.rule!r} is given in two ways; give it in one, or two names"
            ]
    for name, faults in bridge_faults(list(known.values()), fused).items():
        faults_by_rule.setdefault(name, []).extend(f"bridge rule {name!r}: {fault}" for fault in faults)
    return faults_by_rule


def _story_faults(story: Storyline, fused: FusedBlueprint) -> Iterator[str]:
    servers = [member.server for member in fused.members]
    unknown = sorted({call.server for call in story.calls} - {*servers})
    if unknown:
        yield f"there is no company {unknown[0]!r}; there are {', '.join(servers)}"
        return
    tools = [_tool(call, fused) for call in story.calls]
    for call, tool in zip(story.calls, tools, strict=True):
        if tool is None:
            yield f"{call.server} has no tool {call.tool!r}; it has {', '.join(fused.member(call.server).tools)}"
    left_out = sorted({*servers} - {call.server for call in story.calls} - _companies_named(story))
    if left_out:
        yield f"{', '.join(left_out)} has no part in it; every story needs all companies"
    rules = {rule.rule for rule in story.bridges}
    for number, (call, tool) in enumerate(zip(story.calls, tools, strict=True), start=1):
        if tool is not None:
            yield from (f"call {number}: {fault}" for fault in _call_faults(number, call, tool, story, fused))
            yield from (f"call {number}: {fault}" for fault in _unnamed_row_faults(number, call, story, fused))
        if call.demanded_by is not None and call.demanded_by not in rules:
            yield f"call {number} is demanded by {call.demanded_by!r}, which is none of its bridge rules"
    for fact in story.tell:
        tool_told = tools[fact.call - 1] if fact.call <= len(tools) else None
        if tool_told is None or fact.column not in column_origins(tool_told):
            yield f"tell names {fact.column!r}, which call {fact.call} does not return"


def _companies_named(story: Storyline) -> set[str]:
    """Companies whose rows some call is given; they take part by their reads."""
    return {reference.partition(".")[0] for call in story.calls for reference in call.names.values()}


def _tool(call: StoryCall, fused: FusedBlueprint) -> Tool | None:
    name = fused.member(call.server).tools.get(call.tool)
    return fused.tool(name) if name else None


def _call_faults(number: int, call: StoryCall, tool: Tool, story: Storyline, fused: FusedBlueprint) -> Iterator[str]:
    parameters = {parameter.name for parameter in tool.parameters}
    for name in sorted({*call.same, *call.names, *call.given} - parameters):
        yield f"{call.tool} takes no {name!r}; it takes {', '.join(sorted(parameters)) or 'nothing'}"
    for phrase in call.ask:
        unknown = sorted({*re.findall(r"\{[^{}]*\}|[{}]", phrase)} - {f"{{{name}}}" for name in parameters})
        if unknown:
            known = ", ".join(sorted(parameters))
            yield f"the phrase {phrase!r} holds {unknown[0]!r}; in braces stand parameters: {known}"
    sources = Counter(chain(call.same, call.names, call.given))
    for name in sorted(name for name, times in sources.items() if times > 1):
        yield f"{name!r} is given in two ways; give it in one of same, names and given"
    tables = [*fused.entities, *fused.relationships]
    entities = {f"{entity.server}.{entity.origin}" for entity in tables if entity.server is not None}
    for name, reference in call.names.items():
        if reference not in entities:
            yield f"{name!r} names a row of {reference!r}; it must be one of {', '.join(sorted(entities))}"
        elif reference.startswith(f"{call.server}."):
            yield f"{name!r} names a row of its own company"
    for name in call.rows:
        yield from _row_faults(name, call, tool, fused)
    for name, link in call.same.items():
        yield from _link_faults(number, name, link, story, fused)


def _row_faults(name: str, call: StoryCall, tool: Tool, fused: FusedBlueprint) -> Iterator[str]:
    """What is wrong with the columns by which the row of an argument is to be chosen."""
    server, _, origin = call.names.get(name, "").partition(".")
    referred = next(
        (parameter.refers_to or "" for parameter in tool.parameters if parameter.name == name), ""
    ).partition(".")[0]
    entities = [*fused.entities, *fused.relationships]
    entity = next(
        (
            entity
            for entity in entities
            if entity.name == referred or (entity.server, entity.origin) == (server, origin)
        ),
        None,
    )
    if entity is None or name in {*call.same, *call.given}:
        yield f"{name!r} names no row that is free to be chosen by its columns"
        return
    columns = {attribute.name for attribute in entity.attributes}
    for column in sorted(call.rows[name].keys() - columns):
        yield f"the row of {name!r} has no {column!r}; it has {', '.join(sorted(columns))}"


def _link_faults(number: int, name: str, link: str, story: Storyline, fused: FusedBlueprint) -> Iterator[str]:
    source = link_source(link)
    if source is None:
        yield f"{name!r}: {link!r} is not of the form '<call>.<column>', '<call>.<parameter>.<column>' or 'date(...)'"
        return
    latest = number if source.row is not None else number - 1
    if not 1 <= source.call <= latest:
        yield f"{name!r}: {link!r} names call {source.call}; it must be one of 1 to {latest}"
        return
    producer = story.calls[source.call - 1]
    tool = _tool(producer, fused)
    if tool is None:
        return
    parameters = {parameter.name for parameter in tool.parameters}
    if source.row is not None and source.row not in parameters:
        yield f"{name!r}: {producer.tool} takes no {source.row!r}"
    elif source.row is None and source.column not in {*column_origins(tool), *parameters}:
        yield f"{name!r}: {producer.tool} returns {', '.join(column_origins(tool))}"


def _unnamed_row_faults(number: int, call: StoryCall, story: Storyline, fused: FusedBlueprint) -> Iterator[str]:
    """Rows that only a demanded call has named, and from which an argument is taken that the user asks for.

    The user has no other words for such a row, so each phrase must have a place for them.
    """
    if call.demanded_by is not None or not call.ask:
        return
    asked = [other for other in range(1, number) if story.calls[other - 1].demanded_by is None]
    named = {
        _first_naming(story, other, name) for other in asked for name in _parameters(story.calls[other - 1], fused)
    }
    parameters_by_row: dict[tuple[int, str], list[str]] = {}
    for name, link in call.same.items():
        source = link_source(link)
        if source is not None and source.row is not None and 1 <= source.call < number:
            parameters_by_row.setdefault(_first_naming(story, source.call, source.row), []).append(name)
    for (other, parameter), names in parameters_by_row.items():
        if (other, parameter) in named:
            continue
        key = _key_of(story.calls[other - 1], parameter, fused)
        words = next((name for name in names if _column(call.same[name]) == key), names[0])
        if phrases := [phrase for phrase in call.ask if f"{{{words}}}" not in phrase]:
            yield (
                f"{words!r} is taken from a row that nothing asked for has named; "
                f"the phrase {phrases[0]!r} needs {{{words}}} for that row in words"
            )


def _parameters(call: StoryCall, fused: FusedBlueprint) -> list[str]:
    tool = _tool(call, fused)
    return [parameter.name for parameter in tool.parameters] if tool else []


def _first_naming(story: Storyline, number: int, parameter: str) -> tuple[int, str]:
    """The call (from 1) and the parameter that are the first to name a row."""
    source = link_source(story.calls[number - 1].same.get(parameter, ""))
    if source is None or not 1 <= source.call < number:
        return number, parameter
    return _first_naming(story, source.call, source.row or source.column)


def _key_of(call: StoryCall, parameter: str, fused: FusedBlueprint) -> str:
    tool, reference = _tool(call, fused), call.names.get(parameter, "")
    if reference:
        tables = [*fused.entities, *fused.relationships]
        return next((entity.key for entity in tables if f"{entity.server}.{entity.origin}" == reference), "")
    references = [one.refers_to or "" for one in (tool.parameters if tool else []) if one.name == parameter]
    return references[0].partition(".")[2] if references else ""


def _column(link: str) -> str:
    source = link_source(link)
    return source.column if source else ""
