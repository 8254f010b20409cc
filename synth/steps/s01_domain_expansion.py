"""s01: expand seed domains into the service areas that worlds are made for.

The author is asked about each seed in turn, in rounds, until there are enough domains or a round brings nothing new. A
domain whose name or words are nearly those of another is rejected.
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
    """Rounds in which every seed is asked about."""
    nearest: float = Field(default=0.8, gt=0, le=1)
    """Share of common words from which two domains count as one."""


@step(each=None, reads=[], writes=[DOMAIN_TOPICS], params=ExpansionParams, questions=[EXPAND])
async def domain_expansion(ctx: Context[ExpansionParams], key: str) -> None:
    domains: dict[str, Domain] = {}
    for round_number in range(ctx.params.rounds):
        before = len(domains)
        for index, seed in enumerate(ctx.seeds):
            # In the first round no seed gets more than its share, so that a small target still covers all seeds.
            seeds_left = len(ctx.seeds) - index if round_number == 0 else 1
            room = -(-(ctx.params.target_domains - len(domains)) // seeds_left)
            await _expand(ctx, seed, round_number, domains, room)
        if len(domains) in (before, ctx.params.target_domains):
            break
    if not domains:
        raise AuthorError("; ".join(ctx.activity.rejected) or f"no domain came of the seeds {ctx.seeds}")
    ctx.count("domains", len(domains))
    for name, domain in sorted(domains.items()):
        ctx.write(DOMAIN_TOPICS, name, domain)


async def _expand(
    ctx: Context[ExpansionParams], seed: str, round_number: int, domains: dict[str, Domain], room: int
) -> None:
    """Ask for up to `room` domains near a seed, and add those that are new to `domains`."""
    if room <= 0:
        return
    try:
        proposed = await ctx.ask(
            EXPAND,
            key=f"{seed}/{round_number}",
            seed=seed,
            known=sorted(domains),
            count=room,
            check=lambda answer: faults(answer, seed, room, least=0 if domains else 1),
        )
    except AuthorError as error:
        ctx.reject(f"seed {seed!r}", str(error))
        return
    for domain in proposed[:room]:
        similar = next((other for other in domains.values() if likeness(domain, other) >= ctx.params.nearest), None)
        if similar:
            ctx.reject(domain.name, f"nearly {similar.name}")
        else:
            domains[domain.name] = domain


def faults(domains: Sequence[Domain], seed: str, room: int, least: int = 0) -> list[str]:
    """What is wrong with the domains proposed for a seed, in words for their author.

    Args:
        domains: The author's answer.
        seed: The seed.
        room: The most domains that are wanted.
        least: The fewest domains that are accepted.
    """
    complaints = [f"domain {d.name!r}: its seed is {d.seed!r}; it must be {seed!r}" for d in domains if d.seed != seed]
    if len(domains) < least:
        complaints.append("there is no domain; while none is there already, the seed area itself makes at least one")
    if len(domains) > room:
        complaints.append(f"there are {len(domains)} domains; at most {room} are wanted")
    return complaints


def likeness(one: Domain, other: Domain) -> float:
    """1 for the same name; else the share of words that two domains have in common, in topic and name."""
    if one.name.lower() == other.name.lower():
        return 1.0
    first, second = (_words(f"{domain.topic} {domain.name}") for domain in (one, other))
    return len(first & second) / len(first | second)


def _words(text: str) -> set[str]:
    return {word.lower().rstrip("s") for word in re.findall(r"[A-Z]?[a-z]+", text)}
