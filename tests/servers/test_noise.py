"""Planted faults on a generated server: the same bytes as on the contract."""

import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any, get_args

from skillweave.schema.criteria import FaultKind
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.world.noise import FIELDS, INSTRUCTIONS
from skillweave.world.tools import result_text
from skillweave.world.world import World
from tests.evaluator.tasks import a_task
from tests.fusion.libraries import NOW
from tests.servers.fused import BOTH, ONLY_NORTH, serve_libraries, two_libraries
from tests.servers.served import serve_from
from tests.world.clinic import a_world

_ANSWERS = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
server = importlib.import_module(sys.argv[2]).server
for line in sys.stdin:
    task, calls = json.loads(line)
    session = server.session(server.task(task))
    for tool, arguments in calls:
        answer = session.call(tool, arguments)
        print(json.dumps(answer["value"] if answer["ok"] else {"error": answer["error"]}, ensure_ascii=False))
"""
Calls = list[tuple[str, dict[str, Any]]]
POOL: Calls = [
    ("find_slots", {}),
    ("find_slots", {"date": None}),
    ("find_slots", {"date": "2025-01-22"}),
    ("find_slots", {"x": 1}),
    ("list_appointments", {}),
    ("list_appointments", {"status": "scheduled"}),
    ("list_fees", {}),
    ("book_appointment", {"slot_id": "SLO-0001"}),
    ("book_appointment", {"slot_id": "SLO-0004", "note": "Grüße 🦷"}),
    ("cancel_appointment", {"appointment_id": "APT-0001"}),
    ("drop_reminder", {"appointment_id": "APT-0001"}),
    ("set_reminders", {"wanted": False}),
    ("set_reminders", {"wanted": True}),
    ("identify_patient", {"email": "ana@example.com", "date_of_birth": "1981-03-01"}),
    ("identify_patient", {"email": "ben@example.com", "date_of_birth": "1982-03-02"}),
    ("decline_request", {"rule": "R2"}),
    ("no_such_tool", {}),
]


def drawn(random: Random, pool: Calls) -> tuple[dict[str, Json], Calls]:
    """Noise, and calls of which many are befallen."""
    faults: list[Json] = [
        {
            "tool": tool,
            "arguments": random.choice([None, arguments]),
            "occurrence": random.choice([1, 1, 2, 3]),
            "fault": random.choice(get_args(FaultKind)),
        }
        for tool, arguments in random.choices(pool, k=6)
    ]
    favoured = random.sample(pool, 4)
    return {"seed": random.getrandbits(40), "faults": faults}, random.choices([*pool, *favoured * 6], k=14)


def server_answers(server: Path, talks: list[tuple[str, Calls]]) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-c", _ANSWERS, str(server.parent), server.stem],
        input="".join(json.dumps(talk) + "\n" for talk in talks),
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONUTF8": "1"},
    )
    return run.stdout.splitlines()


def contract_answers(world: World, task: Task, calls: Calls) -> list[str]:
    with world.session(task) as session:
        return [result_text(session.call(tool, arguments)) for tool, arguments in calls]


def as_lines(tasks: list[Task]) -> tuple[Json, ...]:
    return tuple(task.model_dump(mode="json") for task in tasks)


def test_both_engines_answer_the_same_bytes(tmp_path: Path) -> None:
    world, random = a_world(), Random("noise")
    tasks, talks = list[Task](), list[tuple[str, Calls]]()
    for number in range(60):
        noise, calls = drawn(random, POOL)
        login = "conversation" if number % 8 == 0 else "session"
        tasks.append(a_task(id=f"SmallClinic-{number}", login=login, noise=noise))
        talks.append((tasks[-1].id, [*POOL[-3:-2], *calls] if number % 8 == 0 else calls))
    server = serve_from(tmp_path / "outputs", world, as_lines(tasks))
    expected = [
        line for task, (_, calls) in zip(tasks, talks, strict=True) for line in contract_answers(world, task, calls)
    ]
    told = "\n".join(expected)
    assert all(sign in told for sign in ('"timeout"', '"temporarily_unavailable"', '"partial": true', *FIELDS))
    assert all(text in told for text in INSTRUCTIONS)
    assert server_answers(server, talks) == expected


def test_both_engines_answer_the_same_bytes_in_a_fused_world(tmp_path: Path) -> None:
    _, world = two_libraries()
    reads = [tool.name for tool in world.blueprint.tools if tool.kind == "read" and not tool.parameters]
    pool: Calls = [(name, {}) for name in reads] + [("north__change_phone", {"phone": "1"}), ("no_such_tool", {})]
    random = Random("fused noise")
    tasks, talks = list[Task](), list[tuple[str, Calls]]()
    for number in range(12):
        noise, calls = drawn(random, pool)
        env = {"CURRENT_DATE": NOW[:10], "LOGGED_IN_USER": (BOTH, ONLY_NORTH)[number % 2], "LOGGED_IN_NAME": "."}
        name = world.blueprint.server
        start = {"database": f"database/{name}.sqlite", "digest": ""}
        tasks.append(
            a_task(id=f"{name}-{number}", world=name, now=NOW, env_variables=env, noise=noise, initial_state=start)
        )
        talks.append((tasks[-1].id, calls))
    server = serve_libraries(tmp_path / "outputs", as_lines(tasks))
    expected = [
        line for task, (_, calls) in zip(tasks, talks, strict=True) for line in contract_answers(world, task, calls)
    ]
    assert "made again" in "\n".join(expected)
    assert server_answers(server, talks) == expected
