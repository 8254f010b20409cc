"""What a user's own part does wrong is one clear line; what is not its doing goes on."""

from pathlib import Path

import pytest

from rollout.cli.app import main
from tests.commands import Done
from tests.commands import ran as ran_command
from tests.rollout.offline_agents.clinic import a_dataset
from tests.rollout.offline_agents.clinic import tasks as clinic_tasks

HERE = "tests.rollout.own_parts"


def ran(place: Path, capfd: pytest.CaptureFixture[str], more: str = "", **parts: str) -> tuple[object, str, list[str]]:
    config = place / "config.yaml"
    named = {"tasks": f"{HERE}:fine", "backend": f"{HERE}:Five"} | parts
    listed = "".join(f"    {kind}: '{name}'\n" for kind, name in named.items())
    config.write_text(f"rollout:\n  {more}\n  parts:\n{listed}")
    with pytest.raises(SystemExit) as ended:
        main(["run", "--config", str(config), "--rollouts-dir", str(place / "rollouts")])
    shown, errors = capfd.readouterr()
    return ended.value.code, shown, errors.splitlines()


@pytest.mark.parametrize(
    ("kind", "name", "complaint"),
    [
        ("tasks", f"{HERE}:fails", "RuntimeError: it is broken, at "),
        ("tasks", f"{HERE}:BROKEN", "is no class, but int; write MODULE:CLASS"),
        ("tasks", f"{HERE}:no_source", "'NoneType' object has no attribute 'ids'"),
        ("tasks", f"{HERE}:ids_fail", "own_parts.py:"),
        ("tasks", f"{HERE}:ids_are_numbers", "AttributeError"),
        ("tasks", f"{HERE}:digest_is_a_set", "the digest of the task source is {1}; it must be a text"),
        ("backend", f"{HERE}:fails", "RuntimeError: it is broken"),
        ("backend", "json:JSONDecodeError", "rollout.parts.backend 'json:JSONDecodeError' failed: TypeError"),
        ("dispatcher", f"{HERE}:fails", "RuntimeError: it is broken"),
        ("runner", f"{HERE}:fails", "TypeError"),
    ],
)
def test_a_part_that_cannot_be_made_is_told_in_a_line(
    kind: str, name: str, complaint: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, _, errors = ran(tmp_path, capfd, **{kind: name})
    assert status == 2
    assert len(errors) == 1
    assert complaint in errors[0]


def test_a_dispatcher_that_fails_on_its_way_is_told_in_a_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, _, errors = ran(tmp_path, capfd, dispatcher=f"{HERE}:Failing")
    assert status == 1
    assert len(errors) == 1
    assert errors[0].startswith("error: the run broke off: RuntimeError: it is broken, at ")


def test_a_task_that_cannot_be_made_does_not_cost_the_others(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, shown, errors = ran(tmp_path, capfd, tasks=f"{HERE}:one_task_fails")
    assert (status, errors) == (1, [])
    assert "cannot be read: sum-0#0: RuntimeError: it is broken" in shown
    assert "1 trajectory owed, 1 kept in " in shown
    assert len((tmp_path / "rollouts" / "general.jsonl").read_text().splitlines()) == 1


def test_a_source_that_cannot_let_go_takes_nothing_away(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, shown, errors = ran(tmp_path, capfd, tasks=f"{HERE}:cannot_let_go")
    assert (status, errors) == (0, [])
    assert "2 of 2 passed" in shown


def test_a_score_that_is_none_is_an_error_of_its_trajectory(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, shown, _ = ran(tmp_path, capfd, tasks=f"{HERE}:scores_are_numbers")
    assert status == 1
    assert "2 infrastructure errors, the first: sum#0: TypeError: evaluate_result gave int" in shown


def test_a_width_beyond_all_bounds_takes_no_more_than_there_is_to_do(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, shown, errors = ran(tmp_path, capfd, "max_parallel_agents: 1000000000000", tasks=f"{HERE}:cannot_let_go")
    assert (status, errors) == (0, [])
    assert "2 of 2 passed" in shown


BACKEND = """
import asyncio, sys
from skillweave.llm.backends.backend import Reply
class Echo:
    def __init__(self, spec):
        self.name = spec.name
    async def complete(self, request):
        return Reply("Goodbye.")
    async def close(self):
        return None
class Exits(Echo):
    async def complete(self, request):
        sys.exit(0)
class Interrupts(Echo):
    async def complete(self, request):
        raise KeyboardInterrupt
class Cancels(Echo):
    async def complete(self, request):
        raise asyncio.CancelledError("no more")
class Five(Echo):
    async def complete(self, request):
        return Reply(text=5)
class Nothing(Echo):
    async def complete(self, request):
        return None
class Counts(Echo):
    async def complete(self, request):
        return Reply("Goodbye.", output_tokens="5")
class Unclosed(Echo):
    async def close(self):
        raise RuntimeError("the socket is gone")
class Closeless:
    def __init__(self, spec):
        self.name = spec.name
    async def complete(self, request):
        return Reply("Goodbye.")
class Mute:
    def __init__(self, spec):
        self.name = spec.name
class Leaver:
    def __init__(self, spec):
        sys.exit(0)
notaclass = 5
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    a_dataset(tmp_path / "outputs", clinic_tasks()[:1])
    (tmp_path / "own_backends_here.py").write_text(BACKEND)
    (tmp_path / "leaves_at_import.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def talked(place: Path, agent: str, *more: str, user: str = "offline/user") -> Done:
    return ran_command("rollout", "run", "--outputs", "outputs", "--agent", agent, "--user", user, *more, place=place)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("leaves_at_import:Echo/x", "the backend 'leaves_at_import:Echo' cannot be loaded: SystemExit: 0, at "),
        ("own_backends_here:Leaver/x", "cannot be made: SystemExit: 0, at "),
        ("own_backends_here:Closeless/x", "'own_backends_here:Closeless/x' has no close; give its class "),
        ("own_backends_here:Mute/x", "'own_backends_here:Mute/x' has no complete and no close; give its class "),
        (
            "own_backends_here:notaclass/x",
            "'own_backends_here:notaclass' is no class, but int; write MODULE:CLASS/NAME",
        ),
        (":Echo/x", "':Echo' names no class; write MODULE:CLASS/NAME"),
        ("own_backends_here:/x", "'own_backends_here:' names no class; write MODULE:CLASS/NAME"),
    ],
)
@pytest.mark.parametrize("role", ["agent", "user"])
def test_a_backend_of_ones_own_that_is_none_is_refused_in_a_line(
    role: str, name: str, complaint: str, place: Path
) -> None:
    done = talked(place, name) if role == "agent" else talked(place, "own_backends_here:Echo/x", user=name)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert complaint in done.stderr


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Exits", "failed: SystemExit: 0, at "),
        ("Interrupts", "failed: KeyboardInterrupt, at "),
        ("Cancels", "failed: CancelledError: no more, at "),
        ("Five", "failed: its reply's text is int, it must be a str"),
        ("Nothing", "failed: its reply is NoneType, it must be a Reply"),
        ("Counts", "failed: its reply's output_tokens is str, it must be a int"),
    ],
)
def test_what_a_backend_of_ones_own_does_to_end_the_run_is_its_trajectorys_failure(
    name: str, reason: str, place: Path
) -> None:
    done = talked(place, f"own_backends_here:{name}/x")
    assert done.returncode == 1
    assert "1 provider errors, the first: " in done.stdout
    assert reason in done.stdout
    assert "Traceback" not in done.stderr
    assert reason in (place / "rollouts" / "SmallClinic.jsonl").read_text()


def test_a_backend_that_cannot_be_closed_is_a_warning(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert talked(place, "own_backends_here:Unclosed/x").returncode == 0
    (line,) = caplog.messages
    assert line.startswith("own_backends_here:Unclosed/x could not be closed: RuntimeError: the socket is gone, at ")
