"""Combinations: choose the sets of domains that become fused worlds.

Candidates grow from linked pairs, one domain at a time, so that sets without links are never considered. The next
choice is the candidate whose person, size and domains were used least so far; among equals, the one with most links.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import heappop, heapreplace
from itertools import combinations as subsets
from itertools import count
from typing import NamedTuple

from skillweave.schema.fusion import Link

MOST_GROWN = 3000
"""Most candidates of one size to grow; those with most links come first."""


class CandidateCombination(NamedTuple):
    """A set of domains that serve the same person and are joined by links."""

    person: str
    domains: tuple[str, ...]
    """The domains, sorted."""
    links: tuple[Link, ...]


class ChosenCombinations(NamedTuple):
    combinations: list[CandidateCombination]
    considered: int
    """Number of sets of domains considered."""
    unlinked: int
    """Number of these sets that no links join."""


def pairs_in_circle(servers: Sequence[str], partners: int) -> list[tuple[str, str]]:
    """Pairs of neighbours in a circle, so that neighbours of one are mostly neighbours too. Few make all pairs.

    Args:
        servers: The domains in the order of the circle.
        partners: Neighbours of a domain, half of them on either side; an odd number counts as the next even one.

    Returns:
        The pairs, each and all in alphabetical order.
    """
    reach, count = range(1, (partners + 1) // 2 + 1), len(servers)
    return sorted(
        {
            (min(one, other), max(one, other))
            for place, one in enumerate(servers)
            for other in (servers[(place + far) % count] for far in reach)
            if one != other
        }
    )


def choose_combinations(
    persons: Mapping[str, Sequence[str]], links: Mapping[tuple[str, str], Sequence[Link]], wanted: int, largest: int
) -> ChosenCombinations:
    """Choose combinations, spread evenly over persons, sizes and domains.

    Args:
        persons: Kind of shared person -> the domains that serve it.
        links: Pair of domains, in alphabetical order -> what they offer each other; other pairs are not considered.
        wanted: How many combinations to choose; fewer only if there are no more.
        largest: The most domains of one combination; the fewest are 2.
    """
    candidates: list[CandidateCombination] = []
    considered = 0
    for person, domains in sorted(persons.items()):
        grown_candidates, looked_at = _candidates(person, sorted(domains), links, largest)
        candidates += grown_candidates
        considered += looked_at
    chosen = _evenly_chosen(candidates, wanted)
    return ChosenCombinations(
        sorted(chosen, key=lambda candidate: candidate.domains), considered, considered - len(candidates)
    )


def world_names(combinations: Sequence[Sequence[str]]) -> dict[tuple[str, ...], str]:
    """Domains of each combination -> the name of its world; a number tells names apart that differ in case alone."""
    taken: set[str] = set()
    names_by_domains: dict[tuple[str, ...], str] = {}
    for domains in sorted(tuple(sorted(domains)) for domains in combinations):
        plain = "__".join(domains)
        candidates = (plain if number == 1 else f"{plain}_{number}" for number in count(1))
        name = next(name for name in candidates if name.lower() not in taken)
        taken.add(name.lower())
        names_by_domains[domains] = name
    return names_by_domains


def _candidates(
    person: str, domains: Sequence[str], links: Mapping[tuple[str, str], Sequence[Link]], largest: int
) -> tuple[list[CandidateCombination], int]:
    import networkx as nx  # Late, as in s03.

    pairs = [pair for pair in subsets(domains, 2) if pair in links]
    of_size = [CandidateCombination(person, pair, tuple(links[pair])) for pair in pairs if links[pair]]
    network: nx.Graph[str] = nx.Graph(candidate.domains for candidate in of_size)
    candidates, considered = list(of_size), len(pairs)
    for _ in range(3, largest + 1):
        best_linked = sorted(of_size, key=lambda candidate: (-len(candidate.links), candidate.domains))[:MOST_GROWN]
        grown_sets = {
            tuple(sorted((*candidate.domains, neighbour)))
            for candidate in best_linked
            for domain in candidate.domains
            for neighbour in network[domain]
            if neighbour not in candidate.domains
        }
        of_size = [_candidate(person, domain_set, links) for domain_set in sorted(grown_sets)]
        candidates += of_size
        considered += len(grown_sets)
    return candidates, considered


def _candidate(
    person: str, domains: tuple[str, ...], links: Mapping[tuple[str, str], Sequence[Link]]
) -> CandidateCombination:
    return CandidateCombination(
        person, domains, tuple(link for pair in subsets(domains, 2) for link in links.get(pair, ()))
    )


def _evenly_chosen(candidates: Sequence[CandidateCombination], wanted: int) -> list[CandidateCombination]:
    """The candidates whose person, size and domains were used least, one after the other."""
    used: Counter[str] = Counter()
    groups: dict[tuple[str, int], list[_Ranked]] = {}
    for place, candidate in enumerate(sorted(candidates, key=lambda one: (-_density(one), one.domains))):
        groups.setdefault((candidate.person, len(candidate.domains)), []).append(_Ranked(0, 0, place, candidate))
    chosen: list[CandidateCombination] = []
    while groups and len(chosen) < wanted:
        for group in groups.values():
            _refresh(group, used)
        first = min(groups, key=lambda kind: (used[f"person {kind[0]}"], used[f"size {kind[1]}"], groups[kind][0]))
        best = heappop(groups[first]).candidate
        if not groups[first]:
            del groups[first]
        chosen.append(best)
        used.update([f"person {best.person}", *best.domains])
        # Larger sets count for more, so that fewer of them are chosen.
        used[f"size {len(best.domains)}"] += len(best.domains) - 1
    return chosen


class _Ranked(NamedTuple):
    """A candidate by how much its domains were used; less is better, and places break ties."""

    most: int
    total: int
    place: int
    candidate: CandidateCombination


def _refresh(group: list[_Ranked], used: Mapping[str, int]) -> None:
    """Rank the first of a heap anew until it is the best. Use only grows, so what comes behind is no better."""
    while True:
        own = [used[domain] for domain in group[0].candidate.domains]
        now = group[0]._replace(most=max(own), total=sum(own))
        if now == group[0]:
            return
        heapreplace(group, now)


def _density(candidate: CandidateCombination) -> float:
    """Links for each pair of domains."""
    size = len(candidate.domains)
    return len(candidate.links) / (size * (size - 1) / 2)
