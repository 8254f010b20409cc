import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from skillweave.errors import AuthorError
from skillweave.llm.ask import Line
from skillweave.llm.ledger import Ledger
from skillweave.llm.request import Reply, Request
from skillweave.manifest import Output
from skillweave.schema.blueprint import Blueprint
from skillweave.store import Store
from synth.artifacts import BLUEPRINTS
from synth.context import Context, Setting
from synth.engine.codec import encode
from synth.offline.author import OfflineAuthor
from synth.steps.s07_policy_generation import PolicyParams, policy_generation
from tests.policy.contracts import NOW, a_contract

R = TypeVar("R")
KEY = "DentalClinic"
Answer = Callable[[Request], str | None]


class Author:
    """The offline author as a backend; `instead` may answer first. Rewording is answered by it alone."""

    name = "offline/author"

    def __init__(self, instead: Answer) -> None:
        self._instead = instead
        self._author = OfflineAuthor(7)
        self.asked: list[str] = []

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request.question)
        own = self._instead(request)
        return Reply(self._author(request) if own is None else own)

    async def close(self) -> None:
        """Nothing is open."""


class Services:
    def __init__(self, author: Author, *, judges: bool) -> None:
        self._author, self._judges = author, judges

    def line(self, step: str, role: str) -> Line | None:
        return Line([self._author], Ledger()) if role != "judge" or self._judges else None

    async def offload(self, function: Callable[..., R], *arguments: object) -> R:
        return function(*arguments)

    def log(self, step: str, key: str, message: str) -> None:
        """Nobody reads it."""


def run(
    contract: Blueprint, folder: Path, instead: Answer = lambda request: None, *, judges: bool = False
) -> tuple[str, Context[Any], Author]:
    """The policy that the step writes for a contract, with the item's account; who `judges` is the author."""
    store, author = Store(folder), Author(instead)
    store.write("given.json", encode(BLUEPRINTS, contract))
    stamp = store.stamp("given.json")
    given = Output(
        artifact=BLUEPRINTS.pattern, key=KEY, label="given", path="given.json", digest="0", size=stamp.size, mtime_ns=0
    )
    context: Context[Any] = Context(
        policy_generation,
        KEY,
        params=PolicyParams(),
        setting=Setting(7, NOW, ()),
        store=store,
        visible={(BLUEPRINTS.pattern, KEY): given},
        services=Services(author, judges=judges),
    )

    async def item() -> None:
        await policy_generation.run(context, KEY)

    asyncio.run(item())
    return store.read(f"policies/{KEY}.md").decode(), context, author


def with_says(old: str, new: str) -> Blueprint:
    contract = a_contract()
    tools = [
        tool.model_copy(
            update={"guards": [g.model_copy(update={"says": g.says.replace(old, new)}) for g in tool.guards]}
        )
        for tool in contract.tools
    ]
    return contract.model_copy(update={"tools": tools})


def test_a_contract_that_agrees_with_itself_gets_its_policy(tmp_path: Path) -> None:
    text, _, author = run(a_contract(), tmp_path)
    assert "[R14]" in text
    assert author.asked == ["policy.write"]


def test_a_figure_that_the_sql_does_not_hold_rejects_the_item_by_name(tmp_path: Path) -> None:
    with pytest.raises(AuthorError, match=r"at least 9 hours.*the SQL says 6 hours, the sentence does not"):
        run(with_says("at least 6 hours", "at least 9 hours"), tmp_path)


def test_a_rule_that_the_author_words_anew_stands_so_in_the_policy(tmp_path: Path) -> None:
    right = "An appointment cannot be cancelled unless at least 6 hours are left until its start."

    def author(request: Request) -> str | None:
        return right if request.question == "policy.reword" else None

    text, context, _ = run(with_says("at least 6 hours", "at least 9 hours"), tmp_path, author)
    assert right in text
    assert "at least 9 hours" not in text
    assert context.account.figures["rules worded anew"] == 1
