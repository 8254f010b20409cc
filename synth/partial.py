"""Partial answers: of a list, what nothing was wrong with in the end, where one bad element would else cost all."""

import inspect
from collections.abc import Awaitable, Callable, Collection, Sequence
from itertools import chain
from typing import TypeVar

from skillweave.errors import AuthorError
from skillweave.llm.question import Question
from synth.context import Context
from synth.step import Params

P = TypeVar("P", bound=Params)
T = TypeVar("T")
Found = Sequence[Sequence[str]]
Judge = Callable[[Sequence[T]], Found | Awaitable[Found]]
"""The elements of an answer -> for each of them what is wrong with it, in words for the author."""


async def sound_part(
    ctx: Context[P],
    question: Question[list[T]],
    judge: Judge[T],
    reason: str,
    *,
    name: Callable[[T], str] = str,
    wanted: Collection[str] | None = None,
    key: str | None = None,
    **variables: object,
) -> list[T]:
    """The answer, less the elements that are still wrong after the last repair, each left out for `reason`.

    Raises AuthorError where there is no answer of the right form, or nothing of it can be kept.
    """
    last: list[T] = []

    async def check(answer: list[T]) -> list[str]:
        last[:] = answer
        return list(dict.fromkeys(chain.from_iterable(await _found(answer, judge))))

    try:
        return await ctx.ask(question, key=key, check=check, **variables)
    except AuthorError:
        kept, left_out = await _parted(last, judge)
        if not kept:
            raise
    for complaint in left_out:
        ctx.reject(complaint, reason)
    return kept


async def _found(elements: list[T], judge: Judge[T]) -> Found:
    found = judge(elements)
    return await found if inspect.isawaitable(found) else found


async def _parted(elements: list[T], judge: Judge[T]) -> tuple[list[T], list[str]]:
    """The elements with which nothing is wrong, and the first complaint about each other one.

    They are judged again without the others, which they may have leant on.
    """
    left_out: list[str] = []
    while any(found := await _found(elements, judge)):
        left_out += [wrong[0] for wrong in found if wrong]
        elements = [element for element, wrong in zip(elements, found, strict=True) if not wrong]
    return elements, left_out
