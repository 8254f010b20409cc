"""The server of a fused world over MCP: all its tools at one address, or each member's at its own over one state."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from skillweave.schema.contract import DECLINE, SESSION_TOOLS, TRANSFER
from tests.servers.fused import BOTH, FINED, NAME, ONLY_NORTH, serve_libraries
from tests.servers.test_server import over_stdio, told
from tests.servers.wire import listening
from tests.waiting import HANG, wait_until
from tests.world.clinic import a_world

NORTH, SOUTH = {"email": "p3@example.org"}, {"email": "p1@example.org"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return serve_libraries(tmp_path_factory.mktemp("libraries") / "outputs", (a_task(),))


def a_task() -> Any:
    patch = {
        "table": "North__Loan",
        "op": "update",
        "key": {"loan_id": "LOA-0030"},
        "before": None,
        "after": {"due_on": "2025-06-01"},
    }
    return {
        "id": f"{NAME}-1",
        "login": "session",
        "now": "2025-03-18 08:00:00",
        "env_variables": {"LOGGED_IN_USER": BOTH},
        "initial_state": {"database": f"database/{NAME}.sqlite", "patch": [patch]},
        "tools_hidden": ["south__mark_copy"],
    }


@contextmanager
def split(server: Path, *options: str) -> Iterator[str]:
    with listening(server, "--split", *options) as (process, port):
        yield f"http://127.0.0.1:{port}"
        process.terminate()
        process.communicate(timeout=HANG)


@asynccontextmanager
async def entered(address: str, state: str | None = None) -> AsyncIterator[Client]:
    headers = {} if state is None else {"Skillweave-Session": state}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=HANG) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        yield client


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


async def code(client: Client, tool: str, **arguments: Any) -> str:
    done, value = await told(client, tool, **arguments)
    return "done" if done else str(value["error"]["code"])


def test_each_member_offers_its_own_tools_and_one_address_all(server: Path) -> None:
    async def use(base: str) -> None:
        async with (
            entered(f"{base}/north/mcp") as north,
            entered(f"{base}/south/mcp") as south,
            entered(f"{base}/mcp") as whole,
        ):
            own = [await names(north), await names(south)]
            assert [name for name in own[0] if not name.startswith("north__")] == [DECLINE, TRANSFER]
            assert [name for name in own[1] if not name.startswith("south__")] == [DECLINE, TRANSFER]
            assert await names(whole) == [*own[0][:-2], *own[1]]
            done, answer = await told(north, "south__list_loans")
            assert (done, answer["error"]["code"]) == (False, "unknown_tool")
            assert "north__list_loans" in answer["error"]["message"]
            assert "south__list_loans, " not in answer["error"]["message"]

    with split(server) as base:
        asyncio.run(use(base))


def test_clients_of_one_name_share_state_and_sign_in_and_others_do_not(server: Path) -> None:
    async def use(base: str) -> None:
        async with (
            entered(f"{base}/north/mcp", "a") as north,
            entered(f"{base}/south/mcp", "a") as south,
            entered(f"{base}/south/mcp", "b") as other,
            entered(f"{base}/south/mcp") as alone,
        ):
            assert (await told(north, "north__sign_in", **NORTH))[0]
            assert (await told(north, "north__change_phone", phone="+1 555"))[0]
            assert await code(south, "south__list_loans") == "done"
            assert [await code(client, "south__list_loans") for client in (other, alone)] == ["not_authenticated"] * 2
            for client, phone in ((south, "was +1 555"), (other, "was +44 300"), (alone, "was +44 300")):
                await told(client, "south__sign_in", **NORTH)
                assert (await told(client, "south__change_phone", phone="+2"))[1]["tier"] == phone
            assert await code(south, "south__sign_in", **SOUTH) == "already_authenticated"
            assert await code(south, TRANSFER, reason="policy", summary="") == "done"
            assert await code(north, "north__list_loans") == "session_ended"
            assert await code(other, "south__list_loans") == "done"

    with split(server) as base:
        asyncio.run(use(base))


def test_a_shared_state_is_dumped_once_when_the_last_client_has_left(server: Path, tmp_path: Path) -> None:
    dump = tmp_path / "end.sqlite"

    async def use(base: str) -> None:
        async with entered(f"{base}/north/mcp", "a") as north:
            async with entered(f"{base}/south/mcp", "a") as south:
                await told(north, "north__sign_in", **NORTH)
                assert (await told(south, "south__change_phone", phone="+2"))[0]
            assert not dump.exists()
            assert (await told(north, "north__change_phone", phone="+3"))[1]["tier"] == "was +2"
        await asyncio.to_thread(wait_until, lambda: dump.exists() and dump.stat().st_size)
        async with entered(f"{base}/north/mcp", "a") as again:
            assert await code(again, "north__list_loans") == "not_authenticated"

    with split(server, "--dump", str(dump)) as base:
        asyncio.run(use(base))
    ends = [dump, dump.with_name("end-2.sqlite")]
    assert [phone_of(end) for end in ends] == ["+3", "+44 300"]
    assert not dump.with_name("end-3.sqlite").exists()


def phone_of(path: Path) -> str:
    with sqlite3.connect(path) as connection:
        assert connection.execute(
            "SELECT COUNT(*) FROM sqlite_schema WHERE type IN ('view', 'trigger')"
        ).fetchone() == (0,)
        return str(connection.execute(f"SELECT phone FROM Person WHERE person_id = '{BOTH}'").fetchone()[0])


def test_a_state_of_another_world_is_told(server: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.sqlite"
    foreign.write_bytes(a_world().content)
    done = subprocess.run(
        [sys.executable, str(server), "--state", str(foreign)], capture_output=True, text=True, timeout=HANG
    )
    assert done.returncode == 2
    assert "the state is of another world: its table 'Person' lacks" in done.stderr


def test_an_empty_state_is_told(server: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.sqlite"
    empty.touch()
    done = subprocess.run(
        [sys.executable, str(server), "--state", str(empty)], capture_output=True, text=True, timeout=HANG
    )
    assert done.returncode == 2
    assert "the state is an empty file" in done.stderr


def test_over_stdio_one_member_can_be_offered_alone(server: Path) -> None:
    async def use() -> None:
        async with over_stdio(server, "--member", "south", "--caller", BOTH) as client:
            assert all(name.startswith("south__") or name in SESSION_TOOLS for name in await names(client))
            assert await code(client, "south__list_loans") == "done"
            assert await code(client, "north__list_loans") == "unknown_tool"

    asyncio.run(use())


def test_callers_are_persons_whom_a_member_may_not_know(server: Path) -> None:
    async def use() -> None:
        async with over_stdio(server, "--caller", ONLY_NORTH) as client:
            assert await code(client, "north__list_loans") == "done"
            assert (await told(client, "south__list_loans"))[1]["error"] == {
                "code": "no_account_here",
                "message": "The user has no account with The South Library.",
                "rule": None,
            }
        async with over_stdio(server, "--caller", FINED) as client:
            refused = (await told(client, "north__renew_loan", loan_id="LOA-0020"))[1]["error"]
            assert (refused["code"], refused["rule"]) == ("fined_in_the_south", "B1")

    asyncio.run(use())


def test_a_fused_task_sets_person_clock_rows_and_tools(server: Path) -> None:
    async def use() -> None:
        async with over_stdio(server, "--task", f"{NAME}-1") as client:
            offered = await names(client)
            assert not {"south__mark_copy", "north__sign_in", "south__sign_in"} & set(offered)
            loans = (await told(client, "north__list_loans"))[1]
            assert "2025-06-01" in [loan["due_on"] for loan in loans]
            assert await code(client, "south__list_loans") == "done"

    asyncio.run(use())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--split"], "--split needs --transport streamable-http"),
        (["--member", "west"], "choose from"),
        (["--split", "--member", "north"], "not allowed with"),
        (["--caller", "MEM-0001"], "nobody in this state"),
    ],
)
def test_what_cannot_be_split_ends_with_one_line(server: Path, options: list[str], said: str) -> None:
    done = subprocess.run([sys.executable, str(server), *options], capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
