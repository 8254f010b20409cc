import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skillweave.base.errors import AuthorError
from skillweave.llm.backends.backend import Request
from skillweave.schema.contract import Policy
from synth.artifacts import BLUEPRINTS, SUMMARIES
from synth.offline.author import OfflineAuthor
from synth.policy.manual import on_one_line, stated_rules
from synth.steps.s07_policy_generation import policy_generation
from tests.policy.contracts import a_contract
from tests.policy.stage import KEY, Author, context

CONTRACT = a_contract()


def changed(change: Callable[[dict[str, Any], int], None]) -> Author:
    """The offline author, with its manual changed; the change is told how often it was sent back."""

    def answer(request: Request) -> str:
        manual = json.loads(OfflineAuthor(7)(request))
        change(manual, request.attempt)
        return json.dumps(manual)

    return Author(answer)


def policy(folder: Path, author: Author) -> str:
    ctx = context(policy_generation, folder, author, {BLUEPRINTS: CONTRACT})
    asyncio.run(policy_generation.run(ctx, KEY))  # type: ignore[arg-type]
    return (folder / f"policies/{KEY}.md").read_text("utf-8")


def test_each_rule_stands_word_for_word_in_the_section_of_each_of_its_tools(tmp_path: Path) -> None:
    author = Author()
    text = policy(tmp_path, author)
    assert author.asked == ["policy.write"]
    only = Policy(world=KEY, text=text)
    assert only.tools == [tool.name for tool in CONTRACT.tools]
    assert only.for_tools([]).rules == []
    for tool in CONTRACT.tools:
        section = Policy(world=KEY, text=only.for_tools([tool.name]).text)
        assert sorted(section.rules) == sorted(stated_rules(tool))
        for rule, says in stated_rules(tool).items():
            assert section.text.count(f"[{rule}] {on_one_line(says)}") == 1


def test_a_rule_that_several_tools_share_is_shown_once(tmp_path: Path) -> None:
    author = Author()
    policy(tmp_path, author)
    (said,) = [str(message.content) for message in author.requests[0].messages if message.role == "user"]
    assert all(said.count(says) == 1 for tool in CONTRACT.tools for says in stated_rules(tool).values())


def test_a_left_out_rule_is_sent_back_by_name_and_mended(tmp_path: Path) -> None:
    def forgetful(manual: dict[str, Any], attempt: int) -> None:
        if not attempt:
            del manual["sections"][-1]["paragraphs"][0]

    author = changed(forgetful)
    assert "[R14]" in policy(tmp_path, author)
    complaint = str(author.requests[1].messages[-1].content)
    assert f"the section of {CONTRACT.tools[-1].name} lacks R" in complaint


def test_an_author_that_never_places_a_rule_rejects_the_item(tmp_path: Path) -> None:
    def forgetful(manual: dict[str, Any], attempt: int) -> None:
        manual["sections"][-1]["paragraphs"] = []

    with pytest.raises(AuthorError, match="lacks R"):
        policy(tmp_path, changed(forgetful))


def test_the_policy_waits_for_its_world() -> None:
    assert SUMMARIES in policy_generation.reads
