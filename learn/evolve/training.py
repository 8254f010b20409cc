"""Training: the command of the configuration, in a session of its own, and the model that it leaves.

The model is trained into `model.partial`, which takes the name `model` when the command has ended well: what is called
`model` is whole. The command ends with this process, however it ends. The next run waits for the rest of a killed one.
"""

import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from learn.evolve.settings import MODEL, EvolveSetup, is_built_in, source_root, trainer_python
from skillweave.base.command import one_line
from skillweave.base.errors import ArtifactError, SkillweaveError
from skillweave.base.store import digest_file
from skillweave.llm.backends import process_guard

LOG = "train.log"
RECORD = "record.json"
LOCK = "lock"
"""Held by the process that watches over the command, until the command and all that it started have ended."""
ENDS_WITHIN_S = 30.0
"""Seconds within which a killed command has ended."""
LOOK_EVERY_S = 0.1
LOG_TAIL = 4096
"""Bytes of the log in which its last line is looked for."""
LONGEST_LINE = 200
_PLACEHOLDER = re.compile(r"\{(data|model|base|seed|iteration)\}")


def train(setup: EvolveSetup, place: str, iteration: int) -> None:
    """Train the model of `<place>/train.jsonl` into `<place>/model`, if it is not there.

    Raises:
        SkillweaveError: The command failed, or left no model.
        ArtifactError: What a killed run left does not go away.
    """
    model, folder = setup.path(f"{place}/model"), setup.path(f"{place}/training")
    if model.is_dir():
        return
    partial = model.with_name("model.partial")
    folder.mkdir(parents=True, exist_ok=True)
    command = _command(setup, place, partial, iteration)
    print(one_line(f"training: {shlex.join(command)}; its output is in {folder / LOG}"), flush=True)
    began = time.monotonic()
    with _lock(folder / LOCK) as lock:
        shutil.rmtree(partial, ignore_errors=True)
        status = _run(command, _environment(setup), folder / LOG, lock)
    record = {
        "command": command,
        "iteration": iteration,
        "seed": setup.seed_of(iteration),
        "data": digest_file(setup.path(f"{place}/train.jsonl")),
        "seconds": round(time.monotonic() - began, 1),
        "exit": status,
    }
    setup.store.write(f"{place}/training/{RECORD}", json.dumps(record, indent=2, ensure_ascii=False).encode() + b"\n")
    _refuse_failure(status, partial, folder / LOG)
    partial.rename(model)


def _command(setup: EvolveSetup, place: str, model: Path, iteration: int) -> list[str]:
    trainer = setup.config.evolve.trainer
    template: Sequence[str] = trainer.command
    if is_built_in(trainer):
        own = (trainer_python(trainer), "-m", "learn.small_model", "train")
        template = (*own, "--data", "{data}", "--to", MODEL, "--seed", "{seed}", *trainer.arguments)
    values = {
        "data": str(setup.path(f"{place}/train.jsonl")),
        "model": str(model),
        "base": trainer.base,
        "seed": str(setup.seed_of(iteration)),
        "iteration": str(iteration),
    }
    return [_PLACEHOLDER.sub(lambda name: values[name[1]], argument) for argument in template]


def _environment(setup: EvolveSetup) -> dict[str, str]:
    trainer = setup.config.evolve.trainer
    own = {"PYTHONPATH": str(source_root())} if is_built_in(trainer) else {}
    return {**os.environ, **own, **trainer.environment}


@contextmanager
def _lock(path: Path) -> Iterator[int]:
    """The lock of a training, once a killed one has ended. Raises ArtifactError if it does not end."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    try:
        last = time.monotonic() + ENDS_WITHIN_S
        while not _is_taken(descriptor):
            if time.monotonic() > last:
                raise ArtifactError(
                    f"the training of a killed run still goes on, {str(path)!r} is locked; end it, and run again"
                )
            time.sleep(LOOK_EVERY_S)
        yield descriptor
    finally:
        os.close(descriptor)


def _is_taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _run(command: Sequence[str], environment: Mapping[str, str], log: Path, lock: int) -> int:
    """Run a command to its end; its exit status. If we are interrupted or killed, it ends as well."""
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-I", process_guard.__file__, *command],
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(lock,),
        )
    try:
        return process.wait()
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def _refuse_failure(status: int, model: Path, log: Path) -> None:
    """Raise SkillweaveError if the command failed, or left no model."""
    is_written = model.is_dir() and any(path.is_file() for path in model.rglob("*"))
    if status == 0 and is_written:
        return
    what = f"ended with exit status {status}" if status else f"left nothing in {MODEL}, the folder to write"
    last = _last_line(log)
    said = f"; it last said: {last}" if last else ""
    raise SkillweaveError(f"the trainer {what}; its log is {str(log)!r}{said}")


def _last_line(log: Path) -> str:
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - LOG_TAIL))
        lines = stream.read().decode("utf-8", "replace").splitlines()
    return next((line.strip()[:LONGEST_LINE] for line in reversed(lines) if line.strip()), "")
