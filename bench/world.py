"""Measures the speed of worlds: sessions, calls, differences and replays.

Run it from the repository's root: `python -m bench.world`. It measures the small clinic of the tests and prints one
JSON document.
"""

import json
import platform
import sqlite3
import time
from collections.abc import Callable
from statistics import median

from skillweave.schema.task import GoldenCall
from skillweave.world.canonical import canonical
from skillweave.world.contract import problems
from skillweave.world.replay import replay_in
from tests.world.clinic import a_blueprint, a_world

ROUNDS = 2000
"""Runs of each operation; the median counts."""
BOOK = GoldenCall(tool="book_appointment", arguments={"slot_id": "SLO-0004"})
CANCEL = GoldenCall(
    tool="cancel_appointment",
    arguments={"appointment_id": "APT-0009"},
    grounding={"appointment_id": "call 0 appointment_id"},
)
GOLDEN = [BOOK, CANCEL, GoldenCall(tool="list_fees", arguments={})]


def microseconds(run: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The median microseconds of one run."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return round(median(times) * 1e6, 1)


def measured() -> dict[str, float]:
    """Median microseconds of each operation."""
    world, blueprint = a_world(), a_blueprint()

    def open_and_close() -> None:
        world.session(caller="PAT-0001").close()

    def replay_golden() -> None:
        with world.session(caller="PAT-0001") as session:
            replay_in(session, GOLDEN)

    medians = {"open_session": microseconds(open_and_close), "replay_three_calls": microseconds(replay_golden)}
    with world.session(caller="PAT-0001") as session:
        mark = session.mark()

        def write_and_undo() -> None:
            session.call(BOOK.tool, BOOK.arguments)
            session.undo(mark)

        medians["read_call"] = microseconds(lambda: session.call("find_slots", {}))
        medians["refused_call"] = microseconds(
            lambda: session.call("cancel_appointment", {"appointment_id": "APT-0002"})
        )
        medians["write_call_and_undo"] = microseconds(write_and_undo)
        session.undo(mark)
        for call in GOLDEN[:1]:
            session.call(call.tool, call.arguments)
        medians["diff_of_three_rows"] = microseconds(session.diff)
        changes = session.diff()
        medians["canonical_of_three_rows"] = microseconds(lambda: canonical(changes, session.minted))
    medians["make_world"] = microseconds(a_world, 50)
    medians["check_contract"] = microseconds(lambda: problems(blueprint), 10)
    return medians


if __name__ == "__main__":
    print(
        json.dumps(
            {
                "benchmark": "world",
                "unit": "microseconds, median",
                "python": platform.python_version(),
                "sqlite": sqlite3.sqlite_version,
                "results": measured(),
            },
            indent=2,
        )
    )
