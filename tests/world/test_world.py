import sqlite3
import threading
from pathlib import Path

import pytest

from skillweave.base.errors import ArtifactError
from skillweave.world.world import World
from tests.world.clinic import NOW, a_blueprint, a_world


def test_a_world_opens_from_bytes_and_from_a_file_alike(tmp_path: Path) -> None:
    path = tmp_path / "clinic.sqlite"
    path.write_bytes(a_world().content)
    one, other = World(a_blueprint(), path, now=NOW), World(a_blueprint(), path.read_bytes(), now=NOW)
    assert one.content == other.content == a_world().content
    with one.session(caller="PAT-0001") as session:
        assert session.call("book_appointment", {"slot_id": "SLO-0004"}).ok
        assert session.now == NOW


def test_a_file_in_write_ahead_mode_opens_too(tmp_path: Path) -> None:
    path = tmp_path / "clinic.sqlite"
    path.write_bytes(a_world().content)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    assert World(a_blueprint(), path, now=NOW).content == a_world().content


def test_a_foreign_database_makes_no_world() -> None:
    with pytest.raises(ArtifactError):
        World(a_blueprint(), b"nothing", now=NOW)


def test_sessions_in_many_threads_do_not_meet() -> None:
    world = a_world()
    wrong: list[str] = []

    def work(person: str) -> None:
        for _ in range(30):
            with world.session(caller=person) as session:
                session.call("book_appointment", {"slot_id": "SLO-0004"})
                owners = {(change.after or {}).get("patient_id") for change in session.diff()} - {None}
                if owners != {person}:
                    wrong.append(person)

    threads = [threading.Thread(target=work, args=(f"PAT-000{number}",)) for number in (1, 2, 3, 1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
