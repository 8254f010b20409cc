"""Sessions that share what they find out, beside sessions that find out everything themselves."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillweave.base.errors import WorldError
from skillweave.schema.contract import RowChange
from skillweave.world import states
from skillweave.world.interpreter import run
from skillweave.world.session import ContractSession
from tests.world.clinic import a_world
from tests.world.moves import MOVES, Move, state_of

WORLD = a_world()
BOOK = Move("book_appointment", {"slot_id": "SLO-0004", "note": None})
PATCH = [RowChange(table="slot", op="update", key={"slot_id": "SLO-0001"}, before={"is_free": 1}, after={"is_free": 0})]
STEPS = st.lists(st.one_of(MOVES, st.sampled_from(["mark", "undo", "forget", "execute"])), max_size=12)


class Walk:
    """A session that goes step by step, and what it saw."""

    def __init__(self, session: ContractSession) -> None:
        self.session = session
        self.marks: list[int] = []

    def go(self, step: Move | str) -> Any:
        """Do a step, and say all that can be seen after it."""
        session = self.session
        done: Any = None
        if step == "mark":
            self.marks.append(session.mark())
        elif step == "execute":
            done = session.execute("UPDATE slot SET is_free = 1 - is_free WHERE slot_id = 'SLO-0008'")
        elif isinstance(step, Move):
            done = session.call(*step)
        elif self.marks:
            (session.undo if step == "undo" else session.forget)(self.marks[-1] if step == "undo" else self.marks.pop())
        free = session.query("SELECT slot_id FROM slot WHERE is_free = :yes ORDER BY slot_id", {"yes": 1})
        return done, free, session.diff(), session.canonical(), session.minted, session.results


@given(STEPS, STEPS, st.booleans())
def test_what_a_session_shows_does_not_depend_on_what_others_have_found_out(
    first: list[Move | str], then: list[Move | str], patched: bool
) -> None:
    patch = PATCH if patched else []
    with WORLD.sharing():
        for steps in (first, then, first):
            with (
                WORLD.session(caller="PAT-0001", patch=patch) as shared,
                WORLD.session(caller="PAT-0001", patch=patch, fresh=True) as fresh,
            ):
                one, other = Walk(shared), Walk(fresh)
                assert [deepcopy(one.go(step)) for step in steps] == [deepcopy(other.go(step)) for step in steps]
                assert state_of(shared) == state_of(fresh)


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tools whose contracts SQLite has carried out."""
    tools: list[str] = []

    def noting(connection: Any, compiled: Any, bindings: Any) -> Any:
        tools.append(compiled.tool.name)
        return run(connection, compiled, bindings)

    monkeypatch.setattr("skillweave.world.execution.run", noting)
    return tools


def book(**more: Any) -> None:
    """Book an appointment in a session of its own."""
    with WORLD.session(caller="PAT-0001", **more) as session:
        assert session.call(*BOOK).ok


def test_a_call_is_carried_out_once_for_all_sessions_that_share(executed: list[str]) -> None:
    with WORLD.sharing():
        book()
        book()
        assert executed == ["book_appointment"]
        book(patch=PATCH)
        assert len(executed) == 2, "other rows are another state"
        book(fresh=True)
        assert len(executed) == 3, "a fresh session finds out everything itself"
    book()
    assert len(executed) == 4, "outside nothing is shared"


def test_who_calls_and_when_is_part_of_what_is_shared(executed: list[str]) -> None:
    with WORLD.sharing():
        for caller, now in (("PAT-0001", None), ("PAT-0002", None), ("PAT-0001", "2025-01-19 09:00:00")):
            with WORLD.session(caller=caller, now=now) as session:
                session.call("list_appointments", {})
    assert len(executed) == 3


def test_hidden_tools_stay_hidden_where_others_have_called_them() -> None:
    with WORLD.sharing():
        book()
        with WORLD.session(caller="PAT-0001", hidden=frozenset({BOOK.tool})) as session:
            assert not session.call(*BOOK).ok
        with WORLD.session() as session:
            assert not session.call(*BOOK).ok


def test_a_patch_that_does_not_fit_is_refused_each_time() -> None:
    wrong = [PATCH[0].model_copy(update={"key": {"slot_id": "SLO-9999"}})]
    with WORLD.sharing():
        for _ in range(2):
            with pytest.raises(WorldError, match="does not fit"):
                WORLD.session(patch=wrong)
        book()


def test_a_world_that_remembers_too_much_forgets_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "MOST_CELLS", 100)
    with WORLD.sharing(), WORLD.session(caller="PAT-0001") as session:
        mark = session.mark()
        for _ in range(20):
            assert session.call(*BOOK).ok
            assert len(session.diff()) == 3
            session.undo(mark)
        assert session.diff() == []


@pytest.mark.parametrize("limit", ["MOST_SAVEPOINTS", "MOST_UNDONE"])
def test_marks_hold_in_long_sessions(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, limit, 2)
    marks: list[tuple[int, list[RowChange]]] = []
    toggle: Callable[[ContractSession, int], int] = lambda session, number: session.execute(  # noqa: E731
        "UPDATE slot SET is_free = 1 - is_free WHERE slot_id = :id", {"id": f"SLO-000{1 + number % 8}"}
    )
    with WORLD.session(caller="PAT-0001") as session:
        for number in range(24):
            if number % 3 == 0:
                marks.append((session.mark(), session.diff()))
            toggle(session, number)
        for mark, changes in reversed(marks):
            toggle(session, mark)
            session.undo(mark)
            assert session.diff() == changes
