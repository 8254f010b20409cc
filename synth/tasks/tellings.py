"""Tellings: how several tasks are put before an author in one question, and how the author's words are checked."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from evaluator.text.facts import UserKnowledge, tells_fact
from skillweave.base.errors import AuthorError
from skillweave.llm.question import question
from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.combination import Combination, FactWords, Intent, KnownFact, KnownRow, Telling, UserRequest
from skillweave.schema.task import Fact, Scenario
from skillweave.user_prompt import day_in_words
from synth.contracts.wording import VALUE_PLACEHOLDER, name_in_words, short_table_name, short_tool_name
from synth.engine.context import Context
from synth.engine.step import Params
from synth.questions.partial import ask_partial

BATCH_SIZE = 8
"""Tasks of one question."""
TELL = question("tasks.tell", returns=list[Telling], under="tellings", most=BATCH_SIZE)
NO_WORDS = "no words for it"
"""Why a task is left out."""
_SLOT = re.compile(r"\{(\w+)\}")
_DIGITS = re.compile(r"\d+")
_NAMED = re.compile(r"<[\w.]+>|\{\w+\}")
"""What only the question calls a thing by."""
_CHOICE = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
"""A value of a closed set, which people have words of their own for."""
NAME_PREFIX = 4
"""Letters of a word by which a name is known."""


P = TypeVar("P", bound=Params)


def telling_faults(telling: Telling, request: UserRequest, combination: Combination) -> list[str]:
    """Complaints for the author; empty where the words fit the request."""
    known = {thing.id: thing for thing in request.known if not thing.secret}
    found = [f"fact {name!r} comes {n} times" for name, n in Counter(f.id for f in telling.facts).items() if n > 1]
    found += [f"there is no fact {fact.id!r}" for fact in telling.facts if fact.id not in known]
    found += [f"fact {name!r} is missing" for name in known if name not in {fact.id for fact in telling.facts}]
    facts = [(fact, known[fact.id]) for fact in telling.facts if fact.id in known]
    for fact, thing in facts:
        found += _fact_faults(fact, thing, telling.first_message)
    texts = {"first message": telling.first_message, "goal": telling.goal, "reason": telling.reason or ""}
    for name, text in texts.items():
        found += [
            f"the {name} says {_quoted(thing)}, which is left out of the request and told only when asked for"
            for fact, thing in facts
            if thing.withheld and gives_away(text, thing, combination.now, fact.text)
        ]
        found += [f"the {name} holds {place!r}, which nobody says" for place in _once(_NAMED.findall(text))]
    said = [thing for fact, thing in facts if fact.tell == "first"]
    found += _invented(telling.first_message, said)
    found += _unknown(telling, request, combination)
    keys = {row.key for row in combination.rows if row.key} | {combination.caller}
    spoken = " ".join([*texts.values(), *(fact.text for fact in telling.facts)])
    found += [f"the id {key!r} is nothing that a person says" for key in sorted(keys) if key in spoken]
    return found


def gives_away(text: str, thing: KnownFact, now: str, words: str = "") -> bool:
    """Whether a text tells what is known, as whoever scores the conversation would find it."""
    told = (words or f"{thing.about}: {VALUE_PLACEHOLDER}").replace(VALUE_PLACEHOLDER, thing.words)
    return tells_fact(Fact(id=thing.id, text=told, value=thing.value, tell="asked"), text, now)


def _fact_faults(fact: FactWords, thing: KnownFact, message: str) -> Iterator[str]:
    if thing.withheld and VALUE_PLACEHOLDER not in fact.text:
        yield f"the text of fact {fact.id!r} has to hold {VALUE_PLACEHOLDER!r}, where its value is put in"
    elif not _says_figures(thing, fact.text.replace(VALUE_PLACEHOLDER, thing.words)):
        yield f"the text of fact {fact.id!r} does not say {thing.words!r}"
    if fact.tell == "first" and thing.withheld:
        yield f"fact {fact.id!r} is left out: it is told when asked for"
    elif fact.tell != "first" and thing.volunteered:
        yield f"the first message has to say {thing.words!r}: nobody would ask for it"
    elif fact.tell == "first" and not (_says_figures(thing, message) and _says_name(thing, message)):
        yield f"the first message does not say {thing.words!r}, which is marked `first`"


def _quoted(thing: KnownFact) -> str:
    """What is left out, by its name: its author has not seen the value."""
    return f"the value of {thing.id!r}" if thing.withheld else repr(thing.words)


def _says_figures(thing: KnownFact, text: str) -> bool:
    """Whether a text holds what is known: figures to the digit; names and kinds may be put in other words."""
    if thing.type in ("string", "boolean"):
        return True
    return not Counter(_DIGITS.findall(thing.words)) - Counter(_DIGITS.findall(text))


def _says_name(thing: KnownFact, text: str) -> bool:
    """Whether a text holds a word of a name; whoever leaves all of them out has not said it."""
    if not isinstance(thing.value, str) or thing.type != "string" or _CHOICE.fullmatch(thing.value):
        return True
    words = [word for word in re.findall(r"\w+", thing.words.casefold()) if len(word) >= NAME_PREFIX]
    return not words or any(word in text.casefold() for word in words)


def _invented(message: str, told: Sequence[KnownFact]) -> list[str]:
    allowed = {figure for thing in told for figure in _DIGITS.findall(f"{thing.words} {thing.value}")}
    extra = [figure for figure in _DIGITS.findall(message) if figure not in allowed]
    return [f"the first message says {figure!r}, which is not marked `first`" for figure in _once(extra)]


def _unknown(telling: Telling, request: UserRequest, combination: Combination) -> Iterator[str]:
    """Figures of the goal, the reason and the facts that this person does not know."""
    facts = [
        Fact(id=thing.id, text=f"{thing.about}: {thing.words}", value=thing.value, tell="asked")
        for thing in request.known
        if not thing.secret
    ]
    scenario = Scenario(goal="", reason="", facts=facts)
    ledger = UserKnowledge(scenario, request.persona, now=combination.now, texts=[request.company])
    texts = {"goal": telling.goal, "reason": telling.reason or ""}
    texts |= {f"text of fact {fact.id!r}": fact.text for fact in telling.facts}
    for name, text in texts.items():
        yield from (f"the {name} says {figure!r}, which this person does not know" for figure in ledger.faults(text))


def _once(found: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class UntoldTask:
    """A task that wants words."""

    combination: Combination
    request: UserRequest
    text: str
    """What its author reads of it."""


async def tell_tasks(ctx: Context[P], blueprint: Blueprint, tasks: Sequence[UntoldTask]) -> dict[str, Telling]:
    """Ask for the words of all tasks of a world, a batch at a time.

    Returns:
        Combination -> its words; tasks whose words stay faulty are left out.
    """
    batches = await asyncio.gather(*(ask_tellings(ctx, blueprint, batch) for batch in telling_batches(tasks)))
    return {name: telling for batch in batches for name, telling in batch.items()}


async def ask_tellings(ctx: Context[P], blueprint: Blueprint, tasks: Sequence[UntoldTask]) -> dict[str, Telling]:
    """Ask for the words of some tasks in one question.

    If there is no answer at all, each half is asked for by itself: the author may have refused only one of the tasks.

    Returns:
        Combination -> its words; tasks whose words stay faulty are left out.
    """
    numbered, first = numbered_tasks(tasks), tasks[0].combination.id
    try:
        tellings = await ask_partial(
            ctx,
            TELL,
            lambda answer: batch_faults(answer, numbered),
            NO_WORDS,
            name=lambda telling: telling.id,
            wanted=list(numbered),
            key=f"{first}+{len(tasks) - 1}" if tasks[1:] else first,
            server=ctx.key,
            blueprint=blueprint,
            today=day_in_words(ctx.now),
            tasks=list(tasks),
        )
    except AuthorError as error:
        if not tasks[1:]:
            ctx.reject(f"{first}: {error}", NO_WORDS)
            return {}
        middle = len(tasks) // 2
        halves = [await ask_tellings(ctx, blueprint, half) for half in (tasks[:middle], tasks[middle:])]
        return {name: telling for half in halves for name, telling in half.items()}
    return {numbered[telling.id].combination.id: telling for telling in tellings}


def untold_task(combination: Combination, request: UserRequest, blueprint: Blueprint) -> UntoldTask:
    """The task as its author reads it. The value of what is left out stands nowhere in the text, nor does what would
    give it away."""
    left_out = [thing for thing in request.known if thing.withheld]

    def is_telling(text: str) -> bool:
        return any(gives_away(text, thing, combination.now) for thing in left_out)

    who = request.persona
    lines = [f"who: {who.name}, {who.age}; {'; '.join([who.style, *who.traits])}"]
    if request.title and not left_out:
        # A title says what the request is about, and so what is left out of it.
        lines.append(f"about: {request.title}")
    if request.reason and not is_telling(request.reason):
        lines.append(f"why: {request.reason}")
    lines.append("wants:")
    named: set[str] = set()
    for wish in request.wishes:
        things = _things(wish, blueprint)
        ask = (
            wish.ask if wish.ask and not is_telling(wish.ask) else name_in_words(short_tool_name(blueprint, wish.tool))
        )
        lines.append(f"- {_wish(wish, ask, things, named)}{_company(wish, blueprint)}")
        named |= {*things.values()}
    lines += ["knows:", *(f"- {_known(thing)}" for thing in request.known if not thing.secret)]
    return UntoldTask(combination, request, "\n".join(" ".join(line.split()) for line in lines))


def telling_batches(tasks: Sequence[UntoldTask]) -> list[list[UntoldTask]]:
    """The tasks by the ids of their combinations, MOST at a time."""
    ordered = sorted(tasks, key=lambda task: task.combination.id)
    return [ordered[start : start + BATCH_SIZE] for start in range(0, len(ordered), BATCH_SIZE)]


def numbered_tasks(tasks: Sequence[UntoldTask]) -> dict[str, UntoldTask]:
    """The tasks of a question by their numbers: `1`, `2`, ..."""
    return {str(number): task for number, task in enumerate(tasks, 1)}


def batch_faults(tellings: Sequence[Telling], tasks: Mapping[str, UntoldTask]) -> list[list[str]]:
    """What is wrong with each of an answer's tellings."""
    found: list[list[str]] = []
    for telling in tellings:
        if (task := tasks.get(telling.id)) is None:
            found.append([f"there is no task {telling.id!r}; there are {', '.join(tasks)}"])
        else:
            faults = telling_faults(telling, task.request, task.combination)
            found.append([f"task {telling.id} ({task.combination.id}): {fault}" for fault in faults])
    return found


def _wish(wish: Intent, ask: str, things: Mapping[str, str], named: set[str]) -> str:
    """`do: move <appointment> to <slot>`; what is to be heard is not told what it is about when that was `named`."""
    said = _SLOT.sub(lambda slot: things.get(slot[1], f"that {name_in_words(slot[1])}"), ask)
    rest = [thing for name, thing in things.items() if f"{{{name}}}" not in ask]
    rest = [thing for thing in rest if wish.kind == "do" or thing not in named]
    kind = "agree to, if needed" if wish.only_if_needed else wish.kind
    return f"{kind}: {said}" + (f" ({', '.join(rest)})" if rest else "")


def _things(wish: Intent, blueprint: Blueprint) -> dict[str, str]:
    """Parameter -> what the author calls the row or value that goes into it: `<slot>`, `that invoice`."""
    things = {name: f"<{_row_name(row)}>" for name, row in wish.rows.items()}
    things |= {name: f"<{thing}>" for name, thing in wish.values.items()}
    linked = {name: name_in_words(short_table_name(blueprint, entity)) for name, entity in wish.linked.items()}
    return {**things, **{name: f"that {noun}" for name, noun in linked.items()}}


def _company(wish: Intent, blueprint: Blueprint) -> str:
    """Whose matter a wish is, where several companies are spoken to."""
    return f", at {blueprint.member_of(wish.tool).title}" if isinstance(blueprint, FusedBlueprint) else ""


def _row_name(row: KnownRow) -> str:
    """What the names of a row's columns have in common: `appointment_2`."""
    return next((name.partition(".")[0] for name in row.columns.values()), name_in_words(row.entity).lower())


def _known(thing: KnownFact) -> str:
    if thing.withheld:
        return f"{thing.id} = {VALUE_PLACEHOLDER} [left out]"
    return f"{thing.id} = {thing.words}{' [first]' if thing.volunteered else ''}"
