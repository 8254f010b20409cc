"""Open an SQLite file that several processes write at once."""

import sqlite3
import time
from pathlib import Path

WAIT = 30.0
"""Seconds to wait for another process that writes."""
RETRY_S = 0.05
"""Seconds between two attempts to switch the journal."""


def shared_database(path: Path | str) -> sqlite3.Connection:
    """Open a database with a write-ahead log, for any thread; each statement is its own transaction.

    SQLite waits for other writers by itself, except while the journal is switched: of two processes that open a new
    file at the same moment one would fail at once. So the switch is tried again, for WAIT seconds in all.

    Raises:
        sqlite3.Error: The file cannot be opened, is no database, or stays locked.
    """
    connection = sqlite3.connect(path, timeout=WAIT, check_same_thread=False, isolation_level=None)
    try:
        _write_ahead(connection, until=time.monotonic() + WAIT)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection, until: float) -> None:
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(RETRY_S)
