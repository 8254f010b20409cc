"""The contracts of a dataset, by world: those of single domains stand in one file, a fused world's beside its database.

A fused world's rules between its domains are kept with its policy; its contract is whole only with them.
"""

import sqlite3
from functools import cached_property
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from skillweave.errors import ArtifactError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.fused import FusedBlueprint
from skillweave.schema.fusion import Mediation
from skillweave.schema.record import Json, Record
from skillweave.store import Store
from skillweave.world import database

R = TypeVar("R", bound=Record)

BLUEPRINTS = "blueprints.json"
_SHOWN = 5
"""Names that an error lists."""


class Contracts:
    """Read when something asks for them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def is_whole(self, name: str) -> bool:
        """Whether nothing is missing of a world's contract: a fused one may stand there before its bridge rules do."""
        return not self._store.exists(_contract(name)) or self._store.exists(_bridges(name))

    def __getitem__(self, name: str) -> Blueprint:
        """The contract of a world. ArtifactError where there is none."""
        if isinstance(name, str) and self._store.exists(_contract(name)):
            return self._fused(name)
        found = self._singles.get(name) if isinstance(name, str) else None
        if found is None:
            raise ArtifactError(f"no blueprint {name!r} in {BLUEPRINTS}; there are {listed(sorted(self._singles))}")
        try:
            return Blueprint.model_validate(found)
        except ValidationError as error:
            raise ArtifactError(f"blueprint {name!r} in {BLUEPRINTS} is damaged: {first(error)}") from error

    def _fused(self, name: str) -> FusedBlueprint:
        path, bridges = _contract(name), _bridges(name)
        if not self._store.exists(bridges):
            raise ArtifactError(f"{path!r} has no bridge rules: there is no {bridges!r}; run the pipeline to its end")
        contract, mediation = self._record(path, FusedBlueprint), self._record(bridges, Mediation)
        for file, world in ((path, contract.server), (bridges, mediation.name)):
            if world != name:
                raise ArtifactError(f"{file!r} is of the world {world!r}, not of {name!r}")
        _check(contract, path)
        tools = {tool.name for tool in contract.tools}
        for rule in mediation.bridges:
            if rule.tool not in tools:
                raise ArtifactError(f"{bridges!r}: {rule.rule} guards the tool {rule.tool!r}, which is not in {path!r}")
        return contract.with_bridges(mediation.bridges)

    def _record(self, path: str, kind: type[R]) -> R:
        try:
            return kind.model_validate_json(self._store.read(path))
        except ValidationError as error:
            raise ArtifactError(f"{path!r} is damaged: {first(error)}") from error

    @cached_property
    def _singles(self) -> dict[str, Json]:
        found = parsed(BLUEPRINTS, self._store.read(BLUEPRINTS))
        rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
        return {str(row.get("server")): row for row in rows}


def _check(contract: FusedBlueprint, path: str) -> None:
    """ArtifactError where members, tables and views do not go together."""
    try:
        for tool in contract.tools:
            contract.core.attribute(contract.role(tool.name).account)
        connection = database.create(contract)
        try:
            for view in contract.views:
                connection.execute(f"SELECT * FROM {view.entity.table}")
        finally:
            connection.close()
    except KeyError as error:
        raise ArtifactError(f"{path!r} is damaged: nothing in it is called {error.args[0]!r}") from error
    except sqlite3.Error as error:
        raise ArtifactError(f"{path!r} is damaged: {error}") from error


def _contract(name: str) -> str:
    return f"database/{name}.contract.json"


def _bridges(name: str) -> str:
    return f"policies/{name}.bridges.json"


def parsed(label: str, content: bytes) -> Json:
    """JSON from elsewhere. ArtifactError where it is none."""
    try:
        found: Json = from_json(content)
    except ValueError as error:
        raise ArtifactError(f"{label!r} is not JSON: {error}") from error
    return found


def first(error: ValidationError) -> str:
    """The first thing that is wrong with a record, in words."""
    fault = error.errors()[0]
    return f"{'.'.join(map(str, fault['loc'])) or 'the whole'}: {fault['msg']}"


def listed(names: list[str]) -> str:
    """The first names of a list."""
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "") or "none"
