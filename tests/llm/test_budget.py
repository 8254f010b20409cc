"""A budget shared by threads and processes: never over the budget, and nothing that was spent is forgotten."""

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from skillweave.base.errors import ArtifactError, BudgetError, StopError
from skillweave.llm.budget import SPENDING, Reservation, SharedBudget, spending
from tests.waiting import HANG

HOLDS_ONE = """
import asyncio, sys, time
from pathlib import Path
from skillweave.llm.budget import SharedBudget
asyncio.run(SharedBudget(Path(sys.argv[1]), 10.0).reserve(4.0))
print("reserved", flush=True)
time.sleep(9999)
"""
SPENDS = """
import sys
from pathlib import Path
from tests.llm.test_budget import spend_all
print("ready", flush=True)
sys.stdin.readline()
print(spend_all(Path(sys.argv[1]), seed=int(sys.argv[2])))
"""
ROOT = Path(__file__).parents[2]
BUDGET, MOST = 0.6, 0.04


async def asker(budget: SharedBudget, draws: random.Random, peaks: list[float], folder: Path) -> int:
    """Pay until the budget is spent: requests that cost up to what is reserved, and some that are lost."""
    for count in range(1_000):
        try:
            held = await budget.reserve(MOST)
        except BudgetError:
            return count
        await asyncio.sleep(draws.random() / 500)
        if draws.random() < 0.1:
            await asyncio.wrap_future(budget.book(held, cost_usd=0.0, lost_usd=MOST))
        else:
            await asyncio.wrap_future(budget.book(held, cost_usd=MOST * draws.random()))
        found = spending(folder)
        assert found is not None
        peaks.append(found.spent + found.lost + found.reserved)
    raise AssertionError("the budget never ended")


def spend_all(folder: Path, seed: int, askers: int = 3) -> int:
    """Have some askers in each of two threads, each with an event loop and a budget of its own; the requests made."""
    counts: list[int] = []
    peaks: list[float] = []

    def in_thread(number: int) -> None:
        async def all_of_them() -> list[int]:
            budget = SharedBudget(folder, BUDGET)
            draws = random.Random(f"{seed}/{number}")
            try:
                return await asyncio.gather(*(asker(budget, draws, peaks, folder) for _ in range(askers)))
            finally:
                await budget.close()

        counts.extend(asyncio.run(all_of_them()))

    threads = [threading.Thread(target=in_thread, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(peaks, default=0.0) <= BUDGET + 1e-9
    return sum(counts)


def test_threads_and_processes_together_never_pass_the_budget(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SPENDS, str(tmp_path)]
    pipe = subprocess.PIPE
    others = [
        subprocess.Popen([*command, str(seed)], cwd=ROOT, stdin=pipe, stdout=pipe, text=True) for seed in range(2)
    ]
    for other in others:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
    counts = [int(other.communicate("go\n", timeout=HANG)[0]) for other in others]
    assert [other.returncode for other in others] == [0, 0]
    found = spending(tmp_path)
    assert found is not None
    # It ended because not even one more request fitted, and nothing is out.
    assert BUDGET - MOST < found.spent + found.lost <= BUDGET + 1e-9
    assert found.reserved == 0
    assert sum(counts) > BUDGET / MOST


def test_a_request_waits_for_what_others_may_give_back(tmp_path: Path) -> None:
    async def both() -> list[str]:
        budget, said = SharedBudget(tmp_path, 1.0), []

        async def second() -> None:
            await budget.reserve(0.7)
            said.append("second")

        held = await budget.reserve(0.7)
        waiting = asyncio.create_task(second())
        await asyncio.sleep(0.15)
        said.append("first")
        budget.book(held, cost_usd=0.3)
        await waiting
        await budget.close()
        return said

    assert asyncio.run(both()) == ["first", "second"]


def test_what_was_set_aside_for_who_gave_up_is_given_back(tmp_path: Path) -> None:
    async def asked() -> Reservation:
        budget = SharedBudget(tmp_path, 1.0)
        for count in range(40):
            asking = asyncio.create_task(budget.reserve(0.1))
            await asyncio.sleep(0.0002 * (count % 8))
            asking.cancel()
            for held in await asyncio.gather(asking, return_exceptions=True):
                if isinstance(held, Reservation):
                    budget.book(held, cost_usd=0.0)
        async with asyncio.timeout(HANG):
            return await budget.reserve(1.0)

    assert asyncio.run(asked()).most == 10**9


def test_what_can_never_fit_is_refused_at_once_and_in_one_line(tmp_path: Path) -> None:
    async def asked() -> None:
        budget = SharedBudget(tmp_path, 1.0)
        held = await budget.reserve(0.5)
        await asyncio.wrap_future(budget.book(held, cost_usd=0.25, lost_usd=0.125))
        await budget.reserve(0.5)
        await budget.reserve(0.7)

    with pytest.raises(BudgetError) as caught:
        asyncio.run(asked())
    assert str(caught.value) == (
        f"the budget of $1.00 is used up: $0.25 spent, and at most $0.12 lost on requests without a reply, in "
        f"{str(tmp_path)!r}, and the next request may cost $0.70; raise llm.budget_usd, or lower max_tokens or "
        "llm.max_answer_tokens"
    )


def test_runs_share_the_budget_one_after_the_other(tmp_path: Path) -> None:
    async def one(limit: float) -> None:
        budget = SharedBudget(tmp_path, limit)
        budget.book(await budget.reserve(0.6), cost_usd=0.6)
        await budget.close()

    asyncio.run(one(1.0))
    with pytest.raises(BudgetError):
        asyncio.run(one(1.0))
    asyncio.run(one(1.2))


def test_what_a_dead_process_reserved_is_lost(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDS_ONE, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE) as held:
        assert held.stdout is not None
        assert held.stdout.readline() == b"reserved\n"
        found = spending(tmp_path)
        assert found is not None
        assert (found.lost, found.reserved) == (0.0, 4.0)
        os.kill(held.pid, signal.SIGKILL)
        held.wait()
    found = spending(tmp_path)
    assert found is not None
    assert (found.lost, found.reserved) == (4.0, 0.0)
    with pytest.raises(BudgetError, match=r"at most \$4.00 lost"):
        asyncio.run(SharedBudget(tmp_path, 10.0).reserve(7.0))
    with sqlite3.connect(tmp_path / SPENDING) as file:
        assert file.execute("SELECT count(*) FROM reservation").fetchone() == (0,)


def test_who_was_taken_for_dead_and_was_not_settles_for_what_it_cost(tmp_path: Path) -> None:
    async def asked() -> None:
        budget = SharedBudget(tmp_path, 10.0)
        held = await budget.reserve(4.0)
        with sqlite3.connect(tmp_path / SPENDING) as file:
            file.execute("UPDATE reservation SET born = 'of another one'")
        file.close()
        await asyncio.wrap_future(SharedBudget(tmp_path, 10.0).book(None, cost_usd=0.0))
        assert (spending(tmp_path) or held)[1] == 4.0
        await asyncio.wrap_future(budget.book(held, cost_usd=1.0))

    asyncio.run(asked())
    assert spending(tmp_path) == (1.0, 0.0, 0.0, 0)


def test_without_a_budget_nobody_waits_and_nothing_is_forgotten(tmp_path: Path) -> None:
    async def asked() -> None:
        budget = SharedBudget(tmp_path)
        for _ in range(1_000):
            budget.book(None, cost_usd=0.001, lost_usd=0.002, unpriced=1)
        await budget.close()

    asyncio.run(asked())
    found = spending(tmp_path)
    assert found is not None
    assert found == pytest.approx((1.0, 2.0, 0.0, 1_000))


def test_one_without_a_folder_keeps_the_budget_in_its_process(tmp_path: Path) -> None:
    async def asked() -> None:
        budget = SharedBudget(None, 1.0)
        budget.book(await budget.reserve(0.6), cost_usd=0.6)
        await budget.close()
        await budget.reserve(0.6)

    with pytest.raises(BudgetError):
        asyncio.run(asked())


def test_a_file_that_is_no_account_is_told(tmp_path: Path) -> None:
    (tmp_path / ".cache").mkdir()
    (tmp_path / SPENDING).write_text("not a database, not a database, not a database")
    with pytest.raises(StopError, match="cannot be written: file is not a database"):
        asyncio.run(SharedBudget(tmp_path, 1.0).reserve(0.1))
    with pytest.raises(ArtifactError, match="cannot be read"):
        spending(tmp_path)


@pytest.mark.parametrize("damage", ["DELETE FROM total", "UPDATE total SET spent = 'much'"])
def test_an_account_without_sums_is_told(tmp_path: Path, damage: str) -> None:
    asyncio.run(SharedBudget(tmp_path, 1.0).reserve(0.1))
    with sqlite3.connect(tmp_path / SPENDING) as file:
        file.execute(damage)
    file.close()
    with pytest.raises(ArtifactError, match="something else than sums"):
        spending(tmp_path)


def test_absurd_amounts_do_not_break_the_file(tmp_path: Path) -> None:
    async def asked() -> None:
        budget = SharedBudget(tmp_path, 1.0)
        held = Reservation(99, 0)
        for _ in range(3):
            await asyncio.wrap_future(budget.book(held, cost_usd=1e300, lost_usd=float("inf")))
        with pytest.raises(BudgetError):
            await budget.reserve(0.0)

    asyncio.run(asked())
