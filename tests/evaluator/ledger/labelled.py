"""The labelled utterances: read, run, counted."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from evaluator.ledger import Background, FactLedger
from evaluator.ledger.names import NO_NAMES, Names
from skillweave.schema.message import Message
from skillweave.schema.task import Fact, Persona, Scenario

FOLDER = Path(__file__).parent
VERDICTS = ("honest", "invented", "contradicts")


class Role(NamedTuple):
    persona: Persona
    scenario: Scenario
    opening: str
    company: str
    now: str


class Case(NamedTuple):
    role: str
    agent: tuple[str, ...]
    utterance: str
    verdict: str


def cases(name: str) -> Iterator[Case]:
    for group in yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")):
        for verdict in VERDICTS:
            for utterance in group.get(verdict, []):
                yield Case(group["role"], tuple(group["agent"]), utterance, verdict)


@cache
def ledger_of(name: str) -> FactLedger:
    given = _roles()[name]
    names: dict[str, frozenset[str]] = {}
    for column, values in given["names"].items():
        names |= {value: frozenset([column]) for value in values}
    return FactLedger(background_of(name, Names(names)))


def background_of(name: str, names: Names = NO_NAMES) -> Background:
    role = role_of(name)
    return Background(role.scenario, role.persona, role.now, texts=(role.opening, role.company), names=names)


@cache
def role_of(name: str) -> Role:
    given = _roles()[name]
    facts = [Fact(id=id, text=text, value=value, tell="first") for id, text, value in given["facts"]]
    return Role(
        persona=Persona(name=given["name"], age=given["age"], style="plain", patience=8),
        scenario=Scenario(goal=given["goal"], reason=given["reason"], facts=facts),
        opening=given["opening"],
        company=given["company"],
        now=given["now"],
    )


def faults(case: Case) -> list[str]:
    seen = [Message(role="assistant", content=role_of(case.role).opening)]
    for words in case.agent:
        seen += [Message(role="user", content=words), Message(role="assistant", content="I see.")]
    return ledger_of(case.role).faults(case.utterance, seen[:-1])


def misjudged(name: str) -> tuple[list[Case], list[Case]]:
    """Honest utterances that are found fault with, and faulty ones that pass."""
    judged = [(case, bool(faults(case))) for case in cases(name)]
    honest = [case for case, found in judged if found and case.verdict == "honest"]
    return honest, [case for case, found in judged if not found and case.verdict != "honest"]


@cache
def _roles() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / "roles.yaml").read_text(encoding="utf-8"))
    return found
