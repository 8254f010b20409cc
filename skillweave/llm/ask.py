"""Ask an author a question: render, complete, parse, check, and send back what is wrong, a bounded number of times.

This is the only way to an author. An answer is returned parsed and checked, or AuthorError says why there is none.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from skillweave.errors import AuthorError
from skillweave.llm.backend import Backend
from skillweave.llm.ledger import Ledger
from skillweave.llm.parse import ParseError, parse
from skillweave.llm.question import Question
from skillweave.llm.request import Reply, Request, Sampling
from skillweave.schema.message import Message

T = TypeVar("T")
Check = Callable[[T], Sequence[str] | Awaitable[Sequence[str]]]
"""What is wrong with an answer that has the right form, in words for its author; empty where it is right."""

COMPLAINT = "Your answer cannot be used:\n\n{reasons}\n\nAnswer again, in full and in the same form."
LOUD = 400
"""Longest reason shown in an error's message; the reasons themselves are kept whole."""
SHOWN = 200
"""Longest refusal shown."""


async def ask(
    backend: Backend,
    question: Question[T],
    *,
    key: str,
    variables: Mapping[str, object],
    check: Check[T] | None = None,
    repairs: int = 2,
    on_reply: Callable[[Request, Reply], None] | None = None,
    ledger: Ledger | None = None,
    sampling: Sampling | None = None,
) -> T:
    """The answer. `repairs` is how often a faulty one is sent back. Raises AuthorError, ProviderError, ConfigError."""
    ledger = ledger or Ledger()
    request = Request(
        messages=question.render(variables),
        schema=question.schema,
        model=backend.name.partition("/")[2],
        sampling=sampling or Sampling(),
        question=question.name,
        key=key,
        variables=variables,
    )
    ledger.asked(question.name)
    while True:
        reply = await _complete(backend, request, ledger)
        if on_reply:
            on_reply(request, reply)
        answer, reasons = await _judge(question, reply, check)
        if answer is not None and not reasons:
            ledger.answered(question.name, request.attempt)
            return answer[0]
        if request.attempt >= repairs or reply.stop == "context_window" or _repeats(request, reply):
            ledger.rejected(question.name)
            raise _rejection(question.name, key, request.attempt + 1, reasons)
        request = _again(request, reply, reasons)


async def _complete(backend: Backend, request: Request, ledger: Ledger) -> Reply:
    """A reply that says something, or is cut off. Raises AuthorError for one that was refused or withheld."""
    try:
        reply = await backend.complete(request)
    except AuthorError as error:
        ledger.rejected(request.question)
        raise AuthorError(
            str(error), question=request.question, key=request.key, reasons=error.reasons or (str(error),)
        ) from error
    withheld = _withheld(backend.name, reply)
    if withheld:
        ledger.rejected(request.question)
        raise AuthorError(withheld, question=request.question, key=request.key, reasons=(withheld,))
    return reply


def _withheld(name: str, reply: Reply) -> str | None:
    """Why nobody would get another answer by asking again, if so."""
    if reply.refusal is not None:
        return f"{name} refused to answer: {reply.refusal[:SHOWN]!r}"
    return f"the content filter of {name} withheld the answer" if reply.stop == "content_filter" else None


async def _judge(
    question: Question[T], reply: Reply, check: Check[T] | None
) -> tuple[tuple[T] | None, tuple[str, ...]]:
    """The answer, boxed since None may be one, and what is wrong with it."""
    if reply.stop == "context_window":
        return None, ("the question and its repairs do not fit into the model's context window",)
    cut = ["the answer was cut off at the token limit; answer more briefly"] if reply.stop == "length" else []
    try:
        answer = parse(question, reply.text)
    except ParseError as error:
        return None, (*cut, *error.complaints)
    if cut and question.form != "json":
        # JSON shows by itself whether it is whole; text and code do not.
        return None, tuple(cut)
    if check is None:
        return (answer,), ()
    found = check(answer)
    reasons = await found if inspect.isawaitable(found) else found
    return (answer,), tuple(reasons)


def _repeats(request: Request, reply: Reply) -> bool:
    """Whether the author said the same before: it would go on to."""
    return any(message.role == "assistant" and message.content == reply.text for message in request.messages)


def _again(request: Request, reply: Reply, reasons: tuple[str, ...]) -> Request:
    complaint = COMPLAINT.format(reasons="\n".join(f"- {reason}" for reason in reasons))
    said = Message(role="assistant", content=reply.text)
    return replace(
        request,
        messages=(*request.messages, said, Message(role="user", content=complaint)),
        attempt=request.attempt + 1,
    )


def _rejection(question: str, key: str, answers: int, reasons: tuple[str, ...]) -> AuthorError:
    shown = "; ".join(reason if len(reason) <= LOUD else reason[:LOUD] + "..." for reason in reasons)
    tries = "1 answer" if answers == 1 else f"{answers} answers"
    return AuthorError(
        f"question {question!r} for {key!r}: no usable answer in {tries}; last: {shown}",
        question=question,
        key=key,
        reasons=reasons,
    )
