"""What every command shares: exit statuses, interrupts, the command to give next, and processes that end with it."""

import atexit
import ctypes
import gc
import io
import os
import shlex
import shutil
import signal
import sqlite3
import sys
import threading
import time
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path, PurePath
from types import FrameType, TracebackType

from skillweave.base.errors import ArtifactError, ConfigError, SkillweaveError
from skillweave.base.machine import ADVICE, LACKING, in_words, refusal, require_open_files, require_temporary_folder
from skillweave.base.text import hide_secrets

PROGRAMS = ("synth", "rollout", "evaluator", "interop", "learn")
"""The programs, each a package of that name with a `cli.app`."""

_PR_SET_PDEATHSIG = 1
_LOOK_EVERY_S = 0.5
"""Seconds between two looks at the parent, on systems that do not tell of its death."""


def die_with_parent(parent: int) -> None:
    """Make this process end when its parent does. Ends it at once if the parent is gone already.

    Call it in a direct child of the parent, on its main thread.

    Args:
        parent: Process id of the parent.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    if sys.platform != "linux":
        threading.Thread(target=_watch_parent, args=(parent,), daemon=True).start()


def die_with_pipe(reader: "Connection[None, None]") -> None:
    """Make this process end when the other end of a pipe is closed. Any descendant can call it."""
    threading.Thread(target=_watch_pipe, args=(reader,), daemon=True).start()


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY_S)
    os._exit(1)


def _watch_pipe(reader: "Connection[None, None]") -> None:
    try:
        reader.recv()
    except (EOFError, OSError):
        os._exit(1)


def collect_seldom() -> None:
    """Have the garbage collector of this process run seldom, and pass over what is there now.

    Worlds and tasks are many records and hardly any cycles: at its usual rate it takes a quarter of the time.
    """
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def begin_work(parent: int) -> None:
    """Prepare a process of a pool: it ends with its parent, which alone handles an interrupt from the terminal."""
    collect_seldom()
    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def keeping_interrupts() -> Iterator[None]:
    """A process that is started meanwhile, and what it starts, gets no interrupt from the terminal; this one does."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_launcher = "python -m"
"""How this process's program was started, and so how commands that it advises are."""
_given: list[str] = []
"""The program's name and the words that it was given."""


def advise_as(launcher: str) -> None:
    """Begin every command that is advised from now on with this in place of `python -m`, such as `skillweave`."""
    global _launcher
    _launcher = launcher


def command_line(program: str, *words: str | PurePath) -> str:
    """A command to give next, as a shell reads it. This is the one place that says how a program is started.

    Args:
        program: `synth`, `rollout`, or a module such as `learn.small_model`.
        words: Verbs, options and their values as text; files and folders as paths.
    """
    return " ".join([_launcher, program, *map(shell_word, words)])


def rollout_line(outputs: Path, rollouts: Path, *words: str | PurePath, config: Path | None = None) -> str:
    """The command that rolls agents out in a dataset, into a folder that holds no other rollouts.

    Args:
        outputs: The dataset.
        rollouts: The folder; if it is there already, the first of `-2`, `-3`, ... that is not.
        words: Further options.
        config: The configuration; None: that of the folder, or the defaults.
    """
    folders = (rollouts.with_name(f"{rollouts.name}-{number}") if number > 1 else rollouts for number in count(1))
    free = next(folder for folder in folders if not os.path.lexists(folder))
    given: list[str | PurePath] = [] if config is None or config == Path("config.yaml") else ["--config", config]
    return command_line("rollout", "run", "--outputs-dir", outputs, "--rollouts-dir", free, *words, *given)


def repeat_line(*, without: str = "") -> str:
    """The command that was given, to be given again; `the same command` where none was, as from Python.

    Args:
        without: A flag that is left out this time, such as `--dry-run`.
    """
    if not _given:
        return f"the same command{f' without {without}' if without else ''}"
    return command_line(*(word for word in _given if word != without))


def shell_word(word: str | PurePath) -> str:
    """A word as a shell reads it, on one line, whatever is in it. A path is never taken for an option."""
    text = str(word)
    if isinstance(word, PurePath) and text.startswith("-"):
        text = f"./{text}"
    if text.isprintable():
        return shlex.quote(text)
    # Quotes do not keep a line break or a terminal's control character from being one.
    quoted = "".join(
        f"\\{character}"
        if character in "\\'"
        else character
        if character.isprintable()
        else "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))
        for character in text
    )
    return f"$'{quoted}'"


SIGNALS = (signal.SIGINT, signal.SIGTERM)
KEPT = "what is written is kept, and the same command goes on from there"
_SHOW_CURSOR = b"\x1b[?25h"

_QUIET = "ignore::UserWarning:multiprocessing.resource_tracker"
"""Passed on to the processes that multiprocessing starts. Its tracker removes what an interrupted run leaves, and need
not warn of that."""


def run_command(program: Callable[[], object], name: str = "", arguments: Sequence[str] | None = None) -> None:
    """Run a command's program, and end the process if it fails.

    Args:
        program: The program. It returns if its work is done (exit status 0), and may end the process itself.
        name: What `command_line` calls it: `synth`.
        arguments: The words of the command line; None: the process's own.

    Raises:
        SystemExit: With 1 if the work failed, 2 for wrong usage or configuration, 130 if it was interrupted.
    """
    _given[:] = [name, *(sys.argv[1:] if arguments is None else arguments)] if name else []
    _make_quiet()
    try:
        try:
            require_open_files()
            if not {"--help", "-h"} & {*sys.argv}:
                require_temporary_folder()
            program()
        finally:
            sys.stdout.flush()
    except (ConfigError, ArtifactError) as error:
        # What the system refuses, such as a write to a full disk, is not wrong usage; a folder that is read-only is.
        refused = refusal(error)
        if refused is not None and (isinstance(error, ArtifactError) or refused.errno in LACKING):
            _complain(f"{error}; {ADVICE[refused.errno or 0]}; {KEPT}", 1)
        is_refused = isinstance(error, ArtifactError) and isinstance(error.__cause__, OSError)
        _complain(str(error), 1 if is_refused else 2)
    except SkillweaveError as error:
        _complain(str(error), 1)
    except (OSError, sqlite3.Error, RuntimeError) as error:
        _silence_output()
        refused = refusal(error)
        if refused is not None:
            _complain(f"the system refused to go on: {in_words(refused)}; {KEPT}", 1)
        if not isinstance(error, OSError):
            raise
        _complain(f"the system refused to go on: {in_words(error)}", 1)
    except KeyboardInterrupt:
        sys.exit(130)


def end_on_signals() -> None:
    """Begin a program: an interrupt ends the process at once, a missing dependency is a line, advice can be followed.

    Call it before slow work, imports included.
    """
    for number in SIGNALS:
        signal.signal(number, end_now)
    atexit.register(_ignore)
    sys.excepthook = _report_missing
    advise_as(f"{_interpreter()} -m")


def _interpreter() -> str:
    """What a shell here calls this interpreter: `python`, or its path where that is none or another environment's."""
    found = shutil.which("python")
    if found and Path(found).parent.resolve() == Path(sys.executable).parent.resolve():
        return "python"
    return path_here(sys.executable)


def path_here(file: str) -> str:
    """The path of a program as a shell reads it: from the current folder, if it lies below that."""
    try:
        below = Path(file).relative_to(Path.cwd())
        return shell_word(f"{below.parent}/{below.name}")
    except (OSError, ValueError):
        return shell_word(file)


def _report_missing(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Say in a line that a dependency is not there, as where the environment is not active. An exception hook."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if not name or name in (*PROGRAMS, "skillweave", "bench"):
        sys.__excepthook__(kind, error, trace)
        return
    with suppress(OSError):
        sys.stdout.flush()
        print(
            f"error: the module {name!r} is not installed for {sys.executable}, so the environment is not active; "
            "activate it with `. .venv/bin/activate`, or install it with `pip install .`",
            file=sys.stderr,
            flush=True,
        )
    os._exit(2)


def end_now(number: int, frame: FrameType | None) -> None:
    """End the process, as a signal handler. An exception would surface in whatever code is running."""
    try:
        if os.isatty(1):
            os.write(1, _SHOW_CURSOR)
        os.write(2, f"interrupted; {KEPT}\n".encode("ascii"))
    finally:
        os._exit(130)


def _ignore() -> None:
    """Ignore signals at exit: Python restores the system's handlers while it shuts down, when all work is done."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def one_line(text: str) -> str:
    """The text on one line, without control characters for a terminal: errors quote what others wrote."""
    words = " ".join(text.split())
    return "".join(_escaped(character) if not character.isprintable() else character for character in words)


def counted(count: int, noun: str) -> str:
    """A count with its noun: `1 item`, `3 items`, `2 trajectories`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def percent(share: float, sign: str = "%") -> str:
    """A share in words: `0.0%`, `12.3%`, `100.0%`. Only none at all reads as none, and only all as all."""
    number = f"{100 * share:,.1f}"
    if number == "100.0" and share < 1:
        number = "99.9"
    return f"{'<0.1' if number == '0.0' and share > 0 else number}{sign}"


def plain_number(value: float) -> str:
    """A number without an exponent and without needless zeros: `1,234,567`, `0.25`."""
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def _escaped(character: str) -> str:
    is_harmless = unicodedata.category(character) in ("Zs", "Co", "Cn")
    return character if is_harmless else character.encode("unicode_escape").decode("ascii")


def _make_quiet() -> None:
    """Hide warnings of libraries, which the user cannot act on; replace closed output streams by empty ones."""
    if sys.warnoptions not in ([], [_QUIET]):
        warnings.simplefilter("ignore")
        os.environ.pop("PYTHONWARNINGS", None)
    sys.warnoptions[:] = [_QUIET]
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Characters that the terminal's encoding lacks are escaped.
            stream.reconfigure(errors="backslashreplace")


def _silence_output() -> None:
    """Drop what cannot be written to a full or closed standard output, so that Python does not complain at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str, status: int) -> None:
    with suppress(OSError):
        print(f"error: {one_line(hide_secrets(message))}", file=sys.stderr, flush=True)
    sys.exit(status)
