"""s09 with authors that are right, wrong once, or never right."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from skillweave.base.code import CodeIndex
from skillweave.base.errors import AuthorError
from skillweave.base.manifest import ItemOutput
from skillweave.base.store import Store, digest_bytes
from skillweave.llm.ask import AuthorChain
from skillweave.llm.backends.backend import OfflineBackend, Request
from skillweave.llm.ledger import Ledger
from skillweave.sandbox.folder import SandboxLimits
from skillweave.schema.blueprint import Blueprint
from skillweave.world.world import World
from synth.artifacts import BLUEPRINTS, DATABASE, SERVER_TESTS, SERVERS
from synth.engine.artifact import Artifact, encode
from synth.engine.context import Context, RunSetting
from synth.engine.step import JOIN
from synth.offline.coding.server import write_server, write_tests
from synth.servers import writing
from synth.servers.differential import differences
from synth.servers.runtime import runtime_files
from synth.servers.suite import DifferentialSuite, prepare_suite
from synth.servers.writing import written_server
from synth.steps.s09_mcp_server_implementation import ServerParams, mcp_server_implementation, write_runtime
from tests.servers.fused import two_libraries

R = TypeVar("R")
KNOWN: dict[str, DifferentialSuite] = {}
RIGHT_GUARD = 'if appointment["status"] != "scheduled":'
WRONG_GUARD = 'if appointment["status"] == "scheduled":'


@pytest.fixture(autouse=True)
def _prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly all tests ask for the proof of the same world."""

    def prepared(*arguments: Any) -> DifferentialSuite:
        about = str((arguments[3], sorted(arguments[5].tools)))
        if about not in KNOWN:
            KNOWN[about] = prepare_suite(*arguments)
        return KNOWN[about]

    monkeypatch.setattr(writing, "prepare_suite", prepared)


class Coder:
    """A coding author whose servers pass through `spoil`, and whose repairs are `repairs`, in order."""

    def __init__(self, spoil: Callable[[str], str] = str, repairs: tuple[str, ...] = ()) -> None:
        self.spoil = spoil
        self.repairs = list(repairs)
        self.asked: list[str] = []
        self.failures: list[str] = []

    def __call__(self, request: Request) -> str:
        self.asked.append(request.question)
        if request.question == "server.repair":
            self.failures = request.variables["failures"]  # type: ignore[assignment]
            return self.repairs.pop(0)
        blueprint = request.variables["blueprint"]
        assert isinstance(blueprint, Blueprint)
        if request.question == "server.tests":
            return write_tests(blueprint, request.variables["examples"])  # type: ignore[arg-type]
        return self.spoil(write_server(blueprint, str(request.variables["now"])))


class Services:
    """What the engine would lend."""

    def __init__(self, author: Coder) -> None:
        self.author = OfflineBackend(author)

    def line(self, step: str, role: str) -> AuthorChain:
        assert role == "coding"
        return AuthorChain([self.author], Ledger())

    async def offload(self, function: Callable[..., R], *arguments: object) -> R:
        return function(*arguments)

    def log(self, step: str, key: str, message: str) -> None:
        """Nobody reads it."""


def a_context(folder: Path, world: World, author: Coder, key: str = "SmallClinic") -> Context[ServerParams]:
    store = Store(folder)
    store.prepare()

    def given(artifact: Artifact[object], content: bytes) -> ItemOutput:
        path = "blueprint.json" if artifact.kind == "joined" else artifact.path("SmallClinic")
        stamp = store.write(path, content)
        label = artifact.label("SmallClinic")
        return ItemOutput(
            artifact=artifact.pattern,
            key="SmallClinic",
            label=label,
            path=path,
            digest=digest_bytes(content),
            size=stamp.size,
            mtime_ns=stamp.mtime_ns,
        )

    outputs = [
        given(BLUEPRINTS, encode(BLUEPRINTS, world.blueprint)),  # type: ignore[arg-type]
        given(DATABASE, world.content),  # type: ignore[arg-type]
    ]
    return Context(
        mcp_server_implementation,
        key,
        params=ServerParams(),
        setting=RunSetting(seed=7, now=world.now, seeds=()),
        store=store,
        visible={(output.artifact, output.key): output for output in outputs},
        services=Services(author),
    )


def made(folder: Path, world: World, author: Coder) -> Path:
    context = a_context(folder, world, author)

    async def make() -> None:
        await mcp_server_implementation.run(context, "SmallClinic")

    asyncio.run(make())
    return folder


def test_a_right_author_is_asked_twice_and_its_tests_run_from_anywhere(tmp_path: Path, clinic: World) -> None:
    author = Coder()
    folder = made(tmp_path / "outputs", clinic, author)
    join = a_context(folder, clinic, author, key=JOIN)
    asyncio.run(write_runtime(join, ["SmallClinic"]))
    assert author.asked == ["server.write", "server.tests"]
    tests = folder / SERVER_TESTS.path("SmallClinic")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout
    report = (folder / "mcp_servers/reports/SmallClinic.json").read_text("utf-8")
    assert '"guards_unmet": []' in report


def test_a_planted_error_is_told_and_repaired(tmp_path: Path, clinic: World) -> None:
    patch = f"<<<<<<< SEARCH\n    {WRONG_GUARD}\n=======\n    {RIGHT_GUARD}\n>>>>>>> REPLACE\n"
    author = Coder(lambda source: source.replace(RIGHT_GUARD, WRONG_GUARD, 1), (patch,))
    folder = made(tmp_path / "outputs", clinic, author)
    assert author.asked == ["server.write", "server.repair", "server.tests"]
    assert "cancel_appointment" in author.failures[0]
    assert (folder / SERVERS.path("SmallClinic")).read_text("utf-8") == write_server(clinic.blueprint, clinic.now)
    assert '"rounds": 1' in (folder / "mcp_servers/reports/SmallClinic.json").read_text("utf-8")


def test_an_author_that_never_gets_it_right_is_rejected_with_the_reason(tmp_path: Path, clinic: World) -> None:
    useless = "<<<<<<< SEARCH\nserver = Server(\n=======\n\nserver = Server(\n>>>>>>> REPLACE\n"
    author = Coder(lambda source: source.replace(RIGHT_GUARD, WRONG_GUARD, 1), (useless, useless))
    with pytest.raises(
        AuthorError, match=r"'SmallClinic' still differs .* after 2 repairs: cancel_appointment"
    ) as error:
        made(tmp_path / "outputs", clinic, author)
    assert error.value.reasons
    assert not (tmp_path / "outputs" / SERVERS.path("SmallClinic")).exists()


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda source: source.replace("def pay_fee(", "def pay_fee(:"), "invalid syntax"),
        (lambda source: source.replace("from typing", "import socket\nfrom typing", 1), "imports 'socket'"),
        (lambda source: "I am sorry, I cannot do that.", "server.write"),
    ],
)
def test_an_author_that_fails_the_static_check_is_rejected(
    tmp_path: Path, clinic: World, spoil: Callable[[str], str], told: str
) -> None:
    with pytest.raises(AuthorError, match=told):
        made(tmp_path / "outputs", clinic, Coder(spoil))


def test_the_server_of_a_fused_world_is_written_and_repaired_alike(tmp_path: Path, clinic: World) -> None:
    fused, world = two_libraries()
    line = '@server.tool("read", member="{}")\ndef south__list_loans(db: ServerSession) -> list[Row]:'
    right, wrong = line.format("south"), line.format("north")
    patch = f"<<<<<<< SEARCH\n{wrong}\n=======\n{right}\n>>>>>>> REPLACE\n"
    author = Coder(lambda source: source.replace(right, wrong), (patch,))
    context = a_context(tmp_path / "outputs", clinic, author)
    written = asyncio.run(written_server(context, fused, world.content))
    assert author.asked == ["server.write", "server.repair", "server.tests"]
    assert written.source == write_server(fused, clinic.now)
    assert "fined_in_the_south" in written.tests
    assert (written.report.rounds, written.report.guards_unmet, written.report.tools_unmet) == (1, [], [])


def test_a_server_that_never_answers_is_stopped_and_told(proof: DifferentialSuite, clinic: World) -> None:
    right = write_server(clinic.blueprint, clinic.now)
    endless = right.replace("    fee = db.one(", "    for _ in iter(int, 1):\n        pass\n    fee = db.one(")
    calls = zip(proof.expected.cases, proof.expected.observed, strict=True)
    few = [pair for pair in calls if pair[0].about.startswith("pay_fee,")][:3]
    expected = replace(proof.expected, cases=tuple(c for c, _ in few), observed=tuple(o for _, o in few))
    told = differences(expected, endless, limits=SandboxLimits(seconds=2, cpu_seconds=2))
    assert len(told) == 1
    assert "pay_fee" in str(told[0])
    assert "gave no answer" in str(told[0])


def test_a_change_of_the_runtime_changes_the_step() -> None:
    """Fingerprints follow imports, and the copied files are read as texts."""
    reached = CodeIndex(["synth"]).closure("synth.steps.s09_mcp_server_implementation")
    folder = "synth.servers.runtime."
    copied = {f"{folder}{name.removesuffix('.py')}" for name in runtime_files()}
    assert {name for name in reached if name.startswith(folder)} == {*copied, f"{folder}probe"}
