"""The outputs folder: atomic writes, and paths that stay inside."""

from pathlib import Path

import pytest

from skillweave.errors import ArtifactError, ConfigError
from skillweave.store import Store


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
