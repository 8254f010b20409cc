"""A real vLLM server with a tiny model, for all tests here; they skip where vLLM cannot be had."""

import asyncio
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillweave.llm.backends.vllm import VllmServer
from tests.vllm.environment import FOLDER, unavailable

LONGEST = 65536
ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    # A step of so small a model is some twenty operations; with two threads each of them waits for both to get a core.
    "OMP_NUM_THREADS": "1",
    # What it finds out about models takes an interpreter of its own that loads everything; it is kept between runs.
    "VLLM_CACHE_ROOT": str(FOLDER / "cache"),
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}
# A model of random weights fills all space it may with white space.
DECODING = '{"backend":"xgrammar","disable_any_whitespace":true}'
ARGUMENTS = ("--dtype", "bfloat16", "--enforce-eager", "--max-model-len", str(LONGEST))


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the tiny model."""
    reason = unavailable()
    if reason is not None:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("vllm") / "tiny"
    maker = Path(__file__).with_name("tiny_model.py")
    subprocess.run([FOLDER / "bin" / "python", maker, folder], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def server(model: Path) -> Iterator[VllmServer]:
    """The server; it lives on an event loop of its own, so that each test may have one."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    served = VllmServer(
        str(model),
        log=model.with_name("server.log"),
        command=(str(FOLDER / "bin" / "vllm"),),
        arguments=(*ARGUMENTS, "--structured-outputs-config", DECODING),
        environment=ENVIRONMENT,
        start_limit_s=600,
        progress=print,
    )
    try:
        yield asyncio.run_coroutine_threadsafe(served.__aenter__(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(served.close(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
