"""Statements of a blueprint: refused, or prepared on its tables and then known by what they touch."""

from collections.abc import Iterator

from skillweave.errors import WorldError
from skillweave.schema.blueprint import Blueprint
from skillweave.world.access import Accesses
from skillweave.world.authorizer import Access
from skillweave.world.contract.problem import Problem
from skillweave.world.interpreter import guard_query
from skillweave.world.lineage import Lineage
from skillweave.world.refusals import Form, refused_in
from skillweave.world.sql import parse

NOW = frozenset({"now"})
"""What every statement may bind."""


class Statements:
    """Judges statements, and tells what lawful ones touch."""

    def __init__(self, blueprint: Blueprint) -> None:
        self.lineage = Lineage(blueprint)
        self._accesses = Accesses(blueprint)

    def close(self) -> None:
        """Give the tables up."""
        self._accesses.close()

    def access(self, text: str, form: Form) -> Access:
        """What a lawful statement touches."""
        return self._accesses.of(guard_query(text) if form == "expression" else text)

    def judge(
        self, where: str, text: str, form: Form, allowed: frozenset[str], texts: frozenset[str] = frozenset()
    ) -> Iterator[Problem]:
        """Why a statement cannot be run; `allowed` are its bindings, `texts` those that hold free text."""
        refused = refused_in(text, form, self.lineage, texts)
        for reason in refused:
            yield Problem(where, f"{reason}: {text!r}")
        if refused:
            return
        for binding in parse(text).bindings:
            if binding not in allowed:
                known = ", ".join(f":{name}" for name in sorted(allowed)) or "none"
                yield Problem(where, f"unknown binding :{binding}; allowed here: {known}")
        try:
            self.access(text, form)
        except WorldError as error:
            yield Problem(where, f"{error}: {text!r}")
