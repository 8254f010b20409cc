"""Long answers: asked for in groups, and kept in part, so that one bad element does not cost all others."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from itertools import pairwise
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
    """Ask for a list, and leave out the elements that are still wrong after the last repair.

    Args:
        ctx: The item that asks.
        question: The question, whose answer is a list.
        judge: Gives for each element what is wrong with it, in words for the author.
        reason: Under what the elements left out are counted.
        name: Tells elements apart. A repair holds only the elements that were wrong, and is merged by name.
        wanted: Names that must all be there.
        key: Key of the question; by default the item's.
        variables: Of the prompt.

    Raises:
        AuthorError: There is no answer of the right form, or none of its elements can be kept.
    """
    check: ElementCheck[list[T]] = ElementCheck(judge, name, wanted or ())
    try:
        return await ctx.ask(question, key=key, check=check, **variables)
    except AuthorError:
        kept, complaints = await check.drop_faulty()
        if not kept:
            raise
    for complaint in complaints:
        ctx.reject(complaint, reason)
    return kept


def in_groups(names: Sequence[str], most: int) -> list[Sequence[str]]:
    """Divide names into as few groups as possible, of nearly equal size.

    Args:
        names: What to divide; the order is kept.
        most: The most names that one group may have.
    """
    count = -(-len(names) // most)
    bounds = [round(place * len(names) / count) for place in range(count + 1)]
    return [names[start:end] for start, end in pairwise(bounds)]
