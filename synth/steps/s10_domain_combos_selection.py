"""s10: choose which domains become one world, by what they can give each other.

Domains are joined on the person whom they share, never on equal names. An author names the links of each pair, and the
contracts show which of these can be. Sets joined by links are then chosen: those with most links first, spread evenly.
"""

import asyncio
from collections.abc import Mapping

from pydantic import Field

from skillweave.base.errors import AuthorError
from skillweave.llm.question import question
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.fusion import DomainCombination, Link
from synth.artifacts import BLUEPRINTS, DATABASE, DOMAIN_COMBINATIONS
from synth.contracts.visibility import column_origins
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.fusion.combinations import choose_combinations, pairs_in_circle, world_names
from synth.fusion.links import link_faults
from synth.questions.types import ask_partial

LINKS = question("fusion.links", returns=list[Link], most=200, under="links")
MOST_DOMAINS = 5


class CombinationParams(Params):
    cross_domain_combinations: int = Field(default=14, ge=0)
    """Combinations to choose; fewer only if there are no more."""
    max_domains_per_combo: int = Field(default=3, ge=2, le=MOST_DOMAINS)
    """Domains of one combination, at most."""
    partners: int = Field(default=8, ge=2)
    """Domains with which each is paired, about: so many pairs an author is asked about, for each domain."""


@step(
    each=None,
    reads=[BLUEPRINTS, DATABASE],
    writes=[DOMAIN_COMBINATIONS],
    params=CombinationParams,
    questions=[LINKS],
    mode="cross",
)
async def domain_combos_selection(ctx: Context[CombinationParams], key: str) -> None:
    with_database = set(ctx.keys(DATABASE))
    blueprints = {name: value for name, value in ctx.read_all(BLUEPRINTS).items() if name in with_database}
    persons: dict[str, list[str]] = {}
    for server, blueprint in blueprints.items():
        persons.setdefault(blueprint.core.role_of or blueprint.core_entity, []).append(server)
    pairs = [
        (person, pair)
        for person, servers in persons.items()
        for pair in pairs_in_circle(ctx.random(person).sample(servers, len(servers)), ctx.params.partners)
    ]
    answers = await asyncio.gather(*(_links(ctx, person, pair, blueprints) for person, pair in pairs))
    links = {pair: value for (_, pair), value in zip(pairs, answers, strict=True)}
    chosen = choose_combinations(persons, links, ctx.params.cross_domain_combinations, ctx.params.max_domains_per_combo)
    names = world_names([combination.domains for combination in chosen.combinations])
    for combination in chosen.combinations:
        name = names[combination.domains]
        record = DomainCombination(
            name=name, domains=list(combination.domains), person=combination.person, links=list(combination.links)
        )
        ctx.write(DOMAIN_COMBINATIONS, name, record)
    ctx.count("links", sum(len(value) for value in links.values()))
    ctx.count("sets considered", chosen.considered)
    ctx.count("sets that no links join", chosen.unlinked)
    ctx.count("combinations", len(chosen.combinations))


async def _links(
    ctx: Context[CombinationParams], person: str, pair: tuple[str, str], blueprints: Mapping[str, Blueprint]
) -> list[Link]:
    """The links between two domains, without those that cannot be; none if the author gives no usable answer."""
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
    """What a link joins, as its author can recognise it."""
    source = link.column or ".".join(part for part in (link.entity, link.attribute) if part)
    target = f".{link.parameter}" if link.parameter else ""
    return f"{link.source}.{link.producer} ({source}) -> {link.target}.{link.consumer}{target}"
