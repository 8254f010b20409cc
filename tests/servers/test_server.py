"""A generated server, as any MCP client meets it."""

import asyncio
import json
import signal
import socket
import sqlite3
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

from skillweave.schema.contract import DECLINE, TRANSFER
from skillweave.schema.record import Json
from tests.servers.served import a_task, serve_from
from tests.servers.wire import INITIALIZE, conversation, listening
from tests.tool_form import faults_of_schema
from tests.waiting import HANG
from tests.world.clinic import a_world


def over_stdio(server: Path, *options: str) -> Client:
    return Client(stdio_client(StdioServerParameters(command=sys.executable, args=[str(server), *options], cwd="/")))


@contextmanager
def over_http(server: Path, *options: str) -> Iterator[str]:
    with listening(server, *options) as (process, port):
        yield f"http://127.0.0.1:{port}/mcp"
        process.terminate()
        process.communicate(timeout=HANG)


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


def test_null_is_accepted_for_an_optional_argument_and_not_advertised(tmp_path: Path) -> None:
    server = serve_from(tmp_path / "outputs", a_world())

    async def use() -> None:
        async with over_stdio(server, "--caller", "PAT-0001") as client:
            for tool in (await client.list_tools()).tools:
                assert faults_of_schema(tool.name, tool.input_schema) == []
            slots = await told(client, "find_slots")
            assert slots[0]
            assert await told(client, "find_slots", date=None) == slots
            done, answer = await told(client, "book_appointment", slot_id=None)
            assert (done, answer["error"]["message"]) == (False, "missing argument 'slot_id'")
            done, answer = await told(client, "book_appointment", slot_id="SLO-0001", room="B")
            assert (done, answer["error"]["code"]) == (False, "invalid_arguments")

    asyncio.run(use())


def test_a_request_is_declined_before_anybody_signs_in_and_not_after_a_transfer(tmp_path: Path) -> None:
    server = serve_from(tmp_path / "outputs", a_world())

    async def use() -> None:
        async with over_stdio(server) as client:
            assert await told(client, DECLINE, rule="R2") == (True, {"status": "recorded"})
            done, answer = await told(client, DECLINE, rule="R99")
            assert (done, answer["error"]["code"]) == (False, "invalid_arguments")
            assert (await told(client, TRANSFER, reason="policy", rule="R2", summary=""))[0]
            assert (await told(client, DECLINE, rule="R2"))[1]["error"]["code"] == "session_ended"

    asyncio.run(use())


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


def test_a_dump_that_fails_at_the_end_is_one_line_and_exit_1(tmp_path: Path) -> None:
    server = serve_from(tmp_path / "outputs", a_world())
    dump = tmp_path / "gone" / "end.sqlite"
    dump.parent.mkdir()
    with conversation(server, "--dump", str(dump)) as (process, ask):
        ask(INITIALIZE)
        dump.parent.rmdir()
        _, told = process.communicate(timeout=HANG)
    assert process.returncode == 1
    assert "the end state of session 1 could not be written" in told
    assert "Traceback" not in told


def a_call(arguments: str, name: str = "list_fees") -> str:
    params = f'{{"name": "{name}", "arguments": {{"id": 9, "x": {arguments}}}}}'
    return f'{{"jsonrpc": "2.0", "method": "tools/call", "params": {params}, "id": 7}}'


def test_what_cannot_be_parsed_is_answered_and_the_session_goes_on(tmp_path: Path) -> None:
    server = serve_from(tmp_path / "outputs", a_world())
    with conversation(server, "--caller", "PAT-0001") as (_, ask):
        ask(INITIALIZE)
        for arguments in ('"\\ud800"', "9" * 6000, "[" * 3000 + "]" * 3000):
            answer = ask(a_call(arguments))
            assert (answer["id"], answer["error"]["code"]) == (7, -32700)
        for line, found, code in (
            ("{", None, -32700),
            ('{"id": "seven", ', "seven", -32700),
            ('[{"id": 7}', None, -32700),
            ('{"id": 7}', 7, -32600),
            ("[]", None, -32600),
        ):
            answer = ask(line)
            assert (answer["id"], answer["error"]["code"]) == (found, code)
        done = ask('{"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "list_fees"}}')
        assert (done["id"], done["result"]["isError"]) == (8, False)


def test_a_terminated_server_over_stdio_still_dumps(tmp_path: Path) -> None:
    server = serve_from(tmp_path / "outputs", a_world())
    dump = tmp_path / "end.sqlite"
    with conversation(server, "--dump", str(dump)) as (process, ask):
        ask(INITIALIZE)
        process.terminate()
        assert process.wait(timeout=HANG) == 128 + signal.SIGTERM
    assert rows(dump, "SELECT COUNT(*) FROM appointment") == [(2,)]


def test_a_terminated_server_over_http_ends_soon_and_dumps_every_session(tmp_path: Path) -> None:
    server = serve_from(tmp_path / "outputs", a_world())
    dump = tmp_path / "end.sqlite"
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with listening(server, "--dump", str(dump)) as (process, port):
        for _ in range(2):
            request = urllib.request.Request(f"http://127.0.0.1:{port}/mcp", INITIALIZE.encode(), headers)
            with urllib.request.urlopen(request, timeout=HANG) as response:
                assert response.headers["mcp-session-id"]
        with (
            socket.create_connection(("127.0.0.1", port)) as half,
            socket.create_connection(("127.0.0.1", port)) as bare,
        ):
            sent = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            half.sendall(f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{sent}Content-Length: 99\r\n\r\n{{".encode())
            bare.sendall(b"POST /mcp HT")
            time.sleep(0.3)
            process.terminate()
            assert process.wait(timeout=HANG) == 128 + signal.SIGTERM
    for end in (dump, dump.with_name("end-2.sqlite")):
        assert rows(end, "SELECT COUNT(*) FROM appointment") == [(2,)]


def test_the_runtime_knows_nothing_of_the_project(tmp_path: Path) -> None:
    server = serve_from(tmp_path / "outputs", a_world())
    for file in server.parent.glob("*.py"):
        text = file.read_text("utf-8")
        assert "skillweave" not in text
        assert "blueprint" not in text
        assert len(text.splitlines()) < 300 or not file.name.startswith("_")
