"""The outputs folder: atomic writes, and paths that stay inside."""

import os
from pathlib import Path

import pytest

from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.manifest import Manifest
from skillweave.base.store import Store, locked


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "", "a\0b"])
def test_paths_that_leave_the_folder_are_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(ArtifactError, match="does not stay"):
        Store(tmp_path).path(path)


def test_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").symlink_to("/etc")
    with pytest.raises(ArtifactError, match="link at 'elsewhere'"):
        Store(tmp_path).read("elsewhere/passwd")


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write("a/b.txt", b"old")

    def fail() -> None:
        with store.replacing("a/b.txt") as temporary:
            temporary.write_bytes(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert store.read("a/b.txt") == b"old"
    assert list((tmp_path / ".cache/tmp").iterdir()) == []


def test_removing_the_last_file_removes_its_folders(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write("a/b/c.txt", b"")
    store.write("a/d.txt", b"")
    store.remove("a/b/c.txt")
    assert not (tmp_path / "a/b").exists()
    assert (tmp_path / "a/d.txt").exists()


def test_an_outputs_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        Store(tmp_path / "out").prepare()


def test_a_link_in_the_locks_place_is_refused_and_its_target_kept(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    store = Store(tmp_path / "out")
    store.prepare()
    (store.root / ".cache/lock").symlink_to(victim)
    with pytest.raises(ConfigError, match="cannot lock"), locked(store):
        pass
    with pytest.raises(ConfigError, match="is a link"):
        store.prepare()
    (store.root / ".cache/lock").unlink()
    (store.root / ".cache/lock").hardlink_to(victim)
    with pytest.raises(ConfigError, match="not a file of its own"), locked(store):
        pass
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("name", ["logs", ".prefect", "logs/prefect-server.log"])
def test_links_in_folders_of_a_run_are_refused(tmp_path: Path, name: str) -> None:
    link = tmp_path / "out" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path)
    with pytest.raises(ConfigError, match=f"{name}' is a link"):
        Store(tmp_path / "out").prepare()


def test_a_folder_in_a_files_place_is_named(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (tmp_path / "a.txt").mkdir()
    (tmp_path / "b").write_text("")
    for work in (store.read, store.remove, lambda path: store.write(path, b""), lambda path: store.append(path, b"")):
        with pytest.raises(ArtifactError, match=r"'a\.txt'"):
            work("a.txt")
    with pytest.raises(ArtifactError, match=r"'b/c\.txt'"):
        store.write("b/c.txt", b"")
    with pytest.raises(ArtifactError, match="File name too long"):
        store.exists("x" * 300)
    assert list((tmp_path / ".cache/tmp").iterdir()) == []


def test_a_pipe_in_a_files_place_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    with pytest.raises(ArtifactError, match=r"'a\.txt' in the outputs folder is not a file"):
        Store(tmp_path).read("a.txt")


def test_folders_among_temporary_files_are_cleaned(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.prepare()
    (tmp_path / ".cache/tmp/1/pymp-x").mkdir(parents=True)
    store.clean()
    assert list((tmp_path / ".cache/tmp").iterdir()) == []


@pytest.mark.parametrize("content", [b"7", b"\xff", b"[" * 300_000, b""])
def test_a_damaged_manifest_is_told_in_a_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(ArtifactError, match="is damaged"):
        Manifest(Store(tmp_path))
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "manifest.json").mkdir()
    with pytest.raises(ArtifactError, match="is not a file"):
        Manifest(Store(tmp_path))
