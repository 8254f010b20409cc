"""s05: bring all blueprints into one form, and export the tool lists that agents get.

The one place where servers are seen side by side: rules are numbered, ids get prefixes that no other table of the run
has, the shared attributes of a person must agree; domains that are to be held out must be there. It asks no author.
"""

import re
from collections.abc import Mapping

from skillweave.errors import AuthorError, ConfigError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.entity import Entity
from skillweave.world.tools import tool_definitions
from synth.artifacts import BLUEPRINTS, DOMAIN_TOPICS, DRAFTS, TOOL_LISTS
from synth.context import Context
from synth.planner.slots import bindings
from synth.step import Params, step
from synth.tasks.splits import holdout_fault


@step(each=None, reads=[DOMAIN_TOPICS, DRAFTS], writes=[BLUEPRINTS, TOOL_LISTS], params=Params)
async def tool_list_formulation(ctx: Context[Params], key: str) -> None:
    fault = holdout_fault(ctx.splits, ctx.keys(DOMAIN_TOPICS)) if ctx.splits.holdout_domains else None
    if fault:
        raise ConfigError(fault)
    drafts = ctx.read_all(DRAFTS)
    initials = server_initials(list(drafts))
    people: dict[tuple[str, str], str] = {}
    written = 0
    for server, draft in drafts.items():
        clash = _clash(draft, people)
        if clash:
            ctx.reject(server, clash)
            continue
        blueprint = formulated(draft, initials[server])
        ctx.write(BLUEPRINTS, server, blueprint)
        ctx.write(TOOL_LISTS, server, tool_definitions(blueprint))
        written += 1
    if not written:
        raise AuthorError("no blueprint is left; the earlier steps' rejections say why")
    ctx.count("servers", written)


def formulated(draft: Blueprint, initials: str) -> Blueprint:
    """A blueprint with numbered rules, allocated prefixes and settled parameters."""
    numbers = rule_numbers(draft)
    taken: set[str] = set()
    prefixed = [_prefixed(entity, initials, taken) for entity in draft.tables]
    count = len(draft.entities)
    return draft.model_copy(
        update={
            "entities": prefixed[:count],
            "relationships": prefixed[count:],
            "tools": [_settled(tool, numbers) for tool in draft.tools],
        }
    )


def rule_numbers(draft: Blueprint) -> dict[str, str]:
    """The author's name of each rule -> `R1`, `R2`, ... in the order in which tools state them."""
    rules = [rule for tool in draft.tools for rule in (*(g.rule for g in tool.guards), *(e.rule for e in tool.effects))]
    return {rule: f"R{number}" for number, rule in enumerate(dict.fromkeys(rules), start=1)}


def server_initials(servers: list[str]) -> dict[str, str]:
    """Two or more letters for each server, unlike any other's."""
    found: dict[str, str] = {}
    for server in sorted(servers):
        words = re.findall(r"[A-Z][a-z0-9]*|[a-z0-9]+", server)
        longest = "".join(word[:3].upper() for word in words)
        choices = ["".join(word[0].upper() for word in words), "".join(word[:2].upper() for word in words), longest]
        choices += [f"{longest}{number}" for number in range(2, 100)]
        found[server] = next(c for c in choices if len(c) > 1 and c not in found.values())
    return found


def _prefixed(entity: Entity, initials: str, taken: set[str]) -> Entity:
    letters = re.sub(r"[^A-Z]", "", entity.name.upper())
    for middle in range(1, len(letters)):
        prefix = initials + letters[0] + letters[middle : middle + 2]
        if prefix not in taken:
            break
    taken.add(prefix)
    return entity.model_copy(update={"prefix": prefix})


def _settled(tool: Tool, numbers: Mapping[str, str]) -> Tool:
    shown = frozenset[str]().union(*(bindings(effect.sql) for effect in tool.effects))
    guards = [guard.model_copy(update={"rule": numbers[guard.rule]}) for guard in tool.guards]
    effects = [effect.model_copy(update={"rule": numbers[effect.rule]}) for effect in tool.effects]
    parameters = [
        parameter.model_copy(update={"observable": parameter.name in shown} | _repaired(parameter))
        for parameter in tool.parameters
    ]
    return tool.model_copy(update={"guards": guards, "effects": effects, "parameters": parameters})


def _repaired(parameter: Parameter) -> dict[str, object]:
    """Small slips of an author: a description without its full stop, an enum with a value twice."""
    repaired: dict[str, object] = {"description": parameter.description.strip().rstrip(".") + "."}
    if parameter.enum:
        repaired["enum"] = list(dict.fromkeys(parameter.enum))
    return repaired


def _clash(draft: Blueprint, people: dict[tuple[str, str], str]) -> str | None:
    """Why a server's shared person cannot be the one that others share; notes what it shares where it can."""
    person = draft.core.role_of or ""
    for attribute in draft.core.attributes:
        if attribute.shared:
            known = people.setdefault((person, attribute.name), attribute.type)
            if known != attribute.type:
                return f"its {person}.{attribute.name} is {attribute.type}, elsewhere it is {known}"
    return None
