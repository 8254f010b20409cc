"""Ask a question: render the prompt, complete it, parse and check the answer, and send back what is wrong.

This is the only way to an author. If an author fails, the next one of the list is asked. The answer comes back parsed
and checked, or an error says why there is none. An answer that was cut off at the token limit is continued.
"""

import inspect
import json
import logging
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

logger = logging.getLogger(__name__)

T = TypeVar("T")
AnswerCheck = Callable[[T], Sequence[str] | Awaitable[Sequence[str]]]
"""Takes an answer of the right form; gives what is wrong with it, in words for its author, or nothing."""

COMPLAINT = "What is wrong with your answer:\n\n{reasons}\n\n{closing}"
IN_FULL = "Answer again, in full and in the same form."
CUT = "the answer was cut off at the token limit; answer more briefly"
GO_ON = (
    "Your answer was cut off at the token limit. Go on exactly where it stopped, with the very next character. Repeat "
    "nothing, add no preface, and open no new code block. Its last characters were:\n\n{tail}"
)
TAIL = 200
"""Characters of the end of a cut-off answer that its author is shown."""
LEAST_OVERLAP = 12
"""Shortest overlap, in characters, that counts as a repetition; a shorter one may be meant."""
MOST_OVERLAP = 2000
OPENING_FENCE = re.compile(r"\A\s*(?:`{3,}|~{3,})[\w+.-]*[ \t]*\n")
LONGEST_REASON = 400
"""Longest reason in an error's message; the error's `reasons` are whole."""
LONGEST_SENT_BACK = 200_000
"""Longest faulty reply that is sent back whole; a longer one would fill any model's window, and be paid for."""
SHOWN = 200
"""Characters of a refusal or of a faulty reply that messages show."""


class AuthorChain(NamedTuple):
    """Who is asked, one after the other as each fails."""

    backends: Sequence[Backend]
    ledger: Ledger
    """Where all their requests are entered."""
    continuations: int = 0
    """How often an answer that was cut off is continued."""


class Assessment(NamedTuple, Generic[T]):
    """Whether a reply is accepted, and what to ask for if it is not."""

    answer: tuple[T] | None
    """In a tuple, since an answer may be None; None if the reply has not the right form."""
    reasons: tuple[str, ...] = ()
    """What is wrong with it; empty if it is accepted."""
    kind: str = ""
    """The kind of fault, as `QuestionMetrics.complaints` names it."""
    closing: str = IN_FULL
    """What is asked for now."""
    remainder: str = ""
    """The part that is not accepted, if the rest is: its author is reminded of that part alone."""

    @property
    def is_accepted(self) -> bool:
        return self.answer is not None and not self.reasons


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
    """Ask an author, and where it fails, the next one.

    Args:
        author: Who is asked first.
        question: The prompt, and the type of the answer.
        key: The item that the question is about.
        variables: What the prompt is rendered from.
        check: Finds what is wrong with an answer of the right form; None accepts every answer of that form.
        repairs: How often a faulty answer is sent back.
        continuations: How often an answer that was cut off is continued.
        fallback: Who is asked next, in this order.
        step: The step of the pipeline that asks.
        round: How often the item was rejected before, and asked about again.
        ledger: Where all is entered; None keeps no figures.
        sampling: None leaves it to the backend.
        on_fault: Gets a line for each answer that is not accepted, and for each author that fails.

    Returns:
        The answer of the first author that gives an accepted one.

    Raises:
        AuthorError: The last author gave no usable answer.
        ProviderError: The last author could not be reached, or the budget is used up.
        ConfigError: The prompt cannot be rendered.
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
    *others, last = (author, *fallback)
    for each in others:
        try:
            return await _Dialogue(each, question, check, repairs, continuations, ledger, on_fault).answer(request)
        except (AuthorError, ProviderError) as error:
            if isinstance(error, StopError) and not isinstance(error, OutageError | AccessError):
                # It stops all authors: the budget is used up, or the cache cannot be written.
                raise
            on_fault(f"{each.name} gives way to the next author: {error}")
    return await _Dialogue(last, question, check, repairs, continuations, ledger, on_fault).answer(request)


@dataclass(frozen=True)
class _Dialogue(Generic[T]):
    """One question, put to one author until it is answered or given up."""

    author: Backend
    question: Question[T]
    check: AnswerCheck[T] | ElementCheck[T] | None
    repairs: int
    continuations: int
    ledger: Ledger
    on_fault: Callable[[str], None]

    async def answer(self, request: Request) -> T:
        request = replace(request, model=self.author.name.partition("/")[2])
        key = ledger_key(request, self.author.name)
        self.ledger.add(key, asked=1)
        if isinstance(self.check, ElementCheck):
            self.check.begin()
        try:
            answer, attempts = await self._until_accepted(request, key)
        except (AuthorError, ProviderError) as error:
            self.ledger.add(key, rejected=1)
            if isinstance(error, AuthorError):
                self._warn_of_judge(key, error)
            raise
        self.ledger.add(key, **({"first_try": 1} if attempts == 0 else {"repaired": 1}))
        return answer

    def _warn_of_judge(self, key: LedgerKey, error: AuthorError) -> None:
        """Warn once a step: a run goes on without a judge that gives no usable answer."""
        if self.question.role == "judge" and self.ledger.root.entry(key).rejected == 1:
            logger.warning("the judge %s gives no usable answer, and the run goes on without it: %s", key.author, error)

    async def _until_accepted(self, request: Request, key: LedgerKey) -> tuple[T, int]:
        """The accepted answer, and how many answers before it were faulty."""
        first_messages, faulty = request.messages, set[str]()
        while True:
            reply = await continue_reply(self._complete, request, await self._complete(request), self.continuations)
            assessment = await _assess(self.question, reply, self.check)
            if assessment.answer is not None and assessment.is_accepted:
                return assessment.answer[0], request.attempt
            self.ledger.complain(key, assessment.kind)
            self.on_fault(_log_line(request, reply, assessment))
            # An author that repeats a faulty answer would repeat it again.
            if request.attempt >= self.repairs or assessment.kind == "too_long" or reply.text in faulty:
                raise _give_up(request, assessment.reasons)
            faulty.add(reply.text)
            if assessment.remainder:
                request = replace(request, messages=first_messages)
            request = _ask_again(request, assessment.remainder or _shortened(reply.text), assessment)

    async def _complete(self, request: Request) -> Reply:
        """A reply that says something, or is cut off. Raises AuthorError if it was refused or withheld."""
        key = ledger_key(request, self.author.name)
        self.ledger.add(key, prompt_chars=sum(len(message.content or "") for message in request.messages))
        try:
            reply = await self.author.complete(request)
        except AuthorError as error:
            self.ledger.complain(key, "unknown")
            raise AuthorError(
                str(error),
                question=request.question,
                key=request.key,
                reasons=error.reasons or (str(error),),
                lies_in=error.lies_in,
            ) from error
        except ProviderError:
            self.ledger.complain(key, "unreached")
            raise
        self.ledger.add(key, reply_chars=len(reply.text), kept=int(reply.cached))
        self._check_refusal(request, reply, key)
        return reply

    def _check_refusal(self, request: Request, reply: Reply, key: LedgerKey) -> None:
        """Raise AuthorError if the model refused or a filter withheld the answer: a repair would not help."""
        if reply.refusal is not None:
            kind, reason = "refused", f"{self.author.name} refused to answer: {reply.refusal[:SHOWN]!r}"
        elif reply.stop == "content_filter":
            kind, reason = "withheld", f"the content filter of {self.author.name} withheld the answer"
            if reply.withheld:
                reason = f"{reason}: {reply.withheld[:SHOWN]!r}"
        else:
            return
        self.ledger.complain(key, kind)
        raise AuthorError(reason, question=request.question, key=request.key, reasons=(reason,))


async def _assess(question: Question[T], reply: Reply, check: AnswerCheck[T] | ElementCheck[T] | None) -> Assessment[T]:
    """Parse and check a reply."""
    elements = check if isinstance(check, ElementCheck) else None
    if reply.stop == "context_window":
        reason = "the question and its repairs do not fit into the model's context window"
        return Assessment(None, (reason,), "too_long")
    cut = [CUT] if reply.stop == "length" else []
    try:
        if elements is not None:
            faults = await elements.take(question, reply.text)
            closing = elements.closing() or IN_FULL
            return Assessment((elements.answer,), tuple(faults), "check", closing, elements.remainder(question))
        answer = parse(question, reply.text)
    except ParseError as error:
        closing = elements.closing() if elements is not None else ""
        return Assessment(None, (*cut, *error.complaints), "cut" if cut else "form", closing or IN_FULL)
    if cut and question.form != "json":
        # JSON shows by itself whether it is whole; text and code do not.
        return Assessment(None, tuple(cut), "cut")
    if check is None or isinstance(check, ElementCheck):
        return Assessment((answer,))
    result = check(answer)
    reasons = await result if inspect.isawaitable(result) else result
    return Assessment((answer,), tuple(dict.fromkeys(reasons)), "check")


def _ask_again(request: Request, answer: str, assessment: Assessment[T]) -> Request:
    """The request with a faulty answer, and what is wrong with it."""
    reasons = "\n".join(f"- {reason}" for reason in assessment.reasons)
    complaint = COMPLAINT.format(reasons=reasons, closing=assessment.closing)
    return replace(
        request,
        messages=(
            *request.messages,
            Message(role="assistant", content=answer),
            Message(role="user", content=complaint),
        ),
        attempt=request.attempt + 1,
    )


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_SENT_BACK else f"{text[:LONGEST_SENT_BACK]}..."


def _log_line(request: Request, reply: Reply, assessment: Assessment[T]) -> str:
    return (
        f"{request.question} for {request.key!r}, answer {request.attempt + 1} is not accepted ({assessment.kind}): "
        f"{'; '.join(assessment.reasons)}; it begins: {reply.text[:SHOWN]!r}"
    )


def _give_up(request: Request, reasons: tuple[str, ...]) -> AuthorError:
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


async def continue_reply(
    complete: Callable[[Request], Awaitable[Reply]], request: Request, reply: Reply, times: int
) -> Reply:
    """Ask for the rest of a reply that was cut off.

    The rest is asked for in words, since most models do not go on from an assistant's message that stands last; and
    without a schema, since decoding by one would begin the answer anew.

    Args:
        complete: Sends a request.
        request: What was asked.
        reply: The reply, which may be whole already.
        times: How often the rest is asked for, at most.

    Returns:
        The reply with all its parts; still cut off if `times` was too small.
    """
    for _ in range(times):
        if reply.stop != "length" or not reply.text or reply.tool_calls:
            break
        rest = await complete(_rest_request(request, reply.text))
        if not rest.text or rest.refusal is not None:
            break
        reply = replace(reply, text=join_parts(reply.text, rest.text), stop=rest.stop)
    return reply


def join_parts(begun: str, rest: str) -> str:
    """Join two parts of an answer, without a fence that the rest opens again, and without what it repeats."""
    if begun.count("```") % 2:
        rest = OPENING_FENCE.sub("", rest, count=1)
    if _is_json(begun + rest):
        # It is whole as it is; what looks like a repetition are equal rows.
        return begun + rest
    longest = min(len(begun), len(rest), MOST_OVERLAP)
    for length in range(longest, LEAST_OVERLAP - 1, -1):
        # Text that stands there more than once (blanks, zeros, similar rows) may well come once more.
        if begun.find(rest[:length]) == len(begun) - length:
            return begun + rest[length:]
    return begun + rest


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _rest_request(request: Request, begun: str) -> Request:
    answer = Message(role="assistant", content=begun)
    go_on = Message(role="user", content=GO_ON.format(tail=begun[-TAIL:]))
    return replace(request, messages=(*request.messages, answer, go_on), schema=None)
