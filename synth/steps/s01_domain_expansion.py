"""s01: expand seed domains into the service areas that worlds are made for.

Seeds are asked about in rounds, one at a time, until nothing new comes back or there are enough. A domain that is
nearly another, by its name or by its words, is turned away.
"""

import re
from collections.abc import Sequence

from pydantic import Field

from skillweave.base.errors import AuthorError
from skillweave.llm.question import question
from skillweave.schema.entity import Domain
from synth.artifacts import DOMAIN_TOPICS
from synth.engine.context import Context
from synth.engine.step import Params, step

EXPAND = question("domains.expand", returns=list[Domain], most=64, under="domains")


class ExpansionParams(Params):
    target_domains: int = Field(default=12, ge=1)
    """Domains to stop at."""
    rounds: int = Field(default=3, ge=1)
    """How often the seeds are gone through."""
    nearest: float = Field(default=0.8, gt=0, le=1)
    """Share of words in common from which on two domains count as one."""


@step(each=None, reads=[], writes=[DOMAIN_TOPICS], params=ExpansionParams, questions=[EXPAND])
async def domain_expansion(ctx: Context[ExpansionParams], key: str) -> None:
    kept: dict[str, Domain] = {}
    for number in range(ctx.params.rounds):
        before = len(kept)
        for place, seed in enumerate(ctx.seeds):
            # In the first round no seed takes more than its share, so that a small target still covers all of them.
            seeds_left = len(ctx.seeds) - place if number == 0 else 1
            await _expand(ctx, seed, number, kept, -(-(ctx.params.target_domains - len(kept)) // seeds_left))
        if len(kept) in (before, ctx.params.target_domains):
            break
    if not kept:
        raise AuthorError("; ".join(ctx.activity.rejected) or f"no domain came of the seeds {ctx.seeds}")
    ctx.count("domains", len(kept))
    for name, domain in sorted(kept.items()):
        ctx.write(DOMAIN_TOPICS, name, domain)


async def _expand(ctx: Context[ExpansionParams], seed: str, number: int, kept: dict[str, Domain], room: int) -> None:
    """Ask for up to `room` domains near a seed, and keep those that are new."""
    if room <= 0:
        return
    try:
        proposed = await ctx.ask(
            EXPAND,
            key=f"{seed}/{number}",
            seed=seed,
            known=sorted(kept),
            count=room,
            check=lambda domains: faults(domains, seed, room, least=0 if kept else 1),
        )
    except AuthorError as error:
        ctx.reject(f"seed {seed!r}", str(error))
        return
    for domain in proposed[:room]:
        near = next((other for other in kept.values() if likeness(domain, other) >= ctx.params.nearest), None)
        if near:
            ctx.reject(domain.name, f"nearly {near.name}")
        else:
            kept[domain.name] = domain


def faults(domains: Sequence[Domain], seed: str, room: int, least: int = 0) -> list[str]:
    """What is wrong with the domains proposed for a seed, in words for their author."""
    found = [f"domain {d.name!r}: its seed is {d.seed!r}; it must be {seed!r}" for d in domains if d.seed != seed]
    if len(domains) < least:
        found.append("there is no domain; while none is there already, the seed area itself makes at least one")
    if len(domains) > room:
        found.append(f"there are {len(domains)} domains; at most {room} are wanted")
    return found


def likeness(one: Domain, other: Domain) -> float:
    """1 for the same name; else the share of words that two domains have in common, in topic and name."""
    if one.name.lower() == other.name.lower():
        return 1.0
    first, second = (_words(f"{domain.topic} {domain.name}") for domain in (one, other))
    return len(first & second) / len(first | second)


def _words(text: str) -> set[str]:
    return {word.lower().rstrip("s") for word in re.findall(r"[A-Z]?[a-z]+", text)}
