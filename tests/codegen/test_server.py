"""A generated server, as any MCP client meets it."""

import asyncio
import json
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

from skillweave.schema.record import Json
from tests.codegen.served import a_task, serve_from
from tests.world.clinic import a_world


def over_stdio(server: Path, *options: str) -> Client:
    return Client(stdio_client(StdioServerParameters(command=sys.executable, args=[str(server), *options], cwd="/")))


@contextmanager
def over_http(server: Path, *options: str) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(server), "--transport", "streamable-http", "--port", str(port), *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.communicate(timeout=20)


async def told(client: Client, tool: str, **arguments: Json) -> tuple[bool, Any]:
    result = await client.call_tool(tool, arguments)
    return not result.is_error, json.loads(result.content[0].text)  # type: ignore[union-attr]


def rows(path: Path, sql: str) -> list[Any]:
    with sqlite3.connect(path) as connection:
        return connection.execute(sql).fetchall()


def test_over_stdio_it_lists_calls_and_dumps(tmp_path: Path) -> None:
    world = a_world()
    server = serve_from(tmp_path / "outputs", world)
    dump = tmp_path / "end.sqlite"

    async def use() -> None:
        async with over_stdio(server, "--caller", "PAT-0001", "--dump", str(dump)) as client:
            offered = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
            expected = {str(tool["function"]["name"]): tool["function"]["parameters"] for tool in world.tools}  # type: ignore[index,call-overload]
            del expected["identify_patient"]
            assert offered == expected
            assert await told(client, "cancel_appointment", appointment_id="APT-0002") == (
                False,
                {
                    "error": {
                        "code": "not_your_appointment",
                        "message": "Patients may only touch their own appointments.",
                        "rule": "R2",
                    }
                },
            )
            done, value = await told(client, "book_appointment", slot_id="SLO-0001")
            assert done
            assert value["status"] == "scheduled"

    asyncio.run(use())
    assert rows(dump, "SELECT patient_id FROM appointment WHERE slot_id = 'SLO-0001'") == [("PAT-0001",)]
    assert rows(tmp_path / "outputs/database/SmallClinic.sqlite", "SELECT COUNT(*) FROM appointment") == [(2,)]


def test_over_http_each_session_has_its_own_state_and_dump(tmp_path: Path) -> None:
    server = serve_from(tmp_path / "outputs", a_world())
    dump = tmp_path / "end.sqlite"

    async def use(address: str) -> None:
        async with Client(address) as first, Client(address) as second:
            for client in (first, second):
                fact = {"email": "ana@example.com", "date_of_birth": "1981-03-01"}
                assert await told(client, "list_fees") == (
                    False,
                    {
                        "error": {
                            "code": "not_authenticated",
                            "message": "The user must be identified before this tool can be used.",
                            "rule": None,
                        }
                    },
                )
                assert (await told(client, "identify_patient", **fact))[0]
            assert (await told(first, "book_appointment", slot_id="SLO-0001"))[0]
            assert (await told(second, "book_appointment", slot_id="SLO-0001"))[0]
            assert (await told(second, "book_appointment", slot_id="SLO-0003"))[0]

    with over_http(server, "--dump", str(dump)) as address:
        asyncio.run(use(address))
    ends = [dump, dump.with_name("end-2.sqlite")]
    assert sorted(rows(end, "SELECT COUNT(*) FROM appointment")[0][0] for end in ends) == [3, 4]


def test_a_task_sets_clock_caller_rows_and_tools(tmp_path: Path) -> None:
    server = serve_from(tmp_path / "outputs", a_world(), (a_task(id="SmallClinic-0"), a_task()))

    async def use() -> None:
        async with over_stdio(server, "--task", "SmallClinic-1") as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "list_fees" not in names
            assert "identify_patient" not in names
            assert (await told(client, "book_appointment", slot_id="SLO-0001"))[1]["error"]["code"] == "slot_taken"
            assert (await told(client, "book_appointment", slot_id="SLO-0003"))[0]
            assert (await told(client, "list_appointments"))[1][-1]["slot_id"] in ("SLO-0003", "SLO-0005")

    asyncio.run(use())


def run(server: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(server), *options], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize(
    ("options", "task", "told"),
    [
        (["--task", "SmallClinic-9"], {}, "no task 'SmallClinic-9'"),
        (["--task", "SmallClinic-1", "--caller", "X"], {}, "leave out --state and --caller"),
        (["--task", "SmallClinic-1"], {"initial_state": {"database": "../../etc/passwd"}}, "outputs folder"),
        (
            ["--task", "SmallClinic-1"],
            {
                "initial_state": {
                    "database": "database/SmallClinic.sqlite",
                    "patch": [{"table": "slot; DROP TABLE fee", "op": "delete", "key": {"slot_id": "SLO-0001"}}],
                }
            },
            "not in the database",
        ),
        (["--state", "no-such-file"], {}, "cannot open SmallClinic"),
    ],
)
def test_wrong_options_and_hostile_tasks_end_with_one_line(
    tmp_path: Path, options: list[str], task: dict[str, Json], told: str
) -> None:
    server = serve_from(tmp_path / "outputs", a_world(), (a_task(**task),))
    done = run(server, *options)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_database_with_a_trigger_is_refused(tmp_path: Path) -> None:
    server = serve_from(tmp_path / "outputs", a_world())
    foreign = tmp_path / "foreign.sqlite"
    foreign.write_bytes(a_world().content)
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TRIGGER evil AFTER INSERT ON fee BEGIN DELETE FROM slot; END")
    done = run(server, "--state", str(foreign), "--now", "2025-01-20 09:00:00", "--caller", "PAT-0001")
    assert done.returncode == 2
    assert "'evil'" in done.stderr


def test_the_runtime_knows_nothing_of_the_project(tmp_path: Path) -> None:
    server = serve_from(tmp_path / "outputs", a_world())
    for file in server.parent.glob("*.py"):
        text = file.read_text("utf-8")
        assert "skillweave" not in text
        assert "blueprint" not in text
        assert len(text.splitlines()) < 300 or not file.name.startswith("_")
