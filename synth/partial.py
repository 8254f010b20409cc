"""Partial answers: of a list, what nothing was wrong with in the end, where one bad element would else cost all."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TypeVar

from skillweave.errors import AuthorError
from skillweave.llm.parts import Found, Parts
from skillweave.llm.question import Question
from synth.context import Context
from synth.step import Params

P = TypeVar("P", bound=Params)
T = TypeVar("T")


async def sound_part(
    ctx: Context[P],
    question: Question[list[T]],
    judge: Callable[[Sequence[T]], Found | Awaitable[Found]],
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
    parts: Parts[list[T]] = Parts(judge, name, wanted or ())
    try:
        return await ctx.ask(question, key=key, check=parts, **variables)
    except AuthorError:
        kept, left_out = await parts.sound()
        if not kept:
            raise
    for complaint in left_out:
        ctx.reject(complaint, reason)
    return kept
