import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from skillweave.base.errors import ConfigError
from skillweave.llm.backends.vllm import VllmServer
from tests.waiting import is_running, wait_until

FAKE = """#!{python}
import http.server, json, os, pathlib, subprocess, sys, time
notes = {{"pid": os.getpid(), "arguments": sys.argv[1:], "env": os.environ.get("MARK")}}
pathlib.Path({notes!r}).write_text(json.dumps(notes))
{act}
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()
    def log_message(self, *_):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Health).serve_forever()
"""
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(9999)"
WORKER = f"""
worker = subprocess.Popen([sys.executable, "-c", {DEAF!r}])
pathlib.Path(__file__).with_name("worker").write_text(str(worker.pid))
time.sleep(0.3)
"""
"""A process of its own that does not end when it is asked to."""

OURS = """
import asyncio, pathlib, sys
from skillweave.llm.backends.vllm import VllmServer

async def main():
    async with VllmServer("m", log=pathlib.Path(sys.argv[1]), command=[sys.argv[2]]):
        print("up", flush=True)
        await asyncio.sleep(9999)

asyncio.run(main())
"""


def a_vllm(folder: Path, act: str = "") -> Path:
    """An executable that looks like vLLM's, and notes how it was called."""
    path, notes = folder / "vllm", str(folder / "notes")
    path.write_text(FAKE.format(python=sys.executable, notes=notes, act=act))
    path.chmod(0o755)
    return path


def test_it_is_up_inside_and_gone_after(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = VllmServer(
            "org/tiny",
            log=tmp_path / "logs" / "vllm.log",
            command=[str(a_vllm(tmp_path, WORKER))],
            tool_parser="qwen3_coder",
            reasoning_parser="qwen3",
            arguments=["--max-model-len", "1024"],
            environment={"MARK": "given"},
            progress=told.append,
        )
        async with server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"GET /health HTTP/1.0\r\n\r\n")
            assert b"200" in await reader.readline()
            writer.close()
            assert server.base_url == f"http://127.0.0.1:{server.port}/v1"

    told: list[str] = []
    asyncio.run(scenario())
    notes = json.loads((tmp_path / "notes").read_text())
    assert notes["env"] == "given"
    assert notes["arguments"][:4] == ["serve", "org/tiny", "--host", "127.0.0.1"]
    assert " ".join(notes["arguments"][6:]) == (
        "--enable-auto-tool-choice --tool-call-parser qwen3_coder --reasoning-parser qwen3 --max-model-len 1024"
    )
    wait_until(lambda: not is_running(notes["pid"]))
    wait_until(lambda: not is_running(int((tmp_path / "worker").read_text())))
    assert "org/tiny is ready" in told[-1]


def test_one_that_ends_early_is_quoted(tmp_path: Path) -> None:
    async def scenario(act: str, limit: float) -> None:
        command = [str(a_vllm(tmp_path, act))]
        async with VllmServer("m", log=tmp_path / "vllm.log", command=command, start_limit_s=limit):
            pass

    with pytest.raises(ConfigError, match=r"ended with status 3 before .*vllm\.log'; it last said: .*no such model"):
        asyncio.run(scenario("print('no such model', flush=True); sys.exit(3)", 30))
    with pytest.raises(ConfigError, match=r"was not ready within 1 seconds; .*it last said: loading"):
        asyncio.run(scenario("print('loading', flush=True); time.sleep(9999)", 1))
    wait_until(lambda: not is_running(json.loads((tmp_path / "notes").read_text())["pid"]))


def test_without_vllm_the_way_out_is_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with VllmServer("m", log=tmp_path / "vllm.log", command=["no-such-vllm"]):
            pass

    with pytest.raises(ConfigError, match=r"no program 'no-such-vllm' .*install vLLM .*base_url"):
        asyncio.run(scenario())


def test_it_dies_with_us_even_when_we_are_killed(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = [sys.executable, "-c", OURS, str(tmp_path / "log"), str(a_vllm(tmp_path, WORKER))]
    with subprocess.Popen(run, stdout=subprocess.PIPE, env=environment) as ours:
        assert ours.stdout is not None
        assert ours.stdout.readline() == b"up\n"
        ours.send_signal(signal.SIGKILL)
    wait_until(lambda: not is_running(json.loads((tmp_path / "notes").read_text())["pid"]))
    wait_until(lambda: not is_running(int((tmp_path / "worker").read_text())))
