"""Ask for an answer: render, complete, parse, check, and send back what is wrong, a bounded number of times.

This is the only way to an author. Who fails is followed by the next author of the list, if there is one. An answer is
returned parsed and checked, or an error says why there is none. Of an answer that is taken in `Parts`, only what is
wrong is asked for again.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

from skillweave.errors import AccessError, AuthorError, OutageError, ProviderError, StopError
from skillweave.llm.backend import Backend
from skillweave.llm.continuation import continued
from skillweave.llm.ledger import Ledger, Place, place_of
from skillweave.llm.parse import ParseError, parse
from skillweave.llm.parts import Parts
from skillweave.llm.question import Question
from skillweave.llm.request import Reply, Request, Sampling
from skillweave.schema.message import Message

T = TypeVar("T")
Check = Callable[[T], Sequence[str] | Awaitable[Sequence[str]]]
"""What is wrong with an answer that has the right form, in words for its author; empty where it is right."""

COMPLAINT = "What is wrong with your answer:\n\n{reasons}\n\n{closing}"
IN_FULL = "Answer again, in full and in the same form."
CUT = "the answer was cut off at the token limit; answer more briefly"
LOUD = 400
"""Longest reason shown in an error's message; the reasons themselves are kept whole."""
SENT_BACK = 200_000
"""Longest faulty reply that is sent back whole; more would fill any model's window, and be paid for."""
SHOWN = 200
"""Longest refusal shown."""


class Line(NamedTuple):
    """Who is asked, one after the other as each fails, and how."""

    backends: Sequence[Backend]
    ledger: Ledger
    """What is asked by all who ask this line."""
    continuations: int = 0
    """How often an answer that was cut off is continued."""


class Verdict(NamedTuple, Generic[T]):
    """What a reply is worth."""

    answer: tuple[T] | None
    """Boxed, since None may be one."""
    reasons: tuple[str, ...] = ()
    """What is wrong with it; empty where the answer is accepted."""
    kind: str = ""
    """Of the complaint, as `Asking.complaints` names it."""
    closing: str = IN_FULL
    """What is asked for now."""
    left: str = ""
    """The part of the answer that is not accepted, where the rest is: all that its author needs to be reminded of."""


async def ask(
    author: Backend,
    question: Question[T],
    *,
    key: str,
    variables: Mapping[str, object],
    check: Check[T] | Parts[T] | None = None,
    repairs: int = 2,
    continuations: int = 0,
    fallback: Sequence[Backend] = (),
    step: str = "",
    round: int = 0,
    ledger: Ledger | None = None,
    sampling: Sampling | None = None,
    on_fault: Callable[[str], None] = lambda _: None,
) -> T:
    """The answer, of the author or, where it fails, of the first of `fallback` that does not.

    `repairs` is how often a faulty answer is sent back, `continuations` how often one that was cut off is continued.
    `on_fault` is told, in a line, of each answer that is not accepted.
    Raises AuthorError, ProviderError, ConfigError.
    """
    ledger = ledger or Ledger()
    request = Request(
        messages=question.render(variables),
        schema=question.schema,
        sampling=sampling or Sampling(),
        question=question.name,
        key=key,
        variables=variables,
        step=step,
        round=round,
        ledger=ledger,
    )
    for each in (author, *fallback)[:-1]:
        try:
            return await _Asked(each, question, check, repairs, continuations, ledger, on_fault).answer(request)
        except (AuthorError, ProviderError) as error:
            if isinstance(error, StopError) and not isinstance(error, OutageError | AccessError):
                # What stops all authors: the budget, a cache that cannot be written.
                raise
            on_fault(f"{each.name} gives way to the next author: {error}")
    last = fallback[-1] if fallback else author
    return await _Asked(last, question, check, repairs, continuations, ledger, on_fault).answer(request)


@dataclass(frozen=True)
class _Asked(Generic[T]):
    """A question that is put to one author."""

    author: Backend
    question: Question[T]
    check: Check[T] | Parts[T] | None
    repairs: int
    continuations: int
    ledger: Ledger
    on_fault: Callable[[str], None]

    async def answer(self, request: Request) -> T:
        request = replace(request, model=self.author.name.partition("/")[2])
        place = place_of(request, self.author.name)
        self.ledger.add(place, asked=1)
        if isinstance(self.check, Parts):
            self.check.begin()
        first, said = request.messages, set[str]()
        try:
            while True:
                reply = await continued(self._complete, request, await self._complete(request), self.continuations)
                verdict = await _judge(self.question, reply, self.check)
                if verdict.answer is not None and not verdict.reasons:
                    self.ledger.add(place, **({"first_try": 1} if request.attempt == 0 else {"repaired": 1}))
                    return verdict.answer[0]
                self.ledger.complain(place, verdict.kind)
                self.on_fault(_told(request, reply, verdict))
                if request.attempt >= self.repairs or verdict.kind == "too_long" or reply.text in said:
                    # Who says the same again would go on to.
                    raise _rejection(request, verdict.reasons)
                said.add(reply.text)
                if verdict.left:
                    request = replace(request, messages=first)
                request = _again(request, verdict.left or _sent_back(reply), verdict)
        except (AuthorError, ProviderError):
            self.ledger.add(place, rejected=1)
            raise

    async def _complete(self, request: Request) -> Reply:
        """A reply that says something, or is cut off. Raises AuthorError for one that was refused or withheld."""
        place = place_of(request, self.author.name)
        self.ledger.add(place, prompt_chars=sum(len(said.content or "") for said in request.messages))
        try:
            reply = await self.author.complete(request)
        except AuthorError as error:
            self.ledger.complain(place, "unknown")
            raise AuthorError(
                str(error),
                question=request.question,
                key=request.key,
                reasons=error.reasons or (str(error),),
                lies_in=error.lies_in,
            ) from error
        except ProviderError:
            self.ledger.complain(place, "unreached")
            raise
        self.ledger.add(place, reply_chars=len(reply.text), kept=int(reply.cached))
        self._refuse_withheld(request, reply, place)
        return reply

    def _refuse_withheld(self, request: Request, reply: Reply, place: Place) -> None:
        """Raise AuthorError where nobody would get another answer by asking again."""
        if reply.refusal is not None:
            kind, withheld = "refused", f"{self.author.name} refused to answer: {reply.refusal[:SHOWN]!r}"
        elif reply.stop == "content_filter":
            kind, withheld = "withheld", f"the content filter of {self.author.name} withheld the answer"
        else:
            return
        self.ledger.complain(place, kind)
        raise AuthorError(withheld, question=request.question, key=request.key, reasons=(withheld,))


async def _judge(question: Question[T], reply: Reply, check: Check[T] | Parts[T] | None) -> Verdict[T]:
    parts = check if isinstance(check, Parts) else None
    if reply.stop == "context_window":
        return Verdict(None, ("the question and its repairs do not fit into the model's context window",), "too_long")
    cut = [CUT] if reply.stop == "length" else []
    try:
        if parts is not None:
            wrong = await parts.take(question, reply.text)
            return Verdict((parts.answer,), tuple(wrong), "check", parts.closing() or IN_FULL, parts.left(question))
        answer = parse(question, reply.text)
    except ParseError as error:
        closing = parts.closing() if parts is not None else ""
        return Verdict(None, (*cut, *error.complaints), "cut" if cut else "form", closing or IN_FULL)
    if cut and question.form != "json":
        # JSON shows by itself whether it is whole; text and code do not.
        return Verdict(None, tuple(cut), "cut")
    if check is None or isinstance(check, Parts):
        return Verdict((answer,))
    found = check(answer)
    reasons = await found if inspect.isawaitable(found) else found
    return Verdict((answer,), tuple(dict.fromkeys(reasons)), "check")


def _sent_back(reply: Reply) -> str:
    """What its author is reminded of; all of it, but where it is absurdly long."""
    return reply.text if len(reply.text) <= SENT_BACK else f"{reply.text[:SENT_BACK]}..."


def _again(request: Request, said: str, verdict: Verdict[T]) -> Request:
    reasons = "\n".join(f"- {reason}" for reason in verdict.reasons)
    complaint = COMPLAINT.format(reasons=reasons, closing=verdict.closing)
    return replace(
        request,
        messages=(
            *request.messages,
            Message(role="assistant", content=said),
            Message(role="user", content=complaint),
        ),
        attempt=request.attempt + 1,
    )


def _told(request: Request, reply: Reply, verdict: Verdict[T]) -> str:
    """What was wrong with a reply, for the log."""
    return (
        f"{request.question} for {request.key!r}, answer {request.attempt + 1} is not accepted ({verdict.kind}): "
        f"{'; '.join(verdict.reasons)}; it begins: {reply.text[:SHOWN]!r}"
    )


def _rejection(request: Request, reasons: tuple[str, ...]) -> AuthorError:
    shown = "; ".join(reason if len(reason) <= LOUD else reason[:LOUD] + "..." for reason in reasons)
    answers = request.attempt + 1
    tries = "1 answer" if answers == 1 else f"{answers} answers"
    return AuthorError(
        f"question {request.question!r} for {request.key!r}: no usable answer in {tries}; last: {shown}",
        question=request.question,
        key=request.key,
        reasons=reasons,
    )
