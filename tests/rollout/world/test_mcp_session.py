"""Conversations on generated servers: the same as on the contract, and a broken server costs its own alone."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

import pytest

from rollout.task import RolloutError
from rollout.world.mcp_session import HeldServer, McpOpener
from rollout.world.source import ContractOpener, HeldContract
from skillweave.base.errors import WorldError
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.world.dataset import Dataset
from skillweave.world.noise import ERRORS
from synth.tasks.noise import with_planted_faults
from tests.commands import ran
from tests.rollout.offline_agents.clinic import WORLD, tasks
from tests.rollout.world.servers import PLANTED, a_served_dataset, an_opener, held_on, servers_left, starts
from tests.waiting import HANG, is_running, wait_until

ALL = ["cancel", "move", "both", "when", "price"]
BEFALLEN = ["move", "when"]
"""Tasks whose noisy forms have a call that fails for now."""
UNTOUCHED = "price"
"""A task whose golden calls are none of the planted tool."""
ODD: list[tuple[str, dict[str, Json]]] = [
    ("no_such_tool", {}),
    ("", {}),
    ("find_slots", {"x": 1}),
    ("book_appointment", {}),
    ("book_appointment", {"slot_id": 10**400}),
    ("book_appointment", {"slot_id": [[{"a": None}]]}),
    ("book_appointment", {"slot_id": "\x00 é 𝄞"}),
    ("cancel_appointment", {"appointment_id": "APT-0001", "reason": "boredom"}),
    ("transfer_to_human", {"reason": "nothing", "summary": "?"}),
]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return a_served_dataset(tmp_path_factory.mktemp("served") / "outputs")


@pytest.fixture(autouse=True)
def _leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def task_of(name: str) -> Task:
    return next(task for task in tasks() if task.id == f"SmallClinic-{name}")


def folders(tmp_path: Path) -> list[Path]:
    return sorted(tmp_path.glob("skillweave-mcp-*"))


async def opened(dataset: Dataset, name: str, **limits: float) -> tuple[HeldServer, HeldContract]:
    task = dataset.tasks[f"SmallClinic-{name}"]
    return await an_opener(dataset, **limits)(task), await ContractOpener(dataset)(task)


def test_golden_conversations_are_the_same_on_both_engines(dataset: Dataset) -> None:
    on_servers = held_on(dataset, McpOpener(dataset, at_work=1), ALL)
    in_process = held_on(dataset, ContractOpener(dataset), ALL)
    for name in ALL:
        assert on_servers[name].messages == in_process[name].messages
        assert on_servers[name].tools == in_process[name].tools
        assert on_servers[name].score == in_process[name].score
        assert on_servers[name].error is None
    assert servers_left() == []


def test_planted_faults_befall_a_call_once_on_either_engine(tmp_path: Path) -> None:
    made = {
        f"SmallClinic-{name}": with_planted_faults(WORLD, task_of(name), Random(f"SmallClinic-{name}/mcp"))
        for name in BEFALLEN
    }
    records = tuple(one.model_copy(update={"id": id}) for id, one in made.items())
    dataset = a_served_dataset(tmp_path / "outputs", records=records)
    on_servers = held_on(dataset, McpOpener(dataset, at_work=1), BEFALLEN)
    in_process = held_on(dataset, ContractOpener(dataset), BEFALLEN)
    for name in BEFALLEN:
        assert on_servers[name].error is None
        assert on_servers[name].messages == in_process[name].messages
        assert on_servers[name].score == in_process[name].score
    failed = sum(int(str(one.metadata["tool_error_count"])) for one in on_servers.values())
    assert failed == sum(call.fault in ERRORS for one in records for call in one.golden) > 0


def test_odd_calls_are_answered_alike_and_the_session_goes_on(dataset: Dataset, tmp_path: Path) -> None:
    async def talk() -> None:
        server, contract = await opened(dataset, "both")
        for tool, arguments in ODD:
            assert await server.call(tool, arguments) == await contract.call(tool, arguments)
        deep: Json = None
        for _ in range(5000):
            deep = [deep]
        assert not (await server.call("find_slots", {"x": deep})).ok
        assert not (await server.call("find_slots", {"x": float("nan"), "y": "\ud800"})).ok
        for rule in ("R10", "R99", 7):
            arguments = {"rule": rule}
            assert await server.call("decline_request", arguments) == await contract.call("decline_request", arguments)
        transfer: dict[str, Json] = {"reason": "user_request", "summary": "a human, please"}
        answer = await server.call("transfer_to_human", transfer)
        assert answer.ends == "transfer"
        assert not (await server.call("find_slots", {})).ok
        with await server.finish() as session:
            assert session.transfer == transfer
            assert session.declined == ["R10"]
            assert session.diff() == []
        await contract.close()

    asyncio.run(talk())
    assert folders(tmp_path) == []


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("time.sleep(9999)", "did not answer a call of 'list_appointments' within 2 seconds"),
        ("print('no more', file=sys.stderr); os._exit(3)", "exited with status 3; the last that it said: no more"),
        ("os.write(wire, b'Hello there\\n'); time.sleep(9999)", "wrote 'Hello there\\n', which is no message"),
        ("while True: os.write(wire, b'x' * 65536)", "wrote a line of more than"),
        (
            'while True: os.write(wire, b\'{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}\\n\')',
            "sent more than 1000 messages for one",
        ),
    ],
    ids=["hangs", "exits", "prints", "floods", "floods with messages"],
)
def test_a_broken_server_costs_its_own_trajectory_one_retry_and_then_that(tmp_path: Path, code: str, says: str) -> None:
    dataset = a_served_dataset(tmp_path / "outputs", in_call=code)
    found = held_on(dataset, an_opener(dataset, call_timeout_s=2 if "within" in says else HANG), ["move", UNTOUCHED])
    error = found["move"].error
    assert error is not None
    assert error.kind == "infrastructure"
    assert says in error.message
    assert found["move"].score is None
    assert found[UNTOUCHED].error is None
    assert found[UNTOUCHED].score is not None
    assert starts(dataset) == ["SmallClinic-move", "SmallClinic-move", f"SmallClinic-{UNTOUCHED}"]
    assert servers_left() == []
    assert folders(tmp_path) == []


def test_a_server_that_fails_once_is_forgiven(tmp_path: Path) -> None:
    once = "mark = os.path.join(here, 'failed')\n        if not os.path.exists(mark): open(mark, 'w'); os._exit(1)"
    dataset = a_served_dataset(tmp_path / "outputs", in_call=once)
    found = held_on(dataset, an_opener(dataset), ["move"])["move"]
    assert found.error is None
    assert found.score is not None
    assert len(starts(dataset)) == 2


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("return {'ok': True, 'value': []}", "call 2, 'list_appointments', was answered '[]'"),
        ("self.connection.execute('DELETE FROM appointment WHERE patient_id <> \"PAT-0001\"')", "end states are not"),
        ("self.connection.execute('CREATE VIEW v AS SELECT 1')", "holds the view 'v'"),
    ],
    ids=["answers", "changes", "adds a view"],
)
def test_a_server_that_differs_from_its_contract_is_a_defect_of_the_world(tmp_path: Path, code: str, says: str) -> None:
    dataset = a_served_dataset(tmp_path / "outputs", in_call=code)
    error = held_on(dataset, an_opener(dataset), ["when"])["when"].error
    assert error is not None
    assert error.kind == "world"
    assert says in error.message


def test_other_tools_than_the_contracts_are_a_defect_of_the_world(tmp_path: Path) -> None:
    dataset = a_served_dataset(tmp_path / "outputs")
    path = tmp_path / "outputs/mcp_servers/SmallClinic.py"
    path.write_text(path.read_text("utf-8").replace("def find_slots(", "def find_slot("), "utf-8")
    with pytest.raises(WorldError, match="does not offer 'find_slot' as its contract does"):
        asyncio.run(opened(dataset, "price"))
    assert servers_left() == []
    done = ran("rollout", "run", "--outputs-dir", str(dataset.store.root), "--engine", "mcp", place=tmp_path)
    complaint = done.stderr.splitlines()
    assert (done.returncode, len(complaint)) == (1, 1)
    assert "'find_slot'" in complaint[0]
    assert complaint[0].endswith(f"python -m synth run --outputs-dir {dataset.store.root}")
    assert "conversations of" not in done.stdout


def test_a_server_of_an_older_dataset_is_talked_to(tmp_path: Path) -> None:
    dataset = a_served_dataset(tmp_path / "outputs")
    runtime = tmp_path / "outputs/mcp_servers"
    for name, new, old in [
        ("_session.py", '"required": required}', '"required": required, "additionalProperties": False}'),
        ("_arguments.py", '{"type": kind,', '{"type": kind if self.required else [kind, "null"],'),
        ("_arguments.py", '"enum"] = self.enum', '"enum"] = self.enum if self.required else [*self.enum, None]'),
    ]:
        text = (runtime / name).read_text("utf-8")
        assert new in text
        (runtime / name).write_text(text.replace(new, old), "utf-8")
    assert held_on(dataset, an_opener(dataset), ["when"])["when"].error is None


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("raise SystemExit('out of order')", "exited with status 1; the last that it said: out of order"),
        ("time.sleep(9999)", "did not start within 1 seconds"),
    ],
)
def test_a_server_that_does_not_start_is_infrastructure(tmp_path: Path, code: str, says: str) -> None:
    dataset = a_served_dataset(tmp_path / "outputs", at_start=code)
    with pytest.raises(RolloutError, match=says) as caught:
        asyncio.run(opened(dataset, "price", open_timeout_s=1.0 if "within" in says else 60.0))
    assert caught.value.kind == "infrastructure"
    assert servers_left() == []
    assert folders(tmp_path) == []


def test_a_world_without_a_server_is_a_defect_of_the_world(tmp_path: Path) -> None:
    dataset = a_served_dataset(tmp_path / "outputs")
    (tmp_path / "outputs/mcp_servers/SmallClinic.py").unlink()
    with pytest.raises(WorldError, match="no server to run on"):
        asyncio.run(opened(dataset, "price"))


def test_a_session_that_is_given_up_leaves_nothing_even_in_a_call(tmp_path: Path) -> None:
    dataset = a_served_dataset(tmp_path / "outputs", in_call="time.sleep(9999)")

    async def give_up() -> None:
        server, contract = await opened(dataset, "when")
        await contract.close()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await server.call(PLANTED, {})
        await server.close()
        await server.close()

    asyncio.run(give_up())
    assert servers_left() == []
    assert folders(tmp_path) == []


def test_a_server_sees_nothing_of_our_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a secret")
    seen = "raise SystemExit(' '.join(sorted(os.environ)))"
    dataset = a_served_dataset(tmp_path / "outputs", at_start=seen)
    with pytest.raises(RolloutError) as caught:
        asyncio.run(opened(dataset, "price"))
    assert "HOME" in str(caught.value)
    assert "OPENAI_API_KEY" not in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
def test_a_server_that_hangs_dies_with_us(tmp_path: Path) -> None:
    a_served_dataset(tmp_path / "outputs", at_start="print(os.getpid(), file=sys.stderr, flush=True); time.sleep(9999)")
    program = (
        "import asyncio, sys; from pathlib import Path; from skillweave.world.dataset import Dataset\n"
        "from rollout.world.mcp_session import McpOpener; dataset = Dataset(Path(sys.argv[1]))\n"
        "asyncio.run(McpOpener(dataset)(dataset.tasks['SmallClinic-price']))"
    )
    root = Path(__file__).parents[3]
    ours = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "outputs")],
        cwd=root,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    try:
        wait_until(lambda: any(path.read_text().endswith("\n") for path in tmp_path.glob("*/stderr.txt")))
        (server,) = [int(path.read_text()) for path in tmp_path.glob("*/stderr.txt")]
    finally:
        ours.send_signal(signal.SIGKILL)
        ours.wait(HANG)
    wait_until(lambda: not is_running(server))
