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
from skillweave.llm.ledger import dollars
from skillweave.llm.replay import WAIT, shared_database

SPENDING = f"{CACHE}/spending.sqlite"
BILLION = 1_000_000_000
LARGEST = 2**62
"""The largest sum of one kind that the file can hold, in billionths of a dollar."""
RETRY_S = 0.05
"""Seconds after which a reservation that does not fit is tried again."""
GATHER_S = 0.02
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
    """What the runs on a folder have cost, in US dollars."""

    spent: float
    lost: float
    """The most that requests without a whole reply can have cost."""
    reserved: float
    """For requests under way."""
    unpriced: int
    """Replies and lost requests whose cost is not known."""


class Reservation(NamedTuple):
    """Money that is set aside for one request."""

    id: int
    most: int
    """Billionths of a dollar."""


class SharedBudget:
    """The account of all runs on one folder.

    Changes that come together are written together, in a thread of its own. They are on the disk before their futures
    are done. Without a limit nobody waits for them.
    """

    def __init__(self, folder: Path | None, budget_usd: float | None = None) -> None:
        """Nothing is read or written yet.

        Args:
            folder: The runs on it share the account; None keeps it in this process.
            budget_usd: The limit in US dollars; None is no limit.
        """
        self._folder = folder
        self._budget = budget_usd
        self._connection: sqlite3.Connection | None = None
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="budget")
        self._pending: list[tuple[Change, Future[Any]]] = []
        self._lock = threading.Lock()

    @property
    def has_limit(self) -> bool:
        return self._budget is not None

    async def reserve(self, most_usd: float) -> Reservation:
        """Reserve what a request can cost at most. If it does not fit now, wait until other requests are booked.

        Raises:
            BudgetError: It cannot fit any more.
            StopError: The account cannot be written.
        """
        most = _billionths(most_usd, up=True)
        while True:
            trial = self._submit(lambda connection: self._try_reserve(connection, most))
            try:
                result: Reservation | BudgetError | None = await asyncio.wrap_future(trial)
            except asyncio.CancelledError:
                trial.add_done_callback(self._cancel)
                raise
            except ArtifactError as error:
                raise StopError(f"{error}; without it no budget can be kept") from error
            if isinstance(result, BudgetError):
                raise result
            if result is not None:
                return result
            await asyncio.sleep(RETRY_S)

    def book(
        self, reservation: Reservation | None, *, cost_usd: float, lost_usd: float = 0.0, unpriced: int = 0
    ) -> "Future[None]":
        """Enter what a request cost, and drop its reservation.

        Args:
            reservation: The request's; None if nothing was reserved.
            cost_usd: What it cost.
            lost_usd: The most that tries without a whole reply can have cost.
            unpriced: Replies and lost tries whose cost is not known.

        Returns:
            A future that is done when the change is on the disk.
        """
        cost, lost = _billionths(cost_usd), _billionths(lost_usd, up=True)
        return self._submit(lambda connection: _book(connection, reservation, cost, lost, unpriced))

    async def close(self) -> None:
        """Write all changes and close the file. A later change opens it again."""
        await asyncio.wrap_future(self._writer.submit(self._release))

    def _cancel(self, trial: "Future[Any]") -> None:
        """Drop a reservation that nobody waits for any more."""
        if trial.exception() is None and isinstance(trial.result(), Reservation):
            self.book(trial.result(), cost_usd=0.0)

    def _submit(self, change: Change) -> "Future[Any]":
        future: Future[Any] = Future()
        # Not to be cancelled: what was spent is entered even if nobody waits for it any more.
        future.set_running_or_notify_cancel()
        with self._lock:
            self._pending.append((change, future))
            if len(self._pending) == 1:
                self._writer.submit(self._write_pending)
        return future

    def _write_pending(self) -> None:
        """Make all pending changes in one transaction."""
        if not self.has_limit:
            time.sleep(GATHER_S)
        with self._lock:
            pending, self._pending = self._pending, []
        try:
            with _transaction(self._open()) as connection:
                results = [change(connection) for change, _ in pending]
        except (sqlite3.Error, OSError) as error:
            failure = ArtifactError(f"{SPENDING} of {str(self._folder)!r} cannot be written: {error}")
            logger.warning("%s", failure)
            results = [failure] * len(pending)
        except ArtifactError as error:
            results = [error] * len(pending)
        for (_, future), result in zip(pending, results, strict=True):
            if isinstance(result, ArtifactError):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _open(self) -> sqlite3.Connection:
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

    def _release(self) -> None:
        if self._pending:
            self._write_pending()
        if self._connection is not None and self._folder is not None:
            self._connection.close()
            self._connection = None

    def _try_reserve(self, connection: sqlite3.Connection, most: int) -> Reservation | BudgetError | None:
        """The reservation; None if it has to wait for others; the error if waiting would not help."""
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
    """Read what the runs on a folder have cost.

    Returns:
        The sums, or None if nothing was entered.

    Raises:
        ArtifactError: The file cannot be read.
    """
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
        deleted = connection.execute("DELETE FROM reservation WHERE id = ?", (reservation.id,))
        if not deleted.rowcount:
            # Another process believed that this one had ended, and counted the reservation as lost.
            lost -= reservation.most
    connection.execute(
        "UPDATE total SET spent = min(spent + ?, ?), lost = min(lost + ?, ?), unpriced = unpriced + ?",
        (cost, LARGEST, lost, LARGEST, unpriced),
    )


def _read(connection: sqlite3.Connection) -> tuple[int, int, int, int]:
    """Spent, lost and reserved, in billionths, and the count of what has no price. Raises sqlite3.Error."""
    row = connection.execute(
        "SELECT spent, lost, (SELECT coalesce(sum(most), 0) FROM reservation), unpriced FROM total"
    ).fetchone()
    if row is None or not all(isinstance(value, int) for value in row):
        raise sqlite3.DatabaseError("it holds something else than sums")
    spent, lost, reserved, unpriced = row
    return spent, lost, reserved, unpriced


def _write_off(connection: sqlite3.Connection) -> None:
    """Count as lost what processes had reserved that have ended."""
    for id, most in _orphans(connection):
        connection.execute("DELETE FROM reservation WHERE id = ?", (id,))
        connection.execute("UPDATE total SET lost = min(lost + ?, ?)", (most, LARGEST))


def _orphans(connection: sqlite3.Connection) -> list[tuple[int, int]]:
    """Id and amount of the reservations of processes that have ended."""
    rows = connection.execute("SELECT id, most, pid, born FROM reservation").fetchall()
    births = {pid: _process_start(pid) for pid in {pid for _, _, pid, _ in rows}}
    return [(id, most) for id, most, pid, born in rows if births[pid] != born]


def _process_start(pid: int) -> str | None:
    """When a process began, which tells it from a later one with its number; None if there is none."""
    if not (PROCESSES / "self").exists():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return None
        except PermissionError:
            return ""
        return ""
    try:
        # The name of the program may hold anything; after it come the state and, at place 19, the start time.
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
    """An amount as the file holds it; `up` rounds up."""
    amount = min(usd * BILLION, float(LARGEST))
    return math.ceil(amount) if up else round(amount)
