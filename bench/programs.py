"""Groups `startup`, `trajectories`, `pipeline` and `servers`: whole programs, in processes of their own.

Calls of a world's MCP server take turns with calls of an empty tool on the bare SDK.
"""

import asyncio
import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

from bench.processes import Spent, cpu_time, family, spent_by
from bench.suite import ROUNDS, Extent, Sample
from tests.servers.served import serve_from
from tests.servers.wire import listening
from tests.world.clinic import a_world

SEED = 7
LINE_BYTES = 30_000
"""More than a trajectory's line takes."""
CALLS = 20
"""Calls of each server in a run."""
EMPTY = """
import sys
from mcp.server import MCPServer

server = MCPServer("empty", log_level="WARNING")


@server.tool()
def find_slots() -> dict:
    return {}


if "--port" in sys.argv:
    server.run("streamable-http", port=int(sys.argv[sys.argv.index("--port") + 1]))
else:
    server.run("stdio")
"""
"""A server with one tool, which does nothing. It ignores other options."""


def startup(extent: Extent) -> Iterator[Sample]:
    """Measure the start of each program."""
    with TemporaryDirectory() as folder:
        commands = {
            "python": ["-c", "pass"],
            "synth_help": ["-m", "synth", "--help"],
            "rollout_help": ["-m", "rollout", "--help"],
            "evaluator_help": ["-m", "evaluator", "--help"],
            "synth_status": ["-m", "synth", "status", "--outputs-dir", folder],
        }
        yield from _repeated({name: ["python", *arguments] for name, arguments in commands.items()})


def _repeated(commands: Mapping[str, Sequence[str]]) -> Iterator[Sample]:
    """The CPU time of short commands, which take turns. The first run, which may compile modules, does not count."""
    rounds = [{name: spent_by(command) for name, command in commands.items()} for _ in range(ROUNDS + 1)][1:]
    for name in commands:
        runs = [spent[name] for spent in rounds]
        failed = next((run for run in runs if run.status), None)
        yield Sample(name, [], failed.complaint) if failed else Sample(name, [run.cpu for run in runs])


def _held(process: int) -> int:
    """Bytes of memory of a process; pages that it shares are divided among those who do (PSS)."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _whole(name: str, command: Sequence[str]) -> tuple[Spent, list[Sample]]:
    """Run a program once. The samples are of its CPU time, time and memory, or one that says why it failed."""
    sizes: list[float] = []
    spent = spent_by(command, lambda process: sizes.append(sum(map(_held, family(process)))))
    if spent.status:
        return spent, [Sample(f"{name}.cpu", [], spent.complaint)]
    samples = [Sample(f"{name}.cpu", [spent.cpu]), Sample(f"{name}.wall", [spent.wall])]
    known = [max(sizes)] if any(sizes) else []
    return spent, [*samples, Sample(f"{name}.memory", known, "this system does not tell")]


def trajectories(extent: Extent) -> Iterator[Sample]:
    """Measure the evaluation of many trajectories of the practice's tasks."""
    from bench.practice import practice
    from bench.visits import visits, write_dataset, write_rollouts

    world, count = practice(SEED), extent.trajectories
    tasks = visits(world, SEED)
    with TemporaryDirectory() as name:
        folder = Path(name)
        if shutil.disk_usage(folder).free < count * LINE_BYTES:
            yield Sample(f"{count}.cpu", [], f"no room in {folder}: give fewer --trajectories")
            return
        write_dataset(world, tasks, folder / "outputs")
        write_rollouts(world, tasks, folder / "rollouts", count)
        places = ["--outputs-dir", f"{folder}/outputs", "--rollouts-dir", f"{folder}/rollouts"]
        output = f"{folder}/evaluation/results.jsonl"
        command = ["python", "-m", "evaluator", "run", *places, "--output", output, "--max-workers", "2", "-q"]
        yield from _whole(str(count), command)[1]


def pipeline(extent: Extent) -> Iterator[Sample]:
    """Measure a run for each scale, by step, and what a finished run takes."""
    for scale in extent.scales:
        with TemporaryDirectory() as folder:
            places = ["--config", "config.yaml", "--outputs-dir", folder]
            worlds = ["--set", f"steps.s01_domain_expansion.target_domains={scale}"]
            command = ["python", "-m", "synth", "run", *places, *worlds]
            spent, samples = _whole("N", command)
            if spent.status:
                yield samples[0]._replace(name=f"{scale}.cpu")
                continue
            samples += [Sample(f"N.{step[:3]}", [seconds]) for step, seconds in _steps(Path(folder)).items()]
            status = ["python", "-m", "synth", "status", *places, *worlds]
            samples += _repeated({"N.resume": command, "N.status": status})
            made = len(json.loads((Path(folder) / "blueprints.json").read_text("utf-8")))
            yield from (sample._replace(name=sample.name.replace("N", str(made), 1)) for sample in samples)
            if made != scale:
                yield Sample(f"{scale}.cpu", [], f"the run made {made} worlds of one company")


def _steps(outputs: Path) -> dict[str, float]:
    """Step -> the sum of its items' seconds."""
    items: list[dict[str, Any]] = json.loads((outputs / "manifest.json").read_text("utf-8"))["items"]
    seconds: Counter[str] = Counter()
    for item in items:
        seconds[item["step"]] += item.get("seconds", 0.0)
    return dict(sorted(seconds.items()))


def servers(extent: Extent) -> Iterator[Sample]:
    """Measure both transports."""
    with TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.py"
        empty.write_text(EMPTY, "utf-8")
        scripts = (serve_from(Path(folder) / "outputs", a_world()), empty)
        for transport in ("stdio", "http"):
            try:
                own, floor = asyncio.run(_by_turns(transport, scripts))
            except OSError as error:
                yield Sample(transport, [], f"this system does not tell the CPU time of a process: {error}")
            else:
                yield Sample(transport, own)
                yield Sample(f"{transport}_floor", floor)


async def _by_turns(transport: str, scripts: tuple[Path, Path]) -> tuple[list[float], ...]:
    """CPU seconds of a call of each server, on both sides, in each run; one run before them warms up."""
    async with AsyncExitStack() as stack:
        pairs = [await stack.enter_async_context(_connected(transport, script)) for script in scripts]
        runs = []
        for _ in range(ROUNDS + 1):
            spent = [-cpu_time(process) for _, process in pairs]
            for _ in range(CALLS):
                for place, (client, _) in enumerate(pairs):
                    begun = time.process_time()
                    result = await client.call_tool("find_slots", {})
                    spent[place] += time.process_time() - begun
                    assert not result.is_error, result
            runs.append([spent[place] + cpu_time(process) for place, (_, process) in enumerate(pairs)])
    return tuple([seconds / CALLS for seconds in sides] for sides in zip(*runs[1:], strict=True))


@asynccontextmanager
async def _connected(transport: str, script: Path) -> AsyncIterator[tuple[Client, int]]:
    """A client of a new server, and the server's process id."""
    before, options = family(os.getpid()), ["--caller", "PAT-0001"]
    async with AsyncExitStack() as stack:
        if transport == "stdio":
            command = StdioServerParameters(command=sys.executable, args=[str(script), *options])
            client = Client(stdio_client(command))
        else:
            _, port = stack.enter_context(listening(script, *options))
            client = Client(f"http://127.0.0.1:{port}/mcp")
        await stack.enter_async_context(client)
        (process,) = set(family(os.getpid())) - set(before)
        yield client, process
