"""Witnesses: an author's own case of a guard, believed only once it has been carried out."""

import sqlite3

from skillweave.errors import WorldError
from skillweave.schema.contract import Witness
from skillweave.schema.summary import Unmet
from skillweave.world.world import World
from synth.history.invariants import broken_invariant


def is_witness(witness: Witness, unmet: Unmet, world: World) -> list[str]:
    """Why a witness does not show the guard as the first to fail; empty where it does."""
    if (witness.tool, witness.rule) != (unmet.tool, unmet.rule):
        return [f"the case is of {witness.tool}, {witness.rule}; asked was {unmet.tool}, {unmet.rule}"]
    with world.session(caller=witness.caller) as session:
        try:
            for statement in witness.setup:
                session.execute(statement, {})
        except (sqlite3.Error, WorldError) as error:
            return [f"setup {statement!r}: {error}"]
        broken = broken_invariant(session, world.blueprint)
        if broken:
            return [f"after the setup {broken}"]
        result = session.call(witness.tool, witness.arguments)
        first = next((verdict.rule for verdict in result.verdicts if not verdict.holds), None)
        if witness.rule in (first, result.error.rule if result.error else None):
            return []
        said = f"{result.error.code} ({result.error.rule})" if result.error else "no error"
        return [f"the call gives {said}; the first broken agent rule is {first}; wanted is {witness.rule}"]
