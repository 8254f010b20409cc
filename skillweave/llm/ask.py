"""Ask a question: render the prompt, complete it, parse and check the answer, and send back what is wrong.

This is the only way to an author. If an author fails, the next one of the list is asked. The answer comes back parsed
and checked, or an error says why there is none. An answer that was cut off at the token limit is continued.
"""

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

from skillweave.base.errors import AccessError, AuthorError, OutageError, ProviderError, StopError
from skillweave.llm.backends.backend import Backend, Reply, Request, Sampling
from skillweave.llm.elements import ElementCheck
from skillweave.llm.ledger import Ledger, LedgerKey, ledger_key
from skillweave.llm.parse import ParseError, parse
from skillweave.llm.question import Question
from skillweave.schema.trajectory import Message

GO_ON = (
    "Your answer was cut off at the token limit. Go on exactly where it stopped, with the very next character. Repeat "
    "nothing, add no preface, and open no new code block. Its last characters were:\n\n{tail}"
)
TAIL = 200
"""Characters of its end that the author is shown."""
LEAST_OVERLAP = 12
"""So many characters that the rest repeats are taken for a repetition; fewer may be meant."""
MOST_OVERLAP = 2000
OPENING = re.compile(r"\A\s*(?:`{3,}|~{3,})[\w+.-]*[ \t]*\n")


async def continue_reply(
    complete: Callable[[Request], Awaitable[Reply]], request: Request, reply: Reply, times: int
) -> Reply:
    """`reply`, with what is missing of it asked for at most `times` times; still cut off where that was too few."""
    said = reply
    for _ in range(times):
        if said.stop != "length" or not said.text or said.tool_calls:
            break
        rest = await complete(_rest_of(request, said.text))
        if not rest.text or rest.refusal is not None:
            break
        said = replace(said, text=joined(said.text, rest.text), stop=rest.stop)
    return said


def joined(begun: str, rest: str) -> str:
    """Both together: without a fence that the rest opens anew, and without what it repeats of the end."""
    if begun.count("```") % 2:
        rest = OPENING.sub("", rest, count=1)
    if _is_json(begun + rest):
        # Nothing is missing and nothing too much: rows that are alike follow each other.
        return begun + rest
    longest = min(len(begun), len(rest), MOST_OVERLAP)
    for length in range(longest, LEAST_OVERLAP - 1, -1):
        # What stands there more than once (blanks, zeros, the like of rows) may well come once more.
        if begun.find(rest[:length]) == len(begun) - length:
            return begun + rest[length:]
    return begun + rest


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _rest_of(request: Request, begun: str) -> Request:
    go_on = Message(role="user", content=GO_ON.format(tail=begun[-TAIL:]))
    said = Message(role="assistant", content=begun)
    return replace(request, messages=(*request.messages, said, go_on), schema=None)


T = TypeVar("T")
AnswerCheck = Callable[[T], Sequence[str] | Awaitable[Sequence[str]]]
"""What is wrong with an answer that has the right form, in words for its author; empty where it is right."""

COMPLAINT = "What is wrong with your answer:\n\n{reasons}\n\n{closing}"
IN_FULL = "Answer again, in full and in the same form."
CUT = "the answer was cut off at the token limit; answer more briefly"
LONGEST_REASON = 400
"""Longest reason shown in an error's message; the reasons themselves are kept whole."""
SENT_BACK = 200_000
"""Longest faulty reply that is sent back whole; more would fill any model's window, and be paid for."""
SHOWN = 200
"""Longest refusal shown."""


class AuthorChain(NamedTuple):
    """Who is asked, one after the other as each fails, and how."""

    backends: Sequence[Backend]
    ledger: Ledger
    """What is asked by all who ask this line."""
    continuations: int = 0
    """How often an answer that was cut off is continued."""


class Assessment(NamedTuple, Generic[T]):
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
    check: AnswerCheck[T] | ElementCheck[T] | None = None,
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
            return await _Conversation(each, question, check, repairs, continuations, ledger, on_fault).answer(request)
        except (AuthorError, ProviderError) as error:
            if isinstance(error, StopError) and not isinstance(error, OutageError | AccessError):
                # What stops all authors: the budget, a cache that cannot be written.
                raise
            on_fault(f"{each.name} gives way to the next author: {error}")
    last = fallback[-1] if fallback else author
    return await _Conversation(last, question, check, repairs, continuations, ledger, on_fault).answer(request)


@dataclass(frozen=True)
class _Conversation(Generic[T]):
    """A question that is put to one author."""

    author: Backend
    question: Question[T]
    check: AnswerCheck[T] | ElementCheck[T] | None
    repairs: int
    continuations: int
    ledger: Ledger
    on_fault: Callable[[str], None]

    async def answer(self, request: Request) -> T:
        request = replace(request, model=self.author.name.partition("/")[2])
        place = ledger_key(request, self.author.name)
        self.ledger.add(place, asked=1)
        if isinstance(self.check, ElementCheck):
            self.check.begin()
        first, said = request.messages, set[str]()
        try:
            while True:
                reply = await continue_reply(self._complete, request, await self._complete(request), self.continuations)
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
        place = ledger_key(request, self.author.name)
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

    def _refuse_withheld(self, request: Request, reply: Reply, place: LedgerKey) -> None:
        """Raise AuthorError where nobody would get another answer by asking again."""
        if reply.refusal is not None:
            kind, withheld = "refused", f"{self.author.name} refused to answer: {reply.refusal[:SHOWN]!r}"
        elif reply.stop == "content_filter":
            kind, withheld = "withheld", f"the content filter of {self.author.name} withheld the answer"
        else:
            return
        self.ledger.complain(place, kind)
        raise AuthorError(withheld, question=request.question, key=request.key, reasons=(withheld,))


async def _judge(question: Question[T], reply: Reply, check: AnswerCheck[T] | ElementCheck[T] | None) -> Assessment[T]:
    parts = check if isinstance(check, ElementCheck) else None
    if reply.stop == "context_window":
        return Assessment(
            None, ("the question and its repairs do not fit into the model's context window",), "too_long"
        )
    cut = [CUT] if reply.stop == "length" else []
    try:
        if parts is not None:
            wrong = await parts.take(question, reply.text)
            return Assessment((parts.answer,), tuple(wrong), "check", parts.closing() or IN_FULL, parts.left(question))
        answer = parse(question, reply.text)
    except ParseError as error:
        closing = parts.closing() if parts is not None else ""
        return Assessment(None, (*cut, *error.complaints), "cut" if cut else "form", closing or IN_FULL)
    if cut and question.form != "json":
        # JSON shows by itself whether it is whole; text and code do not.
        return Assessment(None, tuple(cut), "cut")
    if check is None or isinstance(check, ElementCheck):
        return Assessment((answer,))
    found = check(answer)
    reasons = await found if inspect.isawaitable(found) else found
    return Assessment((answer,), tuple(dict.fromkeys(reasons)), "check")


def _sent_back(reply: Reply) -> str:
    """What its author is reminded of; all of it, but where it is absurdly long."""
    return reply.text if len(reply.text) <= SENT_BACK else f"{reply.text[:SENT_BACK]}..."


def _again(request: Request, said: str, verdict: Assessment[T]) -> Request:
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


def _told(request: Request, reply: Reply, verdict: Assessment[T]) -> str:
    """What was wrong with a reply, for the log."""
    return (
        f"{request.question} for {request.key!r}, answer {request.attempt + 1} is not accepted ({verdict.kind}): "
        f"{'; '.join(verdict.reasons)}; it begins: {reply.text[:SHOWN]!r}"
    )


def _rejection(request: Request, reasons: tuple[str, ...]) -> AuthorError:
    shown = "; ".join(
        reason if len(reason) <= LONGEST_REASON else reason[:LONGEST_REASON] + "..." for reason in reasons
    )
    answers = request.attempt + 1
    tries = "1 answer" if answers == 1 else f"{answers} answers"
    return AuthorError(
        f"question {request.question!r} for {request.key!r}: no usable answer in {tries}; last: {shown}",
        question=request.question,
        key=request.key,
        reasons=reasons,
    )
