import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from skillweave.base.errors import ArtifactError, ProviderError, StopError
from skillweave.llm.backends.backend import OfflineBackend, Reply, Request, Sampling
from skillweave.llm.replay import CachedBackend
from skillweave.schema.trajectory import Message


class Counting:
    def __init__(self, reply: str = "yes") -> None:
        self.asked = 0
        self.reply = reply

    def __call__(self, _: Request) -> Reply:
        self.asked += 1
        return Reply(self.reply, input_tokens=5, output_tokens=6, model="m", cost_usd=0.5)


def a_request(**changes: Any) -> Request:
    settings: dict[str, Any] = {"messages": (Message(role="user", content="?"),), "model": "m", "key": "k"}
    return Request(**(settings | changes))


def through(path: Path, author: Counting, *requests: Request, model: str = "m", source: str = "") -> list[Reply]:
    async def all_of_them() -> list[Reply]:
        cache = CachedBackend(OfflineBackend(author, model), path, source)
        replies = [await cache.complete(request) for request in requests]
        await cache.close()
        return replies

    return asyncio.run(all_of_them())


def test_an_answer_is_paid_for_once_even_across_runs(tmp_path: Path) -> None:
    author = Counting("é \ud800")
    first, second = through(tmp_path / "c", author, a_request(), a_request())
    (third,) = through(tmp_path / "c", author, a_request())
    assert author.asked == 1
    assert (first.cached, second.cached, third.cached) == (False, True, True)
    assert first.text == second.text == third.text == "é \ud800"


def test_whatever_could_change_the_answer_is_part_of_its_address(tmp_path: Path) -> None:
    author = Counting()
    through(
        tmp_path / "c",
        author,
        a_request(),
        a_request(messages=(Message(role="user", content="!"),)),
        a_request(model="n"),
        a_request(sampling=Sampling(temperature=0.0)),
        a_request(key="other"),
        a_request(attempt=1),
        a_request(schema={"type": "string"}),
        a_request(tools=({"type": "function"},)),
    )
    assert author.asked == 8
    through(tmp_path / "c", author, a_request(), model="other")
    assert author.asked == 9
    through(tmp_path / "c", author, a_request(), source="http://127.0.0.1:9/v1")
    assert author.asked == 10


def test_the_question_name_and_variables_are_no_part_of_it(tmp_path: Path) -> None:
    author = Counting()
    through(tmp_path / "c", author, a_request(), a_request(question="renamed", variables={"x": 1}))
    assert author.asked == 1


def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    def broken(_: Request) -> str:
        raise ProviderError("down")

    cache = CachedBackend(OfflineBackend(broken, "m"), tmp_path / "c")
    with pytest.raises(ProviderError):
        asyncio.run(cache.complete(a_request()))
    author = Counting()
    assert through(tmp_path / "c", author, a_request())[0].text == "yes"


def test_a_reply_is_on_disk_before_it_is_read(tmp_path: Path) -> None:
    cache = CachedBackend(OfflineBackend(Counting(), "m"), tmp_path / "c")
    asyncio.run(cache.complete(a_request()))
    with sqlite3.connect(tmp_path / "c") as other:
        assert other.execute("SELECT count(*) FROM reply").fetchone() == (1,)


@pytest.mark.parametrize("body", ['{"text": 3}', "[" * 100_000, b"\xff"], ids=["types", "depth", "bytes"])
def test_a_damaged_entry_is_asked_again(tmp_path: Path, body: str | bytes) -> None:
    author = Counting()
    through(tmp_path / "c", author, a_request())
    with sqlite3.connect(tmp_path / "c") as other:
        other.execute("UPDATE reply SET body = ?", (body,))
    assert through(tmp_path / "c", author, a_request(), a_request())[1].cached
    assert author.asked == 2


def test_a_file_that_is_no_cache_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("not a database, not a database, not a database")
    with pytest.raises(ArtifactError, match="delete it"):
        CachedBackend(OfflineBackend(Counting()), tmp_path / "c")


def test_the_run_stops_where_replies_cannot_be_kept(tmp_path: Path) -> None:
    """Every further one would be paid for and lost."""
    cache = CachedBackend(OfflineBackend(Counting(), "m"), tmp_path / "c")
    with sqlite3.connect(tmp_path / "c") as other:
        other.execute("CREATE TRIGGER no BEFORE INSERT ON reply BEGIN SELECT raise(ABORT, 'no room'); END")
    other.close()
    with pytest.raises(StopError, match=r"cannot be written \(no room\)"):
        asyncio.run(cache.complete(a_request()))


@pytest.mark.parametrize(
    ("reply", "asked"),
    [
        (Reply(""), 2),
        (Reply("", stop="length"), 2),
        (Reply("Half", stop="content_filter"), 2),
        (Reply("", stop="content_filter", refusal="No."), 2),
        (Reply("", stop="context_window"), 1),
    ],
)
def test_what_says_nothing_is_asked_again(tmp_path: Path, reply: Reply, asked: int) -> None:
    seen: list[Request] = []

    def author(request: Request) -> Reply:
        seen.append(request)
        return reply

    async def twice() -> None:
        cache = CachedBackend(OfflineBackend(author), tmp_path / "c")
        assert await cache.complete(a_request()) == reply
        await cache.complete(a_request())
        await cache.close()

    asyncio.run(twice())
    assert len(seen) == asked
