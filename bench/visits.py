"""Requests of the group practice's patients: 50 tasks of five sorts, written as a dataset."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from bench.practice import AREAS, SERVER, TITLE
from evaluator.replay.execution import Execution, execute_golden
from evaluator.scoring.selftest import trajectory_line, variants_of
from skillweave.schema.criteria import FactToTell, GoldenCall
from skillweave.schema.record import Json, Row
from skillweave.schema.task import Task
from skillweave.world import database
from skillweave.world.world import World
from tests.evaluator.tasks import a_task
from tests.world.clinic import NOW

TASKS = 50
TRIALS = 9
"""Conversations about each task."""
POLICY = f"policies/{SERVER}.md"
TOOL_LIST = f"tool_lists/{SERVER}.json"


class VisitRequest(NamedTuple):
    """A patient's request, before it becomes a task."""

    says: str
    """The first message."""
    facts: dict[str, Json]
    """What else the patient knows."""
    golden: list[GoldenCall]
    told: FactToTell | None = None
    """The fact that the patient asks for."""


Patient = dict[str, Any]
"""A row of the patient table, with `email`, `date_of_birth`, ..."""


def visits(world: World, seed: int) -> list[Task]:
    """Make the tasks. The sorts take turns; every second patient is signed in from the start."""
    with world.session() as session:
        patients = [row for row in session.rows("patient") if int(str(row["patient_id"])[-4:]) % 2]
        digest = session.digest()
    random = Random(seed)
    left = random.sample(patients, len(patients))
    tasks: list[Task] = []
    for number in range(TASKS):
        requests = ((patient, _SORTS[number % len(_SORTS)](world, patient, random)) for patient in left)
        patient, request = next((patient, request) for patient, request in requests if request is not None)
        left.remove(patient)
        tasks.append(_task(world, number, patient, request, digest))
    return tasks


def write_dataset(world: World, tasks: list[Task], outputs: Path) -> None:
    """Write the files of a dataset, as the pipeline writes them, into the folder `outputs`."""
    for folder in ("queries", "database", "policies", "tool_lists"):
        (outputs / folder).mkdir(parents=True)
    blueprint = world.blueprint
    (outputs / "blueprints.json").write_text(json.dumps([blueprint.model_dump(mode="json")]), "utf-8")
    lines = "".join(f"{task.model_dump_json()}\n" for task in tasks)
    (outputs / "queries" / f"{SERVER}.jsonl").write_text(lines, "utf-8")
    (outputs / TOOL_LIST).write_text(json.dumps(world.tools), "utf-8")
    (outputs / POLICY).write_text(policy_of(world), "utf-8")
    connection = database.load(world.content, blueprint)
    database.save(connection, blueprint, outputs / "database" / f"{SERVER}.sqlite")
    connection.close()


def write_rollouts(world: World, tasks: Sequence[Task], folder: Path, size: int | None = None) -> None:
    """Write trajectories of the tasks, nine a task, of which about two thirds pass, as a rollout would.

    Args:
        world: The practice.
        tasks: Its tasks.
        folder: Where to write; it is made.
        size: How many; beyond nine a task the conversations repeat under other ids. None: each once.
    """
    lines = [line for task in tasks for line in _lines(world, task)]
    folder.mkdir(exist_ok=True)
    with (folder / f"{SERVER}.jsonl").open("w", encoding="utf-8") as stream:
        for number in range(size or len(lines)):
            again, place = divmod(number, len(lines))
            task, trial = divmod(place, TRIALS)
            ids = {"id": f"{tasks[task].id}#{trial + again * TRIALS}", "trial": trial + again * TRIALS}
            stream.write(f"{json.dumps(ids)[:-1]}, {lines[place]}\n")


def _lines(world: World, task: Task) -> Iterator[str]:
    """The rest of each trial's line, after its ids: variants of the golden conversation."""
    variants = list(variants_of(world, task))
    passing, failing = ([variant for variant in variants if variant.passes is passes] for passes in (True, False))
    system = {"role": "system", "content": policy_of(world)}
    for trial in range(TRIALS):
        chosen = failing if trial % 3 == 2 else passing
        line = json.loads(trajectory_line(task, trial, chosen[trial % len(chosen)]))
        rest = {name: value for name, value in line.items() if name not in ("id", "trial")}
        yield json.dumps({**rest, "messages": [system, *line["messages"]], "tools": world.tools})[1:]


def policy_of(world: World) -> str:
    """A policy of usual length: general words, and every rule under its tool."""
    general = "Say what the tools tell you, ask where you do not know, be kind. " * 16
    parts = [f"# Working for {TITLE}\n", *[general] * 8]
    for tool in world.blueprint.tools:
        parts.append(f"## {tool.name}\n\n{tool.description}")
        parts += [f"- [{guard.rule}] {guard.says}" for guard in tool.guards]
        parts += [f"- [{effect.rule}] {effect.says}" for effect in tool.effects]
    return "\n".join(parts)


def golden_calls(world: World, caller: str | None, calls: list[GoldenCall]) -> Execution:
    """Execute the calls in a fresh session, in which `caller` is signed in."""
    with world.session(caller=caller) as session:
        return execute_golden(session, calls)


def _task(world: World, number: int, patient: Patient, request: VisitRequest, digest: str) -> Task:
    signed_in = number % 2 == 0
    golden = request.golden if signed_in else [_identify(patient), *map(_one_later, request.golden)]
    known = {"email": patient["email"], "date_of_birth": patient["date_of_birth"], **request.facts}
    execution = golden_calls(world, patient["patient_id"] if signed_in else None, golden)
    assert all(step.ok for step in execution.calls), execution
    told = [request.told] if request.told else []
    return a_task(
        id=f"{SERVER}-{number:08}",
        domains=[SERVER],
        world=SERVER,
        kind="do" if execution.changes else "inform",
        login="session" if signed_in else "conversation",
        messages=[{"role": "user", "content": request.says}],
        user_system_prompt=f"You are {patient['full_name']}, and you are writing to {TITLE}. {request.says}",
        persona={"name": patient["full_name"], "age": 40, "style": "brief", "patience": 5},
        scenario={
            "goal": request.says,
            "reason": "I am planning my month.",
            "facts": [
                {"id": f"fact.{name}", "text": f"The {name} is {value}.", "value": value, "tell": "asked"}
                for name, value in known.items()
            ],
        },
        env_variables={
            "CURRENT_DATE": NOW[:10],
            "LOGGED_IN_USER": patient["patient_id"] if signed_in else None,
            "LOGGED_IN_NAME": patient["full_name"] if signed_in else None,
        },
        tools=TOOL_LIST,
        policy=POLICY,
        initial_state={"database": f"database/{SERVER}.sqlite", "digest": digest},
        golden=golden,
        criteria={
            "state": execution.changes,
            "communicate": told,
            "reward_basis": ["state", *(["communicate"] if told else []), "policy"],
        },
        difficulty={"calls": len(golden), "writes": len(request.golden), "domains": 1, "facts": len(known)},
    )


def _identify(patient: Patient) -> GoldenCall:
    return _call("identify_patient", email=(patient["email"], "user"), date_of_birth=(patient["date_of_birth"], "user"))


def _one_later(call: GoldenCall) -> GoldenCall:
    """The same call with one more call before it."""
    moved = {
        name: f"call {int(source.split()[1]) + 1} {source.split()[2]}" if source.startswith("call ") else source
        for name, source in call.grounding.items()
    }
    return call.model_copy(update={"grounding": moved})


def _call(tool: str, /, **arguments: tuple[Json, str]) -> GoldenCall:
    """A golden call; each argument is given with its source."""
    return GoldenCall(
        tool=tool,
        arguments={name: value for name, (value, _) in arguments.items()},
        grounding={name: source for name, (_, source) in arguments.items()},
    )


def _rows(world: World, patient: Patient, tool: str, /, **arguments: Json) -> list[Row]:
    with world.session(caller=patient["patient_id"]) as session:
        value = session.call(tool, arguments).value
    assert isinstance(value, list)
    return [row for row in value if isinstance(row, dict)]  # type: ignore[misc]


def _appointment(world: World, patient: Patient) -> Row:
    return next(row for row in _rows(world, patient, "list_appointments", status="scheduled"))


def _price(noun: str, cents: Json, rivals: set[Json]) -> FactToTell:
    others = sorted(rivals - {cents}, key=str)[:20]
    return FactToTell(fact="told_1", noun=noun, values=[cents], type="integer", unit="cents", rivals=others)


def _books(world: World, patient: Patient, random: Random) -> VisitRequest | None:
    """Book an appointment and ask for its price."""
    free = _rows(world, patient, "find_slots")
    day = str(random.choice(free)["starts_at"])[:10]
    slots = _rows(world, patient, "find_slots", date=day)
    place = random.randrange(len(slots))
    slot = slots[place]
    golden = [
        _call("find_slots", date=(day, "user")),
        _call("book_appointment", slot_id=(slot["slot_id"], f"call 0 [{place}].slot_id")),
    ]
    says = f"Please book me in on {day} at {str(slot['starts_at'])[11:16]}, and tell me the price."
    told = _price("price", slot["price_cents"], {other["price_cents"] for other in slots})
    return VisitRequest(says, {"time": str(slot["starts_at"])[11:16]}, golden, told)


def _cancels(world: World, patient: Patient, random: Random) -> VisitRequest | None:
    """Cancel an appointment so soon before it that a fee is due; None if no fee is due."""
    row = _appointment(world, patient)
    golden = [
        _call("list_appointments", status=("scheduled", "user")),
        _call(
            "cancel_appointment",
            appointment_id=(row["appointment_id"], "call 0 [0].appointment_id"),
            reason=("travel", "user"),
        ),
    ]
    result = golden_calls(world, patient["patient_id"], golden).calls[-1].result
    fee = result.value.get("fee_cents") if isinstance(result.value, dict) else None
    if fee is None or result.violations:
        return None
    says = f"I cannot come on {str(row['starts_at'])[:10]}, I am travelling. Cancel it, and tell me the fee."
    told = _price("cancellation fee", fee, set())
    return VisitRequest(says, {"reason": random.choice(["a journey", "a trip"])}, golden, told)


def _moves(world: World, patient: Patient, random: Random) -> VisitRequest | None:
    """Move an appointment to another slot."""
    row = _appointment(world, patient)
    free = _rows(world, patient, "find_slots")
    place = random.randrange(len(free))
    golden = [
        _call("list_appointments", status=("scheduled", "user")),
        _call("find_slots"),
        _call(
            "move_appointment",
            appointment_id=(row["appointment_id"], "call 0 [0].appointment_id"),
            slot_id=(free[place]["slot_id"], f"call 1 [{place}].slot_id"),
        ),
    ]
    says = f"Move my appointment to {str(free[place]['starts_at'])[:16]}, please."
    return VisitRequest(says, {"dentist": free[place]["dentist_name"]}, golden)


def _asks(world: World, patient: Patient, random: Random) -> VisitRequest | None:
    """Ask for the price of a treatment, and request a refill."""
    area = random.choice(AREAS)
    treatments = _rows(world, patient, "list_treatments", area=area)
    treatment = random.choice(treatments)
    prescription = random.choice(rows := _rows(world, patient, "list_prescriptions"))
    place = rows.index(prescription)
    refill = _call(
        "request_refill",
        prescription_id=(prescription["prescription_id"], f"call 1 [{place}].prescription_id"),
        pickup=("post", "user"),
    )
    golden = [_call("list_treatments", area=(area, "user")), _call("list_prescriptions"), refill]
    says = f"What is the price of {treatment['treatment_name']}? And send me my {prescription['medicine']} by post."
    told = _price("price", treatment["price_cents"], {other["price_cents"] for other in treatments})
    return VisitRequest(says, {"area": area}, golden, told)


def _pays_and_cancels(world: World, patient: Patient, random: Random) -> VisitRequest | None:
    """Pay a fee and cancel an appointment far ahead: two writes. None if the appointment is too near."""
    rows, fees = _rows(world, patient, "list_appointments"), _rows(world, patient, "list_fees")
    at = next(at for at, row in enumerate(rows) if row["status"] == "scheduled")
    place = next(place for place, fee in enumerate(fees) if not fee["is_paid"])
    if str(rows[at]["starts_at"]) < "2025-01-24":
        return None
    golden = [
        _call("list_fees"),
        _call("list_appointments"),
        _call(
            "pay_fee",
            fee_id=(fees[place]["fee_id"], f"call 0 [{place}].fee_id"),
            amount_cents=(fees[place]["amount_cents"], f"call 0 [{place}].amount_cents"),
        ),
        _call(
            "cancel_appointment",
            appointment_id=(rows[at]["appointment_id"], f"call 1 [{at}].appointment_id"),
            reason=("illness", "user"),
        ),
    ]
    says = "Pay the fee that I still owe, and cancel my next appointment, since I am ill."
    return VisitRequest(says, {"year": random.choice([2024, 2025])}, golden)


_SORTS: list[Callable[[World, Patient, Random], VisitRequest | None]] = [
    _books,
    _cancels,
    _moves,
    _asks,
    _pays_and_cancels,
]
