"""What is found in a folder when its code is gone: nothing is followed, waited for or believed."""

import os
import socket
from pathlib import Path

import pytest

from skillweave.sandbox.folder import SandboxLimits, contents, excess, written


def test_only_plain_files_are_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "secret.txt"
    folder.mkdir()
    outside.write_text("the secret")
    monkeypatch.chdir(folder)
    (folder / "link").symlink_to(outside)
    (folder / "folder link").symlink_to(tmp_path)
    (folder / "second name").hardlink_to(outside)
    os.mkfifo(folder / "pipe")
    (folder / "sub").mkdir()
    (folder / "sub/plain").write_text("plain")
    (folder / "large").write_bytes(bytes(3000))
    (folder / "two\nlines").write_text("x")
    (folder / "locked").write_text("x")
    (folder / "as given").write_text("same")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        found = written(folder, {"as given": "same", "sub/plain": "other"}, SandboxLimits(disk_bytes=2000))
    assert found == {"locked": b"x", "sub/plain": b"plain"}


def test_links_are_not_counted_by_what_they_point_to(tmp_path: Path) -> None:
    (tmp_path / "all").symlink_to("/")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert excess(tmp_path, SandboxLimits(files=2, disk_bytes=100)) is None
    assert len(contents(tmp_path, 1000).entries) == 2


def test_no_more_is_looked_at_than_has_to_be(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / str(number)).touch()
    assert len(contents(tmp_path, 10).entries) == 11
    assert excess(tmp_path, SandboxLimits(files=10)) == "it made more than 10 files"
    assert len(written(tmp_path, {}, SandboxLimits(files=10))) == 10
