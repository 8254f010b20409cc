"""Choosing combinations: sets of domains that links join, the best first, spread evenly.

Candidates grow from pairs, one domain at a time, so that sets without links are never looked at. Of all candidates
those are taken in turn that use persons, sizes and domains least used so far; more links decide between equals.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations as subsets
from itertools import count
from typing import NamedTuple

import networkx as nx

from skillweave.schema.fusion import Link

WIDEST = 3000
"""Candidates of one size, the best linked, from which larger ones are grown."""


class Candidate(NamedTuple):
    """Domains of one shared person that links join."""

    person: str
    domains: tuple[str, ...]
    """Sorted."""
    links: tuple[Link, ...]


class Chosen(NamedTuple):
    combinations: list[Candidate]
    considered: int
    """Sets of domains that were looked at."""
    unlinked: int
    """Of these, sets that no links join."""


def choose_combinations(
    persons: Mapping[str, Sequence[str]], links: Mapping[tuple[str, str], Sequence[Link]], wanted: int, largest: int
) -> Chosen:
    """`wanted` combinations of 2 to `largest` domains, or as many as there are.

    `persons`: shared person -> its domains; `links`: sorted pair of domains -> what they offer each other.
    """
    found: list[Candidate] = []
    considered = 0
    for person, domains in sorted(persons.items()):
        grown, looked_at = _candidates(person, sorted(domains), links, largest)
        found += grown
        considered += looked_at
    chosen = _spread(found, wanted)
    return Chosen(sorted(chosen, key=lambda one: one.domains), considered, considered - len(found))


def world_names(combinations: Sequence[Sequence[str]]) -> dict[tuple[str, ...], str]:
    """A name for each combination's world: its domains' names, and a number where another's differs in case alone."""
    taken: set[str] = set()
    found: dict[tuple[str, ...], str] = {}
    for domains in sorted(tuple(sorted(domains)) for domains in combinations):
        plain = "__".join(domains)
        names = (plain if number == 1 else f"{plain}_{number}" for number in count(1))
        name = next(name for name in names if name.lower() not in taken)
        taken.add(name.lower())
        found[domains] = name
    return found


def _candidates(
    person: str, domains: Sequence[str], links: Mapping[tuple[str, str], Sequence[Link]], largest: int
) -> tuple[list[Candidate], int]:
    pairs = [(one, other) for one, other in subsets(domains, 2)]
    size = [Candidate(person, pair, tuple(links[pair])) for pair in pairs if links.get(pair)]
    network: nx.Graph[str] = nx.Graph(candidate.domains for candidate in size)
    found, considered = list(size), len(pairs)
    for _ in range(3, largest + 1):
        widest = sorted(size, key=lambda one: (-len(one.links), one.domains))[:WIDEST]
        sets = {
            tuple(sorted((*one.domains, near)))
            for one in widest
            for domain in one.domains
            for near in network[domain]
            if near not in one.domains
        }
        size = [_joined(person, together, links) for together in sorted(sets)]
        found += size
        considered += len(sets)
    return found, considered


def _joined(person: str, domains: tuple[str, ...], links: Mapping[tuple[str, str], Sequence[Link]]) -> Candidate:
    return Candidate(person, domains, tuple(link for pair in subsets(domains, 2) for link in links.get(pair, ())))


def _spread(candidates: Sequence[Candidate], wanted: int) -> list[Candidate]:
    left = sorted(candidates, key=lambda one: (-_density(one), one.domains))
    used: Counter[str] = Counter()
    chosen: list[Candidate] = []
    while left and len(chosen) < wanted:
        best = min(left, key=lambda one: _use(one, used))
        left.remove(best)
        chosen.append(best)
        used.update([f"person {best.person}", *best.domains])
        # A larger set counts for more, so that there are fewer of them.
        used[f"size {len(best.domains)}"] += len(best.domains) - 1
    return chosen


def _use(candidate: Candidate, used: Counter[str]) -> tuple[int, int, int, int]:
    """How much what a candidate is made of was used before: smaller is better. The first of equals has most links."""
    own = [used[domain] for domain in candidate.domains]
    return used[f"person {candidate.person}"], used[f"size {len(candidate.domains)}"], max(own), sum(own)


def _density(candidate: Candidate) -> float:
    """Links for each pair of domains."""
    size = len(candidate.domains)
    return len(candidate.links) / (size * (size - 1) / 2)
