"""The small clinic's dataset with its generated server, or with one that goes wrong in a given way."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from rollout.dispatcher import PipelinedDispatcher, Width
from rollout.trajectory import RolloutSettings, Trajectory
from rollout.world.mcp_session import McpOpener
from rollout.world.source import WorldTasks
from rollout.world.task import Opener
from skillweave.llm.backends.backend import OfflineBackend, Reply, Request
from skillweave.schema.task import Task
from skillweave.schema.trajectory import FunctionCall, ToolCall, TrajectoryRecord
from skillweave.world.dataset import Dataset
from synth.offline.coding.server import write_server
from synth.servers.runtime import runtime_files
from tests.rollout.offline_agents.clinic import WORLD, a_dataset

PLANTED = "list_appointments"
"""The tool whose calls go wrong."""
_PLANT = f'''
import os, runpy, sys, time
here = os.path.dirname(os.path.abspath(__file__))
wire = os.dup(1)  # The SDK keeps what a server prints away from it.
with open(os.path.join(os.path.dirname(here), "starts.txt"), "a") as starts:
    starts.write(sys.argv[2] + "\\n")
AT_START
import _session
real = _session.ServerSession.call
def planted(self, name, arguments, *others):
    if name == "{PLANTED}":
        pass
        IN_CALL
    return real(self, name, arguments, *others)
_session.ServerSession.call = planted
runpy.run_path(os.path.join(here, "real.py"), run_name="__main__")
'''


def a_served_dataset(folder: Path, *, at_start: str = "", in_call: str = "", records: tuple[Task, ...] = ()) -> Dataset:
    """The tasks of the small clinic, or these; the code is carried out when its server starts, or in a call of
    `PLANTED`."""
    dataset = a_dataset(folder, records)
    servers = folder / "mcp_servers"
    servers.mkdir()
    source = write_server(WORLD.blueprint, WORLD.now)
    planted = _PLANT.replace("AT_START", at_start).replace("IN_CALL", in_call)
    files = {**runtime_files(), "real.py": source, "SmallClinic.py": planted if at_start or in_call else source}
    for name, text in files.items():
        (servers / name).write_text(text, encoding="utf-8")
    return dataset


def starts(dataset: Dataset) -> list[str]:
    """The task of each start of a planted server."""
    return sorted((dataset.store.root / "starts.txt").read_text("utf-8").split())


def golden_agent(dataset: Dataset) -> OfflineBackend:
    """An agent that makes the golden calls and says that it is done."""

    def answer(request: Request) -> Reply:
        golden = dataset.tasks[request.key.partition("#")[0]].golden
        made = sum(message.role == "tool" for message in request.messages)
        if made == len(golden):
            return Reply("That is done.")
        call = FunctionCall(name=golden[made].tool, arguments=golden[made].arguments)
        return Reply("", tool_calls=(ToolCall(id=f"call_{made}", function=call),))

    return OfflineBackend(answer, "golden")


def held_on(dataset: Dataset, opener: Opener, names: Sequence[str]) -> dict[str, TrajectoryRecord]:
    """What comes of these tasks, all under way at once."""
    user = OfflineBackend(lambda request: "Thank you. ###STOP###", "user")
    source = WorldTasks(dataset, opener=opener, user=user)
    setting = RolloutSettings(backend=golden_agent(dataset))
    found: dict[str, TrajectoryRecord] = {}

    def finished(trajectory: Trajectory) -> None:
        assert trajectory.result is not None
        found[trajectory.task.id.partition("-")[2]] = trajectory.result

    drawn = (Trajectory(source.task(f"SmallClinic-{name}", 0), 0, 1, setting) for name in names)
    asyncio.run(PipelinedDispatcher(Width(4, 4, 4)).dispatch(drawn, finished))
    return found


def servers_left() -> list[int]:
    """Servers that we started and that still run; other tests of this process have children of their own."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = status.read_text().rpartition(")")[2].split()[:2]
            is_server = b"mcp_servers" in status.with_name("cmdline").read_bytes()
        except OSError:
            continue
        if is_server and int(parent) == os.getpid() and state != "Z":
            found.append(int(status.parent.name))
    return found


def an_opener(dataset: Dataset, *, call_timeout_s: float = 30.0, open_timeout_s: float = 60.0) -> McpOpener:
    """It gives up as soon as the test can wait."""
    return McpOpener(dataset, call_timeout_s=call_timeout_s, open_timeout_s=open_timeout_s)
