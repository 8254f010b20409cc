"""Merging and choosing patches."""

import asyncio
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from learn.skill.document import Edit
from learn.skill.patches import merge_patches, needs_ranking, normalise, select
from skillweave.base.errors import AuthorError

PATCHES = st.lists(st.lists(st.text("abc", min_size=1, max_size=2), min_size=1, max_size=3), max_size=9)


@given(failure=PATCHES, success=PATCHES, size=st.integers(2, 4), fails=st.booleans())
def test_nothing_is_lost_if_no_merge_has_an_answer(
    failure: list[list[str]], success: list[list[str]], size: int, fails: bool
) -> None:
    async def merge(group: Sequence[Sequence[str]], level: int, source: str) -> list[str] | None:
        if fails:
            raise AuthorError("no usable answer")
        return None

    merged = asyncio.run(merge_patches(failure, success, merge_batch_size=size, merge=merge))
    assert merged == [item for patch in [*failure, *success] for item in patch]


def test_the_order_does_not_depend_on_who_answers_first() -> None:
    calls: list[tuple[int, str]] = []

    async def merge(group: Sequence[Sequence[str]], level: int, source: str) -> list[str] | None:
        calls.append((level, source))
        await asyncio.sleep(0.01 if group[0][0] == "a" else 0)
        return ["+".join(item for patch in group for item in patch)]

    merged = asyncio.run(merge_patches([["a"], ["b"], ["c"], ["d"], ["e"]], [["x"]], merge_batch_size=2, merge=merge))
    assert merged == ["a+b+c+d+e+x"]
    assert calls == [(1, "failure"), (1, "failure"), (2, "failure"), (3, "failure"), (4, "both")]


def test_an_empty_answer_drops_all() -> None:
    async def merge(group: Sequence[Sequence[str]], level: int, source: str) -> list[str] | None:
        return []

    assert asyncio.run(merge_patches([["a"], ["b"]], [], merge_batch_size=8, merge=merge)) == []


@given(pool=st.lists(st.integers()), budget=st.integers(-1, 9), indices=st.none() | st.lists(st.integers(-3, 12)))
def test_a_step_makes_at_most_its_budget(pool: list[int], budget: int, indices: list[int] | None) -> None:
    chosen = select(pool, budget, indices)
    assert len(chosen) <= max(0, budget)
    assert set(chosen) <= set(pool)
    if len(pool) <= budget:
        assert chosen == pool
    assert bool(chosen) == (bool(pool) and budget > 0)


def test_a_ranking_is_asked_for_only_where_it_decides() -> None:
    assert [needs_ranking("abc", budget) for budget in (0, 2, 3)] == [False, True, False]


def test_proposals_say_where_they_come_from_unless_they_do_already() -> None:
    plain, sure = Edit(op="append", content="x"), Edit(op="append", content="y", support_count=9)
    noted = normalise([plain, sure], source="success", batch_size=0)
    assert [(edit.source_type, edit.support_count) for edit in noted] == [("success", 1), ("success", 9)]
