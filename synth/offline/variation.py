"""Variation: which service, setting and knobs stand behind a domain in a run.

Drawn from the run's seed and the domain's name alone, so that every question of a domain meets the same variant.
"""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from random import Random

from skillweave.errors import AuthorError
from skillweave.schema.domain import Domain
from synth.offline.service import Rendered, Service, Setting, catalogue


@dataclass(frozen=True)
class Variant:
    service: Service
    setting: Setting
    rendered: Rendered


@lru_cache(maxsize=256)
def variant(seed: int, domain: str) -> Variant:
    """The variant of a domain. AuthorError where no service of the catalogue has a setting of that name."""
    for service in catalogue().values():
        for setting in service.header.settings:
            if setting.domain == domain:
                knobs = service.draw(setting, Random(f"{seed}/variation/{domain}"))
                return Variant(service, setting, service.render(setting, knobs))
    names = sorted(setting.domain for service in catalogue().values() for setting in service.header.settings)
    raise AuthorError(f"the offline author knows no domain {domain!r}; {_way_out(domain, names)}")


def services_for(topic: str) -> list[Service]:
    """Services that fit a seed domain, best first. AuthorError where none does."""
    words = _words(topic)
    scored = []
    for name, service in catalogue().items():
        own = _words(" ".join([name, *service.header.keywords, *(s.topic for s in service.header.settings)]))
        scored.append((len(words & own) / max(1, len(words)), name, service))
    best = max((score for score, _, _ in scored), default=0.0)
    if best < 0.5:
        topics = sorted(setting.topic for service in catalogue().values() for setting in service.header.settings)
        raise AuthorError(f"the offline author knows no service for {topic!r}; {_way_out(topic, topics)}")
    return [service for score, _, service in sorted(scored, key=lambda entry: (-entry[0], entry[1])) if score == best]


def domains_of(service: Service, seed_domain: str) -> list[Domain]:
    """The domains that a service can become."""
    return [
        Domain(
            name=setting.domain,
            topic=setting.topic,
            summary=setting.summary,
            person=service.header.person,
            seed=seed_domain,
            keywords=service.header.keywords,
        )
        for setting in service.header.settings
    ]


def _way_out(asked: str, known: list[str]) -> str:
    near = get_close_matches(asked, known, n=3, cutoff=0.3) or known[:3]
    return f"nearest known: {', '.join(repr(name) for name in near)}; for others name a model in llm.textual"


def _words(text: str) -> set[str]:
    return {word.rstrip("s") for word in re.findall(r"[a-z]+", text.lower())} - {"service", "and", "of", "the", "a"}
