"""A small dataset on disk, of the small clinic, and conversations in it with a user who answers what is asked."""

import asyncio
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from rollout.dispatcher import PipelinedDispatcher, Width
from rollout.offline.user import heard_by, reply
from rollout.trajectory import RolloutSettings, Trajectory
from rollout.user import UserRole
from rollout.world.source import ContractOpener, WorldTasks
from skillweave.llm.backends.backend import Backend, OfflineBackend, Request
from skillweave.schema.task import Task
from skillweave.schema.trajectory import TrajectoryRecord
from skillweave.world import database
from skillweave.world.dataset import Dataset
from skillweave.world.replay import replay
from tests.evaluator.tasks import a_task
from tests.world.clinic import NOW, ROWS, a_blueprint, a_world

WORLD = a_world()
POLICY = """# Small Clinic

Confirm with the patient where a section asks for it. [R2] Patients may only touch their own appointments.

<!-- tool: book_appointment -->
### Book appointment (`book_appointment`)

Book a slot. Confirm with the patient first. [R6] A patient may have less than 2 scheduled appointments before booking.
<!-- /tool: book_appointment -->

<!-- tool: cancel_appointment -->
### Cancel appointment (`cancel_appointment`)

Cancel an appointment. Confirm with the patient first. [R10] Up to 24 hours before they start.
<!-- /tool: cancel_appointment -->
"""


def fact(id: str, text: str, value: Any, tell: str = "first") -> dict[str, Any]:
    """A fact of a user."""
    return {"id": id, "text": text, "value": value, "tell": tell}


ME = [
    fact("me.email", "My email is ana@example.com.", "ana@example.com", "asked"),
    fact("me.date_of_birth", "My date of birth is 1 March 1981.", "1981-03-01", "asked"),
]
IDENTIFY = {
    "tool": "identify_patient",
    "arguments": {"email": "ana@example.com", "date_of_birth": "1981-03-01"},
    "grounding": {"email": "user", "date_of_birth": "user"},
}
APPOINTMENTS = {"tool": "list_appointments", "arguments": {}}
SLOTS = {"tool": "find_slots", "arguments": {}}
COST = {
    "fact": "told_1",
    "noun": "cancellation fee",
    "values": [3000],
    "type": "integer",
    "unit": "cents",
}
WHEN = {
    "fact": "told_1",
    "noun": "start",
    "values": ["2025-01-21 12:30:00"],
    "type": "datetime",
}
PRICE = {
    "fact": "told_1",
    "noun": "price",
    "values": [6000],
    "type": "integer",
    "unit": "cents",
    "rivals": [4500],
}


def with_id(tool: str, source: str, **given: Any) -> dict[str, Any]:
    """A golden call on Ana's appointment."""
    arguments = {"appointment_id": "APT-0001", **{name: value for name, (value, _) in given.items()}}
    grounding = {"appointment_id": source, **{name: grounded for name, (_, grounded) in given.items()}}
    return {"tool": tool, "arguments": arguments, "grounding": grounding}


@cache
def tasks() -> tuple[Task, ...]:
    """A cancellation, a move, two deeds in a row, and two questions."""
    return (
        made(
            "cancel",
            "You want to cancel your appointment with Dr Iyer because of illness. "
            "You want to know how much the cancellation costs.",
            [
                IDENTIFY,
                APPOINTMENTS,
                with_id("cancel_appointment", "call 1 [0].appointment_id", reason=("illness", "user")),
            ],
            [
                fact("cancel_appointment.reason", "Reason: illness.", "illness", "asked"),
                fact("appointment.dentist_name", "It is my appointment with Dr Iyer.", "Dr Iyer"),
                *ME,
            ],
            "Hello! I'd like to cancel my appointment with Dr Iyer. Could you also tell me how much that costs?",
            login="conversation",
            communicate=[COST],
        ),
        made(
            "move",
            "You want to move your appointment to the slot on 22 January at 14:30 with Dr Iyer.",
            [
                APPOINTMENTS,
                SLOTS,
                with_id("move_appointment", "call 0 [0].appointment_id", slot_id=("SLO-0004", "call 1 [2].slot_id")),
            ],
            [
                fact("slot.starts_at", "It is the slot on 22 January at 14:30.", "2025-01-22 14:30:00"),
                fact("slot.dentist_name", "It is the slot with Dr Iyer.", "Dr Iyer"),
            ],
            "Please move my appointment to the slot on 22 January at 14:30 with Dr Iyer.",
        ),
        made(
            "both",
            "You want to drop the reminder of your appointment. "
            "After that you want to book the slot on 22 January at 14:30 with Dr Iyer.",
            [
                APPOINTMENTS,
                with_id("drop_reminder", "call 0 [0].appointment_id"),
                SLOTS,
                {
                    "tool": "book_appointment",
                    "arguments": {"slot_id": "SLO-0004"},
                    "grounding": {"slot_id": "call 2 [2].slot_id"},
                },
            ],
            [
                fact("slot.starts_at", "It is the slot on 22 January at 14:30.", "2025-01-22 14:30:00"),
                fact("slot.dentist_name", "It is the slot with Dr Iyer.", "Dr Iyer"),
            ],
            "Good morning. I want to drop the reminder of my appointment. After that I'd also like to book the slot on "
            "22 January at 14:30 with Dr Iyer.",
        ),
        made(
            "when",
            "You want to know when your appointment starts.",
            [IDENTIFY, APPOINTMENTS],
            ME,
            "Hi, can you tell me when my appointment starts?",
            kind="inform",
            login="conversation",
            communicate=[WHEN],
        ),
        made(
            "price",
            "You want to know the price of the slot on 22 January at 14:30.",
            [SLOTS],
            [fact("slot.starts_at", "It is the slot on 22 January at 14:30.", "2025-01-22 14:30:00")],
            "Please tell me the price of the slot on 22 January at 14:30.",
            kind="inform",
            communicate=[PRICE],
        ),
    )


LATE = "2025-01-21 10:00:00"
BEN = {"CURRENT_DATE": NOW[:10], "LOGGED_IN_USER": "PAT-0002", "LOGGED_IN_NAME": "Ben Okoro"}
TRANSFER = {
    "tool": "transfer_to_human",
    "arguments": {"reason": "no_tool", "summary": "They want to cancel."},
    "grounding": {},
}


@cache
def kinds() -> tuple[Task, ...]:
    """What a rule of the agent or of the tool forbids, what no tool offered does, and what is left to be asked for."""
    return _late(), _no_reminder(), _no_tool(login="session"), _no_tool(login="conversation"), _why(), _when_to()


def _late() -> Task:
    """Too late to cancel, which only the policy says."""
    return made(
        "late",
        "You want to cancel your appointment with Dr Iyer because of illness.",
        [IDENTIFY, APPOINTMENTS, declined("R10")],
        [
            fact("appointment.dentist_name", "It is my appointment with Dr Iyer.", "Dr Iyer"),
            fact("cancel_appointment.reason", "Reason: illness.", "illness"),
            *ME,
        ],
        "Hello, I am ill. I'd like to cancel my appointment with Dr Iyer because of illness.",
        kind="refuse",
        login="conversation",
        now=LATE,
        criteria={
            "must_not": [{"rule": "R10", "table": "appointment", "why": "too late"}],
            "declined": {"rule": "R10"},
            "asked": with_id("cancel_appointment", "call 1 [0].appointment_id", reason=("illness", "user")),
        },
    )


def _no_reminder() -> Task:
    """Nothing to drop, as the tool says."""
    asked = {
        "tool": "drop_reminder",
        "arguments": {"appointment_id": "APT-0002"},
        "grounding": {"appointment_id": "call 0 [0].appointment_id"},
    }
    return made(
        "no_reminder",
        "You want to drop the reminder of your appointment.",
        [APPOINTMENTS, declined("R16")],
        [],
        "Please drop the reminder of my appointment.",
        kind="refuse",
        env_variables=BEN,
        criteria={
            "must_not": [{"rule": "R16", "table": "reminder", "why": "none"}],
            "declined": {"rule": "R16"},
            "asked": asked,
        },
    )


def _no_tool(login: str) -> Task:
    """Cancelling, where nothing that cancels is offered."""
    return made(
        f"no_tool_{login}",
        "You want to cancel your appointment with Dr Iyer because of illness.",
        [*([IDENTIFY] if login == "conversation" else []), TRANSFER],
        [fact("appointment.dentist_name", "It is my appointment with Dr Iyer.", "Dr Iyer"), *ME],
        "Hello, I am ill. I'd like to cancel my appointment with Dr Iyer because of illness.",
        kind="unavailable",
        login=login,
        tools_hidden=["cancel_appointment"],
        criteria={"asked": with_id("cancel_appointment", "user"), "beyond": {"appointment": ["status"]}},
    )


def _why() -> Task:
    """A value is left out."""
    return made(
        "why",
        "You want to cancel your appointment with Dr Iyer because of illness.",
        [APPOINTMENTS, with_id("cancel_appointment", "call 0 [0].appointment_id", reason=("illness", "user"))],
        [
            fact("cancel_appointment.reason", "Reason: illness.", "illness", "asked"),
            fact("appointment.dentist_name", "It is my appointment with Dr Iyer.", "Dr Iyer"),
        ],
        "I'd like to cancel my appointment with Dr Iyer, please.",
        kind="clarify",
        criteria={"must_ask": [{"facts": ["cancel_appointment.reason"], "tool": "cancel_appointment"}]},
    )


def _when_to() -> Task:
    """The words for a row are left out."""
    return made(
        "when_to",
        "You want to book the slot on 22 January at 14:30 with Dr Iyer.",
        [IDENTIFY, SLOTS, with_slot("call 1 [2].slot_id")],
        [
            fact("slot.starts_at", "It is the slot on 22 January at 14:30.", "2025-01-22 14:30:00", "asked"),
            fact("slot.dentist_name", "It is the slot with Dr Iyer.", "Dr Iyer", "asked"),
            *ME,
        ],
        "Good morning. I'd like to book a slot.",
        kind="clarify",
        login="conversation",
        criteria={"must_ask": [{"facts": ["slot.starts_at", "slot.dentist_name"], "tool": "book_appointment"}]},
    )


def declined(rule: str) -> dict[str, Any]:
    """The golden call that records what is declined."""
    return {"tool": "decline_request", "arguments": {"rule": rule}, "grounding": {"rule": f"policy {rule}"}}


def with_slot(source: str) -> dict[str, Any]:
    """The golden call that books the slot on 22 January at 14:30."""
    return {"tool": "book_appointment", "arguments": {"slot_id": "SLO-0004"}, "grounding": {"slot_id": source}}


def made(
    name: str,
    goal: str,
    golden: list[dict[str, Any]],
    facts: list[dict[str, Any]],
    opening: str,
    *,
    kind: str = "do",
    login: str = "session",
    communicate: Sequence[dict[str, Any]] = (),
    **changes: Any,
) -> Task:
    """A task of Ana's, its end state taken from a replay."""
    known = ("PAT-0001", "Ana Lopez") if login == "session" else (None, None)
    env = {"CURRENT_DATE": NOW[:10], "LOGGED_IN_USER": known[0], "LOGGED_IN_NAME": known[1]}
    setting: dict[str, Any] = {
        "id": f"SmallClinic-{name}",
        "kind": kind,
        "login": login,
        "env_variables": env,
        "messages": [{"role": "user", "content": opening}],
        "scenario": {"goal": goal, "reason": "", "facts": facts},
        "persona": {"name": "Ana Lopez", "age": 43, "style": "friendly", "patience": 8},
        "golden": golden,
        **changes,
    }
    basis = ["state", *(["communicate"] if communicate else []), "policy"]
    criteria = {"communicate": list(communicate), "reward_basis": basis, **changes.get("criteria", {})}
    state = replay(WORLD, a_task(**{**setting, "criteria": {"state": [], "reward_basis": ["state"]}})).changes
    return a_task(**{**setting, "criteria": {"state": state, **criteria}})


def a_dataset(folder: Path, records: Sequence[Task] | None = None) -> Dataset:
    """The folder of a run that holds these tasks."""
    blueprint = a_blueprint()
    for name in ("database", "policies", "queries"):
        (folder / name).mkdir(parents=True)
    (folder / "blueprints.json").write_text(json.dumps([blueprint.model_dump(mode="json")]), "utf-8")
    (folder / "policies" / "SmallClinic.md").write_text(POLICY, "utf-8")
    filled = database.create(blueprint)
    for entity in blueprint.tables:
        database.insert(filled, entity, ROWS.get(entity.name, []))
    database.save(filled, blueprint, folder / "database" / "SmallClinic.sqlite")
    with WORLD.session() as session:
        digest = session.digest()
    state = {"database": "database/SmallClinic.sqlite", "digest": digest}
    lines = [
        Task.model_validate({**task.model_dump(mode="json"), "initial_state": state}).model_dump_json()
        for task in records or tasks()
    ]
    (folder / "queries" / "SmallClinic.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return Dataset(folder)


def held(
    dataset: Dataset, agent: Backend, user: Backend, *, seed: int = 1, personas: int = 1, trials: int = 1
) -> list[TrajectoryRecord]:
    """The trajectories of all tasks of a dataset, by id."""
    source = WorldTasks(dataset, opener=ContractOpener(dataset), user=user, seed=seed, personas=personas)
    setting = RolloutSettings(backend=agent)
    found: list[TrajectoryRecord] = []

    def finished(trajectory: Trajectory) -> None:
        assert trajectory.result is not None
        found.append(trajectory.result)

    drawn = (
        Trajectory(source.task(id, trial), trial, seed, setting)
        for id in source.ids()
        for trial in range(max(personas, trials))
    )
    asyncio.run(PipelinedDispatcher(Width(2, 4, 2)).dispatch(drawn, finished))
    return sorted(found, key=lambda record: record.id)


def a_user(*, agrees: bool = True) -> Backend:
    """The offline user, or one that agrees to nothing."""

    def answer(request: Request) -> str:
        role, heard = request.variables["role"], heard_by(request.messages)
        assert isinstance(role, UserRole)
        said = reply(role, heard, Random(request.key))
        if said.agrees and not agrees:
            said = said.model_copy(update={"text": "No, please don't.", "agrees": False})
        return said.written

    return OfflineBackend(answer, "user")


def said_by(record: TrajectoryRecord, role: str) -> list[str]:
    """What one side said."""
    return [message.content or "" for message in record.messages if message.role == role and message.content]


def called(record: TrajectoryRecord) -> list[str]:
    """Names of the tools called."""
    return [call.function.name for message in record.messages for call in message.tool_calls or []]


def passed(record: TrajectoryRecord) -> bool | None:
    """Whether it scored 1."""
    assert record.error is None, record.error
    return record.score.passed if record.score else None
