"""s10: choose which domains are to become one world, by what they have to give each other.

Domains are joined on the person whom they share, never on equal names. An author names the links of each pair, the
contracts show which of them can be; sets that links join are ranked by how many they are, and spread evenly.
"""

import asyncio
from collections.abc import Mapping
from itertools import combinations

from pydantic import Field

from skillweave.base.errors import AuthorError
from skillweave.llm.question import question
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.fusion import DomainCombination, Link
from synth.artifacts import BLUEPRINTS, DATABASE, DOMAIN_COMBINATIONS
from synth.contracts.visibility import column_origins
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.fusion.combinations import choose_combinations, world_names
from synth.fusion.links import link_faults
from synth.questions.partial import ask_partial

LINKS = question("fusion.links", returns=list[Link], most=200, under="links")
LARGEST = 5


class CombinationParams(Params):
    cross_domain_combinations: int = Field(default=14, ge=0)
    """Combinations to choose; fewer only where there are no more."""
    max_domains_per_combo: int = Field(default=3, ge=2, le=LARGEST)
    """Domains of one combination, at most."""


@step(
    each=None,
    reads=[BLUEPRINTS, DATABASE],
    writes=[DOMAIN_COMBINATIONS],
    params=CombinationParams,
    questions=[LINKS],
    mode="cross",
)
async def domain_combos_selection(ctx: Context[CombinationParams], key: str) -> None:
    running = set(ctx.keys(DATABASE))
    blueprints = {name: found for name, found in ctx.read_all(BLUEPRINTS).items() if name in running}
    persons: dict[str, list[str]] = {}
    for server, blueprint in blueprints.items():
        persons.setdefault(blueprint.core.role_of or blueprint.core_entity, []).append(server)
    pairs = [(person, pair) for person, servers in persons.items() for pair in combinations(sorted(servers), 2)]
    answers = await asyncio.gather(*(_links(ctx, person, pair, blueprints) for person, pair in pairs))
    links = {pair: found for (_, pair), found in zip(pairs, answers, strict=True)}
    chosen = choose_combinations(persons, links, ctx.params.cross_domain_combinations, ctx.params.max_domains_per_combo)
    names = world_names([one.domains for one in chosen.combinations])
    for one in chosen.combinations:
        name = names[one.domains]
        made = DomainCombination(name=name, domains=list(one.domains), person=one.person, links=list(one.links))
        ctx.write(DOMAIN_COMBINATIONS, name, made)
    ctx.count("links", sum(len(found) for found in links.values()))
    ctx.count("sets considered", chosen.considered)
    ctx.count("sets that no links join", chosen.unlinked)
    ctx.count("combinations", len(chosen.combinations))


async def _links(
    ctx: Context[CombinationParams], person: str, pair: tuple[str, str], blueprints: Mapping[str, Blueprint]
) -> list[Link]:
    """What two domains offer each other, less what cannot be; nothing where no author knows of anything."""
    both = {name: blueprints[name] for name in pair}
    columns = {name: {tool.name: list(column_origins(tool)) for tool in own.tools} for name, own in both.items()}
    try:
        return await ask_partial(
            ctx,
            LINKS,
            lambda links: [link_faults([link], both) for link in links],
            "a link that cannot be",
            name=_link_name,
            key="/".join(pair),
            blueprints=list(both.values()),
            person=person,
            columns=columns,
        )
    except AuthorError as error:
        ctx.reject(" and ".join(pair), "no usable links")
        ctx.log(str(error))
        return []


def _link_name(link: Link) -> str:
    """What it links, for its author."""
    given = link.column or ".".join(part for part in (link.entity, link.attribute) if part)
    taken = f".{link.parameter}" if link.parameter else ""
    return f"{link.source}.{link.producer} ({given}) -> {link.target}.{link.consumer}{taken}"
