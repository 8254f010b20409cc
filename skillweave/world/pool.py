"""Copies of a database in memory, lent to sessions one at a time.

A borrower works inside one transaction, so giving a copy back means rolling it back. Prepared statements stay warm, and
opening a session costs microseconds.
"""

import math
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from skillweave.schema.blueprint import Blueprint
from skillweave.world import database
from skillweave.world.authorizer import authorize
from skillweave.world.database import create_views
from skillweave.world.diff import log_touched

MAX_STEPS = 20_000_000
"""Steps of SQLite's virtual machine that one call may take (about a second of work)."""
_STRIDE = 20_000
"""Steps between two looks at the count."""
LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 2_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 200_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 20,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 32,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 4,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


class StepMeter:
    """Steps of SQLite's virtual machine that all copies of a world take together. Short statements are not counted."""

    def __init__(self, most: float) -> None:
        """Start at zero. `most` is the limit; `math.inf` is none."""
        self._most = most
        self.spent = 0

    @property
    def is_spent(self) -> bool:
        """Whether the limit is passed; then SQLite interrupts every long statement."""
        return self.spent > self._most


class DatabaseCopy:
    """One copy of a database. Statements reach its own tables and allowed functions only, within limits."""

    def __init__(self, content: bytes, blueprint: Blueprint, meter: StepMeter) -> None:
        """Open a copy.

        Args:
            content: The database as a file holds it.
            blueprint: Its contract.
            meter: Where the steps of this copy are counted too.
        """
        self.connection = database.connect()
        self.connection.deserialize(content)
        log_touched(self.connection, blueprint)
        create_views(self.connection, blueprint)
        for limit, value in LIMITS.items():
            self.connection.setlimit(limit, value)
        self.steps = 0
        """Steps of the present call; the session sets it to zero before each."""
        self._meter = meter
        self.connection.set_progress_handler(self._has_run_out, _STRIDE)
        tables, views = blueprint.tables, [view.entity.table for view in blueprint.views]
        authorize(self.connection, [entity.table for entity in tables], views=views)

    def _has_run_out(self) -> bool:
        self.steps += _STRIDE
        self._meter.spent += _STRIDE
        return self.steps > MAX_STEPS or self._meter.is_spent


class DatabasePool:
    """Lends copies. Each has one borrower at a time, so sessions of different threads never share one."""

    def __init__(self, content: bytes, blueprint: Blueprint, most_steps: float = math.inf) -> None:
        """Start without copies; they are made when they are asked for.

        Args:
            content: The database as a file holds it.
            blueprint: Its contract.
            most_steps: Steps of SQLite's virtual machine that all copies together may take.
        """
        self.meter = StepMeter(most_steps)
        self._content = content
        self._blueprint = blueprint
        self._idle: list[DatabaseCopy] = []
        self._lock = threading.Lock()

    def lend(self) -> DatabaseCopy:
        """A copy of the database in a new transaction. The borrower gives it back with `take_back`."""
        with self._lock:
            copy = self._idle.pop() if self._idle else None
        copy = copy or DatabaseCopy(self._content, self._blueprint, self.meter)
        copy.connection.execute("BEGIN")
        return copy

    def take_back(self, copy: DatabaseCopy) -> None:
        """Take a copy back, and roll back what was done to it."""
        if copy.connection.in_transaction:
            copy.connection.execute("ROLLBACK")
        with self._lock:
            self._idle.append(copy)

    @contextmanager
    def lent(self) -> Iterator[DatabaseCopy]:
        """A copy for the length of a `with` block."""
        copy = self.lend()
        try:
            yield copy
        finally:
            self.take_back(copy)

    def close(self) -> None:
        """Close the copies that nobody has borrowed."""
        with self._lock:
            idle, self._idle = self._idle, []
        for copy in idle:
            copy.connection.close()
