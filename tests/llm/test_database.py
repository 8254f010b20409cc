"""Processes that open one new SQLite file at the same moment all get it."""

import sqlite3
import threading
from pathlib import Path

import pytest

from skillweave.llm import replay as database
from skillweave.llm.replay import shared_database


def test_opening_waits_for_who_writes_before_the_journal_is_switched(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    writer = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    writer.execute("CREATE TABLE t (x)")
    writer.execute("BEGIN IMMEDIATE")
    done = threading.Timer(0.3, writer.execute, ["COMMIT"])
    done.start()
    opened = shared_database(path)
    done.join()
    assert opened.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    opened.execute("INSERT INTO t VALUES (1)")
    assert writer.execute("SELECT x FROM t").fetchall() == [(1,)]


def test_who_never_lets_go_is_told_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "WAIT", 0.2)
    path = tmp_path / "a.sqlite"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("CREATE TABLE t (x)")
    writer.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="database is locked"):
        shared_database(path)


def test_many_that_open_a_new_file_at_once_all_get_it(tmp_path: Path) -> None:
    failures: list[sqlite3.Error] = []

    def opens(path: Path, all_here: threading.Barrier) -> None:
        all_here.wait()
        try:
            shared_database(path).close()
        except sqlite3.Error as error:
            failures.append(error)

    for number in range(40):
        all_here = threading.Barrier(4)
        threads = [threading.Thread(target=opens, args=(tmp_path / f"{number}.sqlite", all_here)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []
