"""Partial answers: of a list,
keep the elements with which nothing is wrong, so that one bad element does not cost all.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TypeVar

from skillweave.base.errors import AuthorError
from skillweave.llm.elements import ElementCheck, ElementFaults
from skillweave.llm.question import Question
from synth.engine.context import Context
from synth.engine.step import Params

P = TypeVar("P", bound=Params)
T = TypeVar("T")


async def ask_partial(
    ctx: Context[P],
    question: Question[list[T]],
    judge: Callable[[Sequence[T]], ElementFaults | Awaitable[ElementFaults]],
    reason: str,
    *,
    name: Callable[[T], str],
    wanted: Collection[str] | None = None,
    key: str | None = None,
    **variables: object,
) -> list[T]:
    """The answer, less the elements that are still wrong after the last repair, each left out for `reason`.

    `judge` says of each element what is wrong with it, in words for the author. `name` tells elements apart: a repair
    carries those alone that were wrong, and is merged by it; `wanted` are the names that must all be there.
    Raises AuthorError where there is no answer of the right form, or nothing of it can be kept.
    """
    parts: ElementCheck[list[T]] = ElementCheck(judge, name, wanted or ())
    try:
        return await ctx.ask(question, key=key, check=parts, **variables)
    except AuthorError:
        kept, left_out = await parts.sound()
        if not kept:
            raise
    for complaint in left_out:
        ctx.reject(complaint, reason)
    return kept
