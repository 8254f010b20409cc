"""A streamed chat completion: its chunks, put together to the completion that they are pieces of.

A stream that ends without a finish reason was cut off on its way, and what it has said until then is no answer.
"""

from collections.abc import Sequence

from skillweave.llm.backends.body import BodyError, Part, read
from skillweave.llm.backends.completion import (
    MEANT,
    Call,
    Choice,
    Completion,
    Function,
    Logprobs,
    Said,
    Sampled,
    Usage,
    reply_of,
)
from skillweave.llm.request import Reply
from skillweave.schema.record import Json


class _Piece(Part):
    """Of a choice."""

    index: int = 0
    delta: Said | None = None
    finish_reason: str | None = None
    logprobs: Logprobs | None = None
    token_ids: list[int] | None = None


class _Chunk(Part):
    choices: list[_Piece] | None = None
    model: str | None = None
    usage: Usage | None = None
    prompt_token_ids: list[int] | None = None


def read_chunks(events: Sequence[Json], *, tokens: bool = False) -> Reply:
    """The reply that a whole stream gives. Raises BodyError where it is none, or is cut off."""
    chunks = [read(_Chunk, event, MEANT) for event in events]
    pieces = [piece for chunk in chunks for piece in chunk.choices or () if piece.index == 0]
    reason = next((piece.finish_reason for piece in reversed(pieces) if piece.finish_reason), None)
    if reason is None:
        raise BodyError(f"the stream ended after {len(events)} chunks without a finish reason")
    choice = Choice(
        message=_said([piece.delta for piece in pieces if piece.delta is not None]),
        finish_reason=reason,
        logprobs=Logprobs(content=_sampled(pieces)),
        token_ids=[token for piece in pieces for token in piece.token_ids or ()],
    )
    completion = Completion(
        choices=[choice],
        model=next((chunk.model for chunk in chunks if chunk.model), ""),
        # Some endpoints send it with every chunk, growing.
        usage=next((chunk.usage for chunk in reversed(chunks) if chunk.usage), None),
        prompt_token_ids=next((chunk.prompt_token_ids for chunk in chunks if chunk.prompt_token_ids), None),
    )
    return reply_of(completion, tokens=tokens)


def _said(deltas: Sequence[Said]) -> Said:
    return Said(
        content="".join(delta.text for delta in deltas),
        refusal="".join(delta.refusal or "" for delta in deltas),
        reasoning="".join(delta.reasoning_content or delta.reasoning or "" for delta in deltas) or None,
        tool_calls=_joined([call for delta in deltas for call in delta.tool_calls or ()]),
    )


def _sampled(pieces: Sequence[_Piece]) -> list[Sampled]:
    return [token for piece in pieces if piece.logprobs for token in piece.logprobs.content or ()]


def _joined(deltas: Sequence[Call]) -> list[Call]:
    """The calls that the deltas are pieces of, in the order in which they began."""
    calls: list[Call] = []
    for delta in deltas:
        place = _place(calls, delta)
        if place is None:
            calls.append(delta)
        else:
            calls[place] = _extended(calls[place], delta)
    return calls


def _place(calls: Sequence[Call], delta: Call) -> int | None:
    """The call that a delta goes on with; None where it begins one."""
    if delta.index is None:
        same = len(calls) - 1 if calls else None
    else:
        same = next((place for place in reversed(range(len(calls))) if calls[place].index == delta.index), None)
    if same is None:
        return None
    # Some endpoints give every call the index 0, others give every piece a new id: only both together begin a call.
    is_other = bool(delta.id and calls[same].id and delta.id != calls[same].id and delta.function.name)
    return None if is_other else same


def _extended(call: Call, delta: Call) -> Call:
    begun, more = call.function.arguments, delta.function.arguments
    arguments = begun + more if isinstance(begun, str) and isinstance(more, str) else more or begun
    function = Function(name=call.function.name or delta.function.name, arguments=arguments)
    return Call(index=call.index, id=call.id or delta.id, function=function)
