"""Combinations: a template's instances for many callers, and rows created by lawful calls where the data lack them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from random import Random

from skillweave.schema.combination import Combination, MentionedRow
from skillweave.schema.contract import Event, RowChange, Tool
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.record import Json, Row
from skillweave.schema.task import Login
from skillweave.schema.template import TaskTemplate
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.writes import AccessedColumns, affects, columns_read, columns_written
from synth.search.arguments import argument_search
from synth.search.slots import slots
from synth.search.values import DATETIME_FORMAT
from synth.simulation.events import InvariantMonitor, apply_event, rows_for_event
from synth.tasks.formed import builder_of, end_state, formed_instance, signed_in, with_shift
from synth.tasks.forms.form import FormSetting
from synth.tasks.forms.joining import asked_in_turn, moved_call, with_final_places
from synth.tasks.kinds import KINDS, InstanceSetting, NoInstance

MOST_STEPS = 12
"""Steps that are tried for one person."""
MOST_USELESS_STEPS = 3
"""After so many useless steps in a row they are undone."""
DAYS_AGO = (2, 3, 5, 8, 12)
"""Days before now at which a step may take place."""
TOOLS_PER_STEP = 4
"""Tools that are tried for one step."""

CallsReached = Callable[[list[RowChange]], int]
"""Given a patch, the number of the template's calls that can be made with it."""


@dataclass
class FixtureBuilder:
    """Builds patches that give persons a past with which a template's calls become possible."""

    world: World
    template: TaskTemplate
    seed: str

    def __post_init__(self) -> None:
        self._invariants = InvariantMonitor(self.world.blueprint)

    def patches(self, caller: str, stuck: int, reached: CallsReached) -> Iterator[list[RowChange]]:
        """Try pasts of a person. A past that leads further is continued.

        Whoever asks for another patch had no use for the last one.

        Args:
            stuck: The template's call, counted from 0, beyond which the person does not get without a patch.
            reached: Says how far a patch leads.

        Yields:
            Patches with which all calls of the template can be made.
        """
        whole = len(self.template.calls)
        random = Random(f"{self.seed}/{self.template.id}/{caller}/past")
        with self.world.session(caller=caller) as session:
            kept, useless = session.mark(), 0
            writes, events = self._relevant_actions(stuck)
            for _ in range(MOST_STEPS if writes else 0):
                if not self._step(session, writes, events, random):
                    continue
                patch = session.diff()
                far = reached(patch)
                if far == whole:
                    yield patch
                    far = whole - 1
                useless = 0 if far > stuck else useless + 1
                if far > stuck:
                    kept, stuck = session.mark(), far
                    writes, events = self._relevant_actions(stuck)
                elif useless == MOST_USELESS_STEPS:
                    session.undo(kept)
                    useless = 0

    def _relevant_actions(self, stuck: int) -> tuple[list[Tool], list[Event]]:
        """Writes and events that can change what guards of the calls up to that one read, or rows that they name."""
        read: set[tuple[str, str | None]] = set()
        for call in self.template.calls[: stuck + 1]:
            for guard in self.world.blueprint.tool(call.tool).guards:
                read |= columns_read(guard.holds)
            for reference in call.names.values():
                entity, _ = self.world.blueprint.target(reference)
                read |= {(entity.table, attribute.name) for attribute in entity.attributes}
        wanted: AccessedColumns = frozenset(read)
        writes = [
            tool
            for tool in self.world.blueprint.tools
            if tool.kind == "write" and affects(columns_written([effect.sql for effect in tool.effects]), wanted)
        ]
        return writes, [
            event for event in self.world.blueprint.events if affects(columns_written(event.effects), wanted)
        ]

    def _step(self, session: ContractSession, writes: Sequence[Tool], events: Sequence[Event], random: Random) -> bool:
        """Make one lawful call days ago, and the events that follow; False, with nothing done, if there is none."""
        before = session.mark()
        session.now = self._ago(timedelta(days=random.choice(DAYS_AGO)))
        for tool in random.sample(writes, min(TOOLS_PER_STEP, len(writes))):
            search = argument_search(session, tool, random, nodes=60, soon=random.random() < 0.5)
            arguments = next(search.meeting(), None)
            result = session.call(tool.name, arguments) if arguments is not None else None
            if result is not None and result.ok and not result.violations:
                session.now = self._ago(timedelta(hours=1))
                happened = self._apply_events(session, events)
                session.now = self.world.now
                effects = [*(effect.sql for effect in tool.effects), *chain(*(event.effects for event in happened))]
                if self._invariants.broken(session, effects) is None:
                    return True
            session.undo(before)
            session.now = self._ago(timedelta(days=random.choice(DAYS_AGO)))
        session.undo(before)
        return False

    def _apply_events(self, session: ContractSession, events: Sequence[Event]) -> list[Event]:
        """Apply the back office's events to the rows that were created. Returns those that happened."""
        happened = []
        for event in events:
            for row in rows_for_event(session, event):
                if _is_about(row, session.minted) and row in rows_for_event(session, event):
                    apply_event(session, event, row)
                    happened.append(event)
        return happened

    def _ago(self, time: timedelta) -> str:
        return (datetime.strptime(self.world.now, DATETIME_FORMAT) - time).strftime(DATETIME_FORMAT)


def _is_about(row: Row, keys: Sequence[str]) -> bool:
    return any(value in keys for value in row.values() if isinstance(value, str))


SIGNED_IN = 0.12
"""How often the session opens with the user signed in; else they tell who they are."""
IN_TURN = 0.8
"""How often people who want several things done ask for one, and for the others once it is done."""
PUT_IN_TURN = frozenset({"choice", "false_premise"})
"""Forms of which people who want several things done may ask in turn."""
COMPOUND_CALLERS = 8
"""If nobody breaks a rule alone, so many callers may break it together with rules that it implies."""
MOST_MISFITS = 12
"""A template is given up after so many misfits."""


def combinations_of(
    world: World,
    template: TaskTemplate,
    callers: Sequence[str],
    count: int,
    seed: str,
    *,
    misfit: Callable[[Combination], str | None] | None = None,
) -> Iterator[Combination | NoInstance]:
    """The combinations of a template, and for each caller without one the reason.

    Args:
        callers: Persons who may have an instance.
        count: Combinations at most.
        misfit: Says why a combination will not do, beside what its kind says; others are then looked for.
    """
    combinations = misfits = 0
    persons = [*callers_of(template, callers, seed)]
    compound = persons[: _compound_callers(world, template)]
    for caller, login, alone in [*((*one, True) for one in persons), *((*one, False) for one in compound)]:
        if combinations == count or misfits == MOST_MISFITS or (combinations and not alone):
            return
        try:
            combination = combination_for(world, template, caller, login, seed, number=combinations, alone=alone)
        except NoInstance as reason:
            # What nobody is shown differs little from person to person.
            misfits += bool(template.forbidden) and reason.is_unseen
            yield reason
            continue
        fault = KINDS[template.kind].misfit(world, combination) or (misfit(combination) if misfit else None)
        if fault:
            misfits += 1
            yield NoInstance(fault)
            continue
        combinations += 1
        yield combination


def _compound_callers(world: World, template: TaskTemplate) -> int:
    """How many callers are tried again if nobody breaks a rule alone; 0 unless a tool upholds the rule."""
    guards = world.blueprint.tool(template.calls[-1].tool).guards if template.forbidden else []
    is_held_by_tool = any(guard.rule == template.forbidden and guard.enforced_by == "tool" for guard in guards)
    return COMPOUND_CALLERS if is_held_by_tool else 0


def callers_of(template: TaskTemplate, callers: Sequence[str], seed: str) -> Iterator[tuple[str, Login]]:
    """The callers in a seeded order, each with how they sign in."""
    random = Random(f"{seed}/{template.id}")
    for caller in random.sample(list(callers), len(callers)):
        yield caller, "session" if random.random() < SIGNED_IN else "conversation"


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
    """The combination of one caller.

    Args:
        number: Distinguishes it from the template's other combinations.
        patch: Changes to the world's data that it is built on.
        alone: Whether a call that a rule is to forbid must break that rule only.

    Raises:
        NoInstance: The caller has none.
    """
    random = Random(f"{seed}/{template.id}/{caller}")
    if template.forms:
        build = partial(formed_instance, alone=alone)
        setting = FormSetting(world, template, caller, patch, random, build)
        instance, hidden = with_final_places(setting.plain(template)), list[str]()
    else:
        with world.session(caller=caller, patch=patch) as session:
            instance = builder_of(world, template, session, random, alone=alone).build()
            hidden = KINDS[template.kind].finish(instance, InstanceSetting(world, template, session.diff(), random))
    if template.kind == "do" and {*template.forms} <= PUT_IN_TURN and random.random() < IN_TURN:
        instance = asked_in_turn(instance, template, world.blueprint)
    auth = auth_tool(world, template)
    credentials = _credentials(world, caller, auth) if login == "conversation" else {}
    signing_in = _signing_in(auth, credentials)
    shift = len(signing_in)
    return Combination(
        id=f"{template.id}/{number:03d}",
        template=template.id,
        server=template.server,
        kind=template.kind,
        login=login,
        caller=caller,
        now=world.now,
        patch=list(patch),
        golden=[*signing_in, *(_shifted(call, shift) for call in instance.golden)],
        asked=_shifted(instance.asked, shift) if instance.asked else None,
        forbidden=instance.forbidden,
        asked_after=None if instance.asked_after is None else instance.asked_after + shift,
        undone=[_shifted(call, shift) for call in instance.undone],
        forms=[signed_in(form, signing_in) for form in instance.forms],
        terms=instance.terms,
        questions=[with_shift(question, shift) for question in instance.questions],
        beliefs=instance.beliefs,
        any_of=[end_state(world, caller, patch, course) for course in instance.any_of],
        insists=instance.insists,
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
    """The tool with which a template's caller signs in: that of the domain that is called first."""
    first = world.role(template.calls[0].tool)
    return next(tool for tool in world.blueprint.tools if tool.kind == "auth" and world.role(tool.name) == first)


def _credentials(world: World, caller: str, auth: Tool) -> dict[str, Json]:
    """What a person gives to sign in: the columns of their own row that the auth tool compares."""
    row, tables = world.row_of(caller, auth.name) or {}, person_tables(world, auth.name)
    credentials: dict[str, Json] = {}
    for name, slot in slots(auth).items():
        column = next((column for table, column in slot.columns if table in tables and column in row), None)
        if column is not None and slot.parameter.required:
            credentials[name] = row[column]
    return credentials


def person_tables(world: World, tool: str) -> set[str]:
    """The names that statements of a tool's domain use for the tables of its persons."""
    role = world.role(tool)
    return {role.own.table, role.entity.table, world.people.table}


def _signing_in(auth: Tool, credentials: dict[str, Json]) -> list[GoldenCall]:
    if not credentials:
        return []
    return [GoldenCall(tool=auth.name, arguments=credentials, grounding=dict.fromkeys(credentials, "user"))]


def _shifted(call: GoldenCall, shift: int) -> GoldenCall:
    """The call with its references to earlier calls moved by `shift`."""
    return moved_call(call, lambda place: place + shift)


def _unique_rows(rows: Sequence[MentionedRow], shift: int) -> list[MentionedRow]:
    moved = [row.model_copy(update={"call": row.call + shift}) for row in rows]
    return list({row.model_dump_json(): row for row in moved}.values())
