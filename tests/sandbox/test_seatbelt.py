"""The profile's text; only macOS can run it."""

import os
import re
import sys
from pathlib import Path

from skillweave.sandbox import jail
from skillweave.sandbox.folder import SandboxLimits
from skillweave.sandbox.strength import MachineSupport, package_folder, profile


def rules(text: str) -> list[str]:
    """The rules of one operation each; brackets have to match."""
    assert text.count("(") == text.count(")")
    return text.splitlines()


def test_everything_is_denied_but_reading_and_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / 'a "folder"'
    folder.mkdir()
    lines = rules(profile([str(tmp_path / "library")], [str(folder)]))
    assert lines[:2] == ["(version 1)", "(deny default)"]
    quoted = str(folder).replace('"', '\\"')
    assert f'(allow file-write* (subpath "{quoted}"))' in lines
    writes = [line for line in lines if line.startswith("(allow file-write")]
    assert writes == ['(allow file-write-data (literal "/dev/null"))', f'(allow file-write* (subpath "{quoted}"))']
    assert lines[-3:] == ["(deny file-write-create (vnode-type SYMLINK))", "(deny network*)", "(deny process-fork)"]
    assert not any(line.startswith(("(allow network", "(allow process-fork", "(allow mach")) for line in lines)


def test_only_the_interpreter_may_be_run() -> None:
    (execute,) = [line for line in rules(profile([], [])) if line.startswith("(allow process-exec")]
    programs = re.findall(r'\(literal "([^"]+)"\)', execute)
    assert {sys.executable, os.path.realpath(sys.executable)} <= set(programs)
    assert len(programs) <= 3


def test_links_in_paths_are_resolved_since_the_kernel_compares_real_ones(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    text = profile([], [str(tmp_path / "link")])
    assert f'(subpath "{tmp_path.resolve() / "real"}")' in text
    assert f"{tmp_path}/link" not in text


def test_a_jail_of_that_strength_starts_its_launcher_under_the_profile(tmp_path: Path) -> None:
    plan = jail._plan(
        tmp_path, ["main.py"], SandboxLimits(), [], False, MachineSupport("seatbelt", "/usr/bin/sandbox-exec", [])
    )
    wrapper = plan["wrapper"]
    assert isinstance(wrapper, list)
    assert wrapper[:2] == ["/usr/bin/sandbox-exec", "-p"]
    assert f'(subpath "{package_folder()}")' in wrapper[2]
    assert f'(allow file-write* (subpath "{tmp_path}"))' in wrapper[2]
    assert wrapper[3] == sys.executable
    assert '"stage": "payload"' in wrapper[-1]
    assert plan["limits"]["RLIMIT_NPROC"] == (0, 0)  # type: ignore[index]
