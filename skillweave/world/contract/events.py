"""Invariants and events: statements that no agent can cause."""

from collections.abc import Iterator

from skillweave.schema.blueprint import Blueprint
from skillweave.world.contract.entities import duplicates
from skillweave.world.contract.problem import Problem
from skillweave.world.contract.statements import NOW, Statements


def invariant_problems(blueprint: Blueprint, statements: Statements) -> Iterator[Problem]:
    """What is wrong with the invariants. They bind nothing: they are true at all times."""
    yield from duplicates("blueprint", "invariant", [invariant.id for invariant in blueprint.invariants])
    for invariant in blueprint.invariants:
        yield from statements.judge(f"invariant {invariant.id}", invariant.never, "query", frozenset())


def event_problems(blueprint: Blueprint, statements: Statements) -> Iterator[Problem]:
    """What is wrong with the events. Their effects bind `:now` and the columns of the row picked."""
    yield from duplicates("blueprint", "event", [event.name for event in blueprint.events])
    for event in blueprint.events:
        where = f"event {event.name}"
        picked = list(statements.judge(f"{where}, pick", event.pick, "query", NOW))
        yield from picked
        if picked:
            continue
        columns = statements.lineage.columns(event.pick)
        yield from duplicates(f"{where}, pick", "column", columns)
        texts = frozenset(columns) - statements.lineage.times(event.pick)
        for number, effect in enumerate(event.effects, start=1):
            allowed = NOW | frozenset(columns)
            yield from statements.judge(f"{where}, effect {number}", effect, "change", allowed, texts)
