"""Combinations: instances of one template, for different persons, with both ways of signing in."""

from collections.abc import Iterator, Sequence
from random import Random

from skillweave.schema.combination import Combination, SaidRow
from skillweave.schema.contract import Tool
from skillweave.schema.record import Json
from skillweave.schema.task import GoldenCall, Login
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.planner.slots import slots
from synth.tasks.builder import Builder
from synth.tasks.instance import Instance, NoInstance


def combinations_of(
    world: World, template: TaskTemplate, callers: Sequence[str], count: int, seed: str
) -> Iterator[Combination | NoInstance]:
    """Up to `count` combinations, and for each caller without one the reason. Pure: same arguments, same result."""
    random = Random(f"{seed}/{template.id}")
    order = random.sample(list(callers), len(callers))
    made = 0
    for caller in order:
        if made == count:
            return
        login: Login = "session" if random.random() < 0.5 else "conversation"
        with world.session(caller=caller) as session:
            try:
                instance = Builder(world, template, session, Random(f"{seed}/{template.id}/{caller}")).build()
            except NoInstance as reason:
                yield reason
                continue
        yield _combination(world, template, caller, login, instance, made)
        made += 1


def _combination(
    world: World, template: TaskTemplate, caller: str, login: Login, instance: Instance, number: int
) -> Combination:
    credentials = _credentials(world, caller) if login == "conversation" else {}
    shift = 1 if credentials else 0
    return Combination(
        id=f"{template.id}/{number:03d}",
        template=template.id,
        server=template.server,
        kind=template.kind,
        login=login,
        caller=caller,
        now=world.now,
        golden=[*_signing_in(world, credentials), *(_shifted(call, shift) for call in instance.golden)],
        steps=[step + shift for step in instance.steps],
        rows=_unique_rows(instance.rows, shift),
        values=[value.model_copy(update={"call": value.call + shift}) for value in instance.values],
        credentials=credentials,
        communicate=instance.communicate,
        open_columns=instance.open_columns,
    )


def auth_tool(world: World) -> Tool:
    """The tool that signs in."""
    return next(tool for tool in world.blueprint.tools if tool.kind == "auth")


def _credentials(world: World, caller: str) -> dict[str, Json]:
    """What the person gives to sign in: the columns of their own row that the auth tool compares."""
    core, tool = world.blueprint.core, auth_tool(world)
    row = world.original(core.table, caller) or {}
    found: dict[str, Json] = {}
    for name, slot in slots(tool).items():
        column = next((column for table, column in slot.columns if table == core.table and column in row), None)
        if column is not None and slot.parameter.required:
            found[name] = row[column]
    return found


def _signing_in(world: World, credentials: dict[str, Json]) -> list[GoldenCall]:
    if not credentials:
        return []
    return [GoldenCall(tool=auth_tool(world).name, arguments=credentials, grounding=dict.fromkeys(credentials, "user"))]


def _shifted(call: GoldenCall, shift: int) -> GoldenCall:
    def moved(source: str) -> str:
        if not source.startswith("call "):
            return source
        _, number, path = source.split(" ", 2)
        return f"call {int(number) + shift} {path}"

    return call.model_copy(update={"grounding": {name: moved(source) for name, source in call.grounding.items()}})


def _unique_rows(rows: Sequence[SaidRow], shift: int) -> list[SaidRow]:
    moved = [row.model_copy(update={"call": row.call + shift}) for row in rows]
    return list({row.model_dump_json(): row for row in moved}.values())
