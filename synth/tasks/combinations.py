"""Combinations: instances of one template, for different persons, with both ways of signing in."""

from collections.abc import Callable, Iterator, Sequence
from random import Random

from skillweave.schema.call import RowChange
from skillweave.schema.combination import Combination, MentionedRow
from skillweave.schema.contract import Tool
from skillweave.schema.record import Json
from skillweave.schema.task import GoldenCall, Login
from skillweave.schema.template import TaskTemplate
from skillweave.world.replay import result_reference
from skillweave.world.world import World
from synth.search.slots import slots
from synth.tasks.builder import InstanceBuilder
from synth.tasks.kinds import KINDS, InstanceSetting, NoInstance

MOST_BACKTRACKS = 16
"""Calls that are taken back, in a fused world, to look for an instance of one caller."""
COMPOUND_CALLERS = 8
"""Callers of whom a rule may be broken together with those that it brings with it."""
MOST_MISFITS = 12
"""Combinations of one template that will not do before it is given up."""


def combinations_of(
    world: World,
    template: TaskTemplate,
    callers: Sequence[str],
    count: int,
    seed: str,
    *,
    misfit: Callable[[Combination], str | None] | None = None,
) -> Iterator[Combination | NoInstance]:
    """Up to `count` combinations, and for each caller without one the reason. Pure: same arguments, same result.

    `misfit`: why a combination will not do, beside what its kind says of it; others are then looked for, up to a bound.
    """
    made = misfits = 0
    everybody = [*callers_of(template, callers, seed)]
    tried = [(*one, True) for one in everybody] + [
        (*one, False) for one in everybody[: _compound_callers(world, template)]
    ]
    for caller, login, alone in tried:
        if made == count or misfits == MOST_MISFITS or (made and not alone):
            return
        try:
            found = combination_for(world, template, caller, login, seed, number=made, alone=alone)
        except NoInstance as reason:
            yield reason
            continue
        fault = KINDS[template.kind].misfit(world, found) or (misfit(found) if misfit else None)
        if fault:
            misfits += 1
            yield NoInstance(fault)
            continue
        made += 1
        yield found


def _compound_callers(world: World, template: TaskTemplate) -> int:
    """Callers who are tried again where nobody breaks a rule alone: they may break what it brings along, if a tool
    tells."""
    guards = world.blueprint.tool(template.calls[-1].tool).guards if template.forbidden else []
    return (
        COMPOUND_CALLERS
        if any(guard.rule == template.forbidden and guard.enforced_by == "tool" for guard in guards)
        else 0
    )


def callers_of(template: TaskTemplate, callers: Sequence[str], seed: str) -> Iterator[tuple[str, Login]]:
    """The callers in a seeded order, each with how they sign in."""
    random = Random(f"{seed}/{template.id}")
    for caller in random.sample(list(callers), len(callers)):
        yield caller, "session" if random.random() < 0.5 else "conversation"


def combination_for(
    world: World,
    template: TaskTemplate,
    caller: str,
    login: Login,
    seed: str,
    *,
    number: int,
    patch: Sequence[RowChange] = (),
    alone: bool = True,
) -> Combination:
    """The combination of one caller, on the world's data with a patch; NoInstance where there is none.

    `alone`: a call that a rule is to forbid breaks that rule only.
    """
    backtracks = MOST_BACKTRACKS if len(world.blueprint.roles) > 1 else 0
    with world.session(caller=caller, patch=patch) as session:
        own = Random(f"{seed}/{template.id}/{caller}")
        instance = InstanceBuilder(world, template, session, own, alone=alone, backtracks=backtracks).build()
        hidden = KINDS[template.kind].finish(instance, InstanceSetting(world, template, session.diff(), own))
    auth = auth_tool(world, template)
    credentials = _credentials(world, caller, auth) if login == "conversation" else {}
    shift = 1 if credentials else 0
    return Combination(
        id=f"{template.id}/{number:03d}",
        template=template.id,
        server=template.server,
        kind=template.kind,
        login=login,
        caller=caller,
        now=world.now,
        patch=list(patch),
        golden=[*_signing_in(auth, credentials), *(_shifted(call, shift) for call in instance.golden)],
        asked=_shifted(instance.asked, shift) if instance.asked else None,
        forbidden=instance.forbidden,
        hidden=hidden,
        steps=[step + shift for step in instance.steps],
        rows=_unique_rows(instance.rows, shift),
        values=[value.model_copy(update={"call": value.call + shift}) for value in instance.values],
        credentials=credentials,
        communicate=instance.communicate,
        open_columns=instance.open_columns,
        withheld=[one.model_copy(update={"call": instance.steps[one.call - 1] + shift}) for one in template.withheld],
    )


def auth_tool(world: World, template: TaskTemplate) -> Tool:
    """The tool that signs in: that of the domain that is called first."""
    first = world.role(template.calls[0].tool)
    return next(tool for tool in world.blueprint.tools if tool.kind == "auth" and world.role(tool.name) == first)


def _credentials(world: World, caller: str, auth: Tool) -> dict[str, Json]:
    """What the person gives to sign in: the columns of their own row that the auth tool compares."""
    row, tables = world.row_of(caller, auth.name) or {}, person_tables(world, auth.name)
    found: dict[str, Json] = {}
    for name, slot in slots(auth).items():
        column = next((column for table, column in slot.columns if table in tables and column in row), None)
        if column is not None and slot.parameter.required:
            found[name] = row[column]
    return found


def person_tables(world: World, tool: str) -> set[str]:
    """What statements of a tool's domain call the tables of its persons."""
    role = world.role(tool)
    return {role.own.table, role.entity.table, world.people.table}


def _signing_in(auth: Tool, credentials: dict[str, Json]) -> list[GoldenCall]:
    if not credentials:
        return []
    return [GoldenCall(tool=auth.name, arguments=credentials, grounding=dict.fromkeys(credentials, "user"))]


def _shifted(call: GoldenCall, shift: int) -> GoldenCall:
    def moved(source: str) -> str:
        found = result_reference(source)
        if found is None:
            return source
        place = f"call {found.call + shift} {found.path}"
        return f"computed date({place})" if found.as_date else place

    return call.model_copy(update={"grounding": {name: moved(source) for name, source in call.grounding.items()}})


def _unique_rows(rows: Sequence[MentionedRow], shift: int) -> list[MentionedRow]:
    moved = [row.model_copy(update={"call": row.call + shift}) for row in rows]
    return list({row.model_dump_json(): row for row in moved}.values())
