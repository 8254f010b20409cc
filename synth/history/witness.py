"""Witnesses: an author's own case of a guard, believed only once it has been carried out."""

import sqlite3

from sqlglot import exp

from skillweave.errors import WorldError
from skillweave.schema.contract import Witness
from skillweave.schema.summary import Unmet
from skillweave.world.sql import parse
from skillweave.world.world import World
from synth.history.invariants import broken_invariant

SHOWN = 12
"""Callers named where a case has one that is not there."""


def is_witness(witness: Witness, unmet: Unmet, world: World) -> list[str]:
    """Why a witness does not show the guard as the first to fail; empty where it does."""
    if (witness.tool, witness.rule) != (unmet.tool, unmet.rule):
        return [f"the case is of {witness.tool}, {witness.rule}; asked was {unmet.tool}, {unmet.rule}"]
    if witness.caller is not None and witness.caller not in world.callers:
        return [f"there is no caller {witness.caller!r}; there are {', '.join(world.callers[:SHOWN])} and others"]
    with world.session(caller=witness.caller) as session:
        for number, statement in enumerate(witness.setup, start=1):
            try:
                if not isinstance(parse(statement).tree, exp.Insert | exp.Update):
                    return [f"setup {number} must be one INSERT or UPDATE: {statement!r}"]
                session.execute(statement, {})
            except (sqlite3.Error, WorldError) as error:
                return [f"setup {number}: {error}: {statement!r}"]
        broken = broken_invariant(session, world.blueprint)
        if broken:
            return [f"after the setup {broken}"]
        result = session.call(witness.tool, witness.arguments)
        first = next((verdict.rule for verdict in result.verdicts if not verdict.holds), None)
        if witness.rule in (first, result.error.rule if result.error else None):
            return []
        if result.error:
            return [f"the call is refused by {result.error.rule or result.error.code}, before {witness.rule} is tried"]
        return [f"the call goes through, and the first rule that it breaks is {first}; wanted is {witness.rule}"]
