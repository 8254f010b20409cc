"""The budget that all runs on one folder share, and what they have spent together.

Before a request is sent, the most that it can cost is reserved; it is not sent if that does not fit. Afterwards its
real cost is entered. What a process had reserved that is gone counts as lost, as do requests without a whole
reply: they may have been charged. So spent and lost together never pass the budget.

All is in one SQLite file, in whole billionths of a dollar. No library offers a budget that processes share.
"""

import asyncio
import logging
import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from skillweave.base.errors import ArtifactError, BudgetError, StopError
from skillweave.base.store import CACHE, Store
from skillweave.llm.database import WAIT, shared_database
from skillweave.llm.ledger import dollars

SPENDING = f"{CACHE}/spending.sqlite"
BILLION = 1_000_000_000
MOST = 2**62
"""Billionths that the file can hold of one kind."""
AGAIN = 0.05
"""Seconds after which it is looked again whether others have settled."""
GATHER = 0.02
"""Seconds in which changes are gathered that nobody waits for."""
PROCESSES = Path("/proc")

TABLES = """
CREATE TABLE IF NOT EXISTS total (spent INTEGER NOT NULL, lost INTEGER NOT NULL, unpriced INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS reservation (
    id INTEGER PRIMARY KEY AUTOINCREMENT, most INTEGER NOT NULL, pid INTEGER NOT NULL, born TEXT NOT NULL
);
INSERT INTO total SELECT 0, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM total);
"""

logger = logging.getLogger(__name__)
Change = Callable[[sqlite3.Connection], Any]


class Spending(NamedTuple):
    """What runs on a folder have come to, in US dollars."""

    spent: float
    lost: float
    """The most that requests without a whole reply can have cost."""
    reserved: float
    """For requests under way."""
    unpriced: int
    """Replies and lost requests whose cost is not known."""


class Reservation(NamedTuple):
    id: int
    most: int
    """Billionths."""


class SharedBudget:
    def __init__(self, folder: Path | None, budget_usd: float | None = None) -> None:
        """`folder` is what runs share; None keeps the account in this process alone. Nothing is written yet."""
        self._folder = folder
        self._budget = budget_usd
        self._connection: sqlite3.Connection | None = None
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="budget")
        self._owed: list[tuple[Change, Future[Any]]] = []
        self._lock = threading.Lock()

    @property
    def has_limit(self) -> bool:
        return self._budget is not None

    async def reserve(self, most_usd: float) -> Reservation:
        """Set money aside, once others have settled if it does not fit before. Raises BudgetError, StopError."""
        most = _billionths(most_usd, up=True)
        while True:
            trial = self._soon(lambda connection: self._try(connection, most))
            try:
                found: Reservation | BudgetError | None = await asyncio.wrap_future(trial)
            except asyncio.CancelledError:
                trial.add_done_callback(self._give_back)
                raise
            except ArtifactError as error:
                raise StopError(f"{error}; without it no budget can be kept") from error
            if isinstance(found, BudgetError):
                raise found
            if found is not None:
                return found
            await asyncio.sleep(AGAIN)

    def book(
        self, reservation: Reservation | None, *, cost_usd: float, lost_usd: float = 0.0, unpriced: int = 0
    ) -> "Future[None]":
        """Enter what a request came to, in the place of what was reserved for it; done when it is on the disk."""
        cost, lost = _billionths(cost_usd), _billionths(lost_usd, up=True)
        return self._soon(lambda connection: _book(connection, reservation, cost, lost, unpriced))

    async def close(self) -> None:
        """Write what is owed, and let go of the file; it is opened again where more is entered."""
        await asyncio.wrap_future(self._writer.submit(self._let_go))

    def _give_back(self, trial: "Future[Any]") -> None:
        """What was set aside for who no longer waits for it."""
        if trial.exception() is None and isinstance(trial.result(), Reservation):
            self.book(trial.result(), cost_usd=0.0)

    def _soon(self, change: Change) -> "Future[Any]":
        future: Future[Any] = Future()
        # It is made in any case: what was spent is entered though nobody waits for that any more.
        future.set_running_or_notify_cancel()
        with self._lock:
            self._owed.append((change, future))
            if len(self._owed) == 1:
                self._writer.submit(self._write_owed)
        return future

    def _write_owed(self) -> None:
        """Make all changes that wait, in one transaction."""
        if not self.has_limit:
            time.sleep(GATHER)
        with self._lock:
            owed, self._owed = self._owed, []
        try:
            with _transaction(self._opened()) as connection:
                results = [change(connection) for change, _ in owed]
        except (sqlite3.Error, OSError) as error:
            complaint = ArtifactError(f"{SPENDING} of {str(self._folder)!r} cannot be written: {error}")
            logger.warning("%s", complaint)
            results = [complaint] * len(owed)
        except ArtifactError as error:
            results = [error] * len(owed)
        for (_, future), result in zip(owed, results, strict=True):
            if isinstance(result, ArtifactError):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = shared_database(self._path())
            connection.execute(f"PRAGMA synchronous = {'FULL' if self.has_limit else 'NORMAL'}")
            with _transaction(connection):
                for statement in TABLES.split(";\n"):
                    connection.execute(statement)
                _write_off(connection)
            self._connection = connection
        return self._connection

    def _path(self) -> str:
        if self._folder is None:
            return ":memory:"
        path = Store(self._folder).path(SPENDING)
        path.parent.mkdir(parents=True, exist_ok=True)
        return str(path)

    def _let_go(self) -> None:
        if self._owed:
            self._write_owed()
        if self._connection is not None and self._folder is not None:
            self._connection.close()
            self._connection = None

    def _try(self, connection: sqlite3.Connection, most: int) -> Reservation | BudgetError | None:
        """The reservation; None where it has to wait for others; the error where that would be in vain."""
        for _ in range(2):
            spent, lost, reserved, _unpriced = _read(connection)
            if self._budget is None or spent + lost + reserved + most <= self._budget * BILLION:
                pid = os.getpid()
                row = "INSERT INTO reservation (most, pid, born) VALUES (?, ?, ?)"
                id = connection.execute(row, (most, pid, _process_start(pid))).lastrowid
                assert id is not None
                return Reservation(id, most)
            if spent + lost + most > self._budget * BILLION:
                return self._refusal(spent, lost, most)
            _write_off(connection)
        return None

    def _refusal(self, spent: int, lost: int, most: int) -> BudgetError:
        assert self._budget is not None
        where = f" in {str(self._folder)!r}" if self._folder is not None else ""
        lost_too = f", and at most {dollars(lost / BILLION)} lost on requests without a reply," if lost else ""
        return BudgetError(
            f"the budget of {dollars(self._budget)} is used up: {dollars(spent / BILLION)} spent{lost_too}{where}, "
            f"and the next request may cost {dollars(most / BILLION)}; raise llm.budget_usd, or lower max_tokens or "
            "llm.max_answer_tokens"
        )


def spending(folder: Path) -> Spending | None:
    """What runs on a folder have come to; None where nothing was entered. Raises ArtifactError."""
    path = Store(folder).path(SPENDING)
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=WAIT)) as connection:
            spent, lost, reserved, unpriced = _read(connection)
            gone = sum(most for _, most in _orphans(connection))
    except sqlite3.Error as error:
        raise ArtifactError(f"{SPENDING} of {str(folder)!r} cannot be read: {error}; it says what was spent") from error
    return Spending(spent / BILLION, (lost + gone) / BILLION, (reserved - gone) / BILLION, unpriced)


def _book(connection: sqlite3.Connection, reservation: Reservation | None, cost: int, lost: int, unpriced: int) -> None:
    if reservation is not None:
        found = connection.execute("DELETE FROM reservation WHERE id = ?", (reservation.id,))
        if not found.rowcount:
            # Another process took this one for gone, and wrote off what it had reserved.
            lost -= reservation.most
    connection.execute(
        "UPDATE total SET spent = min(spent + ?, ?), lost = min(lost + ?, ?), unpriced = unpriced + ?",
        (cost, MOST, lost, MOST, unpriced),
    )


def _read(connection: sqlite3.Connection) -> tuple[int, int, int, int]:
    """Spent, lost, reserved, and the count of what has no price. Raises sqlite3.Error."""
    found = connection.execute(
        "SELECT spent, lost, (SELECT coalesce(sum(most), 0) FROM reservation), unpriced FROM total"
    ).fetchone()
    if found is None or not all(isinstance(value, int) for value in found):
        raise sqlite3.DatabaseError("it holds something else than sums")
    spent, lost, reserved, unpriced = found
    return spent, lost, reserved, unpriced


def _write_off(connection: sqlite3.Connection) -> None:
    """Take for lost what processes reserved that are gone."""
    for id, most in _orphans(connection):
        connection.execute("DELETE FROM reservation WHERE id = ?", (id,))
        connection.execute("UPDATE total SET lost = min(lost + ?, ?)", (most, MOST))


def _orphans(connection: sqlite3.Connection) -> list[tuple[int, int]]:
    """Id and amount of the reservations of processes that are gone."""
    rows = connection.execute("SELECT id, most, pid, born FROM reservation").fetchall()
    births = {pid: _process_start(pid) for pid in {pid for _, _, pid, _ in rows}}
    return [(id, most) for id, most, pid, born in rows if births[pid] != born]


def _process_start(pid: int) -> str | None:
    """When a process began, which tells it from a later one of its number; None where there is none."""
    if not (PROCESSES / "self").exists():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return None
        except PermissionError:
            return ""
        return ""
    try:
        # What follows the name of the program, which may hold anything: the state, ..., the time of its beginning.
        fields = (PROCESSES / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _billionths(usd: float, *, up: bool = False) -> int:
    """As the file holds it; `up` never makes less of it."""
    amount = min(usd * BILLION, float(MOST))
    return math.ceil(amount) if up else round(amount)
