"""Tellings: how several tasks are put before an author in one question, and how the author's words are checked.

The author never sees a value that the user withholds; its place in a text is a placeholder.
"""

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
from skillweave.schema.combination import Combination
from skillweave.schema.request import FactWords, Intent, KnownFact, Telling, UserRequest
from skillweave.schema.task import Fact, Scenario
from skillweave.user_prompt import day_in_words
from synth.contracts.wording import VALUE_PLACEHOLDER, name_in_words, short_table_name, short_tool_name
from synth.engine.context import Context
from synth.engine.step import Params
from synth.questions.types import ask_partial
from synth.tasks.requests import later_facts
from synth.tasks.wishes import computed, row_label, terms_in_words

BATCH_SIZE = 8
"""Tasks in one question."""
TELL = question("tasks.tell", returns=list[Telling], under="tellings", most=BATCH_SIZE)
NO_WORDS = "no words for it"
"""Why a task is left out."""
NAME_PREFIX = 4
"""Words of a name that have fewer letters do not count when a text is searched for the name."""
_SLOT = re.compile(r"\{(\w+)\}")
_CLOCK = re.compile(r"\d+:\d+")
_DIGITS = re.compile(r"\d+")
_PLACEHOLDER = re.compile(r"<[\w.]+>|\{\w+\}")
"""Names of things that stand in the question alone."""
_ENUM_VALUE = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
"""A value of a closed set, which people have words of their own for."""

P = TypeVar("P", bound=Params)


@dataclass(frozen=True)
class UntoldTask:
    """A task that still needs words."""

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


def telling_batches(tasks: Sequence[UntoldTask]) -> list[list[UntoldTask]]:
    """The tasks by the ids of their combinations, BATCH_SIZE at a time."""
    ordered = sorted(tasks, key=lambda task: task.combination.id)
    return [ordered[start : start + BATCH_SIZE] for start in range(0, len(ordered), BATCH_SIZE)]


def numbered_tasks(tasks: Sequence[UntoldTask]) -> dict[str, UntoldTask]:
    """The tasks of a question by their numbers: `1`, `2`, ..."""
    return {str(number): task for number, task in enumerate(tasks, 1)}


def untold_task(combination: Combination, request: UserRequest, blueprint: Blueprint) -> UntoldTask:
    """The task as its author reads it.

    The value of what is withheld stands nowhere in the text, nor does anything that would give it away.
    """
    withheld = [fact for fact in request.known if fact.withheld]

    def is_revealing(text: str) -> bool:
        return any(gives_away(text, fact, combination.now) for fact in withheld)

    persona = request.persona
    lines = [f"who: {persona.name}, {persona.age}; {'; '.join([persona.style, *persona.traits])}"]
    if request.title and not withheld:
        # A title says what the request is about, and so what is left out of it.
        lines.append(f"about: {request.title}")
    if request.reason and not is_revealing(request.reason):
        lines.append(f"why: {request.reason}")
    lines.append("wants:")
    named: set[str] = set()
    for intent in request.wishes:
        labels = _slot_labels(intent, blueprint)
        is_usable = intent.ask and not is_revealing(intent.ask)
        ask = intent.ask if is_usable else computed(intent) or name_in_words(short_tool_name(blueprint, intent.tool))
        terms = "; ".join(["", *terms_in_words(intent)])
        lines.append(f"- {_intent_line(intent, ask, labels, named)}{terms}{_company(intent, blueprint)}")
        named |= {*labels.values()}
    lines += [f"insists: {request.insists} times"] if request.insists else []
    lines += ["knows:", *(f"- {_fact_line(fact)}" for fact in request.known if not fact.secret)]
    return UntoldTask(combination, request, "\n".join(" ".join(line.split()) for line in lines))


def _intent_line(intent: Intent, ask: str, labels: Mapping[str, str], named: set[str]) -> str:
    """`do: move <appointment> to <slot>`. What a question is about is left out if it was `named` before."""
    phrase = _SLOT.sub(lambda slot: labels.get(slot[1], f"that {name_in_words(slot[1])}"), ask)
    rest = [label for name, label in labels.items() if f"{{{name}}}" not in ask]
    rest = [label for label in rest if intent.kind == "do" or label not in named]
    kind = "agree to, if needed" if intent.only_if_needed else intent.kind
    return f"{kind}: {phrase}" + (f" ({', '.join(rest)})" if rest else "")


def _slot_labels(intent: Intent, blueprint: Blueprint) -> dict[str, str]:
    """Parameter -> what the author calls the row or value that fills it: `<slot>`, `that invoice`."""
    labels = {name: row_label(row, intent) for name, row in intent.rows.items()}
    labels |= {name: f"<{fact}>" for name, fact in intent.values.items()}
    linked = {name: name_in_words(short_table_name(blueprint, entity)) for name, entity in intent.linked.items()}
    return {**labels, **{name: f"that {noun}" for name, noun in linked.items()}}


def _company(intent: Intent, blueprint: Blueprint) -> str:
    """The company that an intent is for, if the user speaks to several."""
    return f", at {blueprint.member_of(intent.tool).title}" if isinstance(blueprint, FusedBlueprint) else ""


def _fact_line(fact: KnownFact) -> str:
    if fact.withheld:
        return f"{fact.id} = {VALUE_PLACEHOLDER} [left out]"
    return f"{fact.id} = {fact.words}{' [first]' if fact.volunteered else ''}"


def batch_faults(tellings: Sequence[Telling], tasks: Mapping[str, UntoldTask]) -> list[list[str]]:
    """What is wrong with each of an answer's tellings, in words for its author."""
    faults: list[list[str]] = []
    for telling in tellings:
        if (task := tasks.get(telling.id)) is None:
            faults.append([f"there is no task {telling.id!r}; there are {', '.join(tasks)}"])
        else:
            own = telling_faults(telling, task.request, task.combination)
            faults.append([f"task {telling.id} ({task.combination.id}): {fault}" for fault in own])
    return faults


def telling_faults(telling: Telling, request: UserRequest, combination: Combination) -> list[str]:
    """What is wrong with a telling, in words for its author; empty if it fits the request."""
    known = {fact.id: fact for fact in request.known if not fact.secret}
    counts = Counter(words.id for words in telling.facts)
    faults = [f"fact {name!r} comes {count} times" for name, count in counts.items() if count > 1]
    faults += [f"there is no fact {words.id!r}" for words in telling.facts if words.id not in known]
    faults += [f"fact {name!r} is missing" for name in known if name not in counts]
    told = [(words, known[words.id]) for words in telling.facts if words.id in known]
    later = later_facts(request)
    for words, fact in told:
        faults += _fact_faults(words, fact, telling, fact.id in later)
    faults += _form_faults(telling, request)
    texts = {"first message": telling.first_message, "goal": telling.goal, "reason": telling.reason or ""}
    faults += _early_faults(texts, [fact for _, fact in told if fact.id in later], request, combination.now)
    texts |= _spoken_later(telling)
    for name, text in texts.items():
        faults += [
            f"the {name} says {_quoted(fact)}, which is left out of the request and told only when asked for"
            for words, fact in told
            if fact.withheld and gives_away(text, fact, combination.now, words.text)
        ]
        faults += [f"the {name} holds {place!r}, which nobody says" for place in _distinct(_PLACEHOLDER.findall(text))]
    first = [fact for words, fact in told if words.tell == "first"]
    faults += _invented_figures("first message", "`first`", telling.first_message, first)
    # What they could have been asked for before they may say later.
    said = [fact for words, fact in told if words.tell != "asked" or fact.id not in later]
    for name, text in _spoken_later(telling).items():
        faults += _invented_figures(name, "`first` or `later`" if name == "later" else "`first`", text, said)
    faults += _unknown_figures(telling, request, combination)
    keys = {row.key for row in combination.rows if row.key} | {combination.caller}
    spoken = " ".join([*texts.values(), *(words.text for words in telling.facts)])
    return [*faults, *(f"the id {key!r} is nothing that a person says" for key in sorted(keys) if key in spoken)]


def gives_away(text: str, fact: KnownFact, now: str, words: str = "") -> bool:
    """Whether a text tells a fact, by the rules of the check that scores conversations.

    Args:
        words: The author's text for the fact; empty: its value alone.
    """
    told = (words or f"{fact.about}: {VALUE_PLACEHOLDER}").replace(VALUE_PLACEHOLDER, fact.words)
    return tells_fact(Fact(id=fact.id, text=told, value=fact.value, tell="asked"), text, now)


def _fact_faults(words: FactWords, fact: KnownFact, telling: Telling, is_later: bool) -> Iterator[str]:
    """What is wrong with the words for a fact, and with the moment at which it is said.

    Args:
        is_later: Whether only what the user comes out with later needs it.
    """
    if fact.withheld and VALUE_PLACEHOLDER not in words.text:
        yield f"the text of fact {words.id!r} has to hold {VALUE_PLACEHOLDER!r}, where its value is put in"
    elif not _says_figures(fact, words.text.replace(VALUE_PLACEHOLDER, fact.words)):
        yield f"the text of fact {words.id!r} does not say {fact.words!r}"
    moment, place = ("later", "`later`") if is_later else ("first", "the first message")
    said = (telling.later or "") if is_later else telling.first_message
    if words.tell not in ("asked", moment):
        yield f"fact {words.id!r} is marked `{words.tell}` and has to be `{moment}` or `asked`"
    elif words.tell == moment and fact.withheld:
        yield f"fact {words.id!r} is left out: it is told when asked for"
    elif words.tell != moment and fact.volunteered:
        yield f"{place} has to say {fact.words!r}: nobody would ask for it"
    elif words.tell == moment and not (_says_figures(fact, said) and _says_name(fact, said)):
        yield f"{place} does not say {fact.words!r}, which is marked `{moment}`"


def _form_faults(telling: Telling, request: UserRequest) -> Iterator[str]:
    """Whether there are words for what the user says later, and for each time that they insist."""
    is_later = any(intent.later for intent in request.wishes)
    if is_later != (telling.later is not None):
        yield (
            "`later` has to say what they want later" if is_later else "`later` has to be null: nothing is wanted later"
        )
    if len(telling.insists) != request.insists:
        yield f"`insists` has to hold {request.insists} texts and holds {len(telling.insists)}"


def _early_faults(
    texts: Mapping[str, str], later: Sequence[KnownFact], request: UserRequest, now: str
) -> Iterator[str]:
    """Where what is wanted later is given away. What is known at once anyway, or why they come, gives nothing away."""
    names = {fact.id for fact in later}
    known = [fact.words for fact in request.known if fact.id not in names and not fact.secret]
    at_once = " ".join([request.company, request.reason, *known])
    for fact in (fact for fact in later if not gives_away(at_once, fact, now)):
        for name, text in texts.items():
            if gives_away(text, fact, now):
                yield f"the {name} says {fact.words!r}, which belongs to what they want later"


def _spoken_later(telling: Telling) -> dict[str, str]:
    """What the user says after the first message, by what it is called."""
    insists = {f"text {number} of `insists`": text for number, text in enumerate(telling.insists, 1)}
    return {**({"later": telling.later} if telling.later else {}), **insists}


def _quoted(fact: KnownFact) -> str:
    """A fact as its author knows it: of what is withheld they have not seen the value."""
    return f"the value of {fact.id!r}" if fact.withheld else repr(fact.words)


def _says_figures(fact: KnownFact, text: str) -> bool:
    """Whether a text holds all figures of a fact, and the weekday of a day that has none.

    Names and enum values may be put in other words.
    """
    if fact.type in ("string", "boolean"):
        return True
    if fact.type in ("date", "datetime") and not _DIGITS.search(_CLOCK.sub("", fact.words)):
        said = re.findall(r"[a-z]{4,}", text.casefold())
        if not {*re.findall(r"[a-z]{4,}", fact.words.casefold())} <= {*said}:
            return False
    return not Counter(_DIGITS.findall(fact.words)) - Counter(_DIGITS.findall(text))


def _says_name(fact: KnownFact, text: str) -> bool:
    """Whether a text holds at least one word of a name."""
    if not isinstance(fact.value, str) or fact.type != "string" or _ENUM_VALUE.fullmatch(fact.value):
        return True
    words = [word for word in re.findall(r"\w+", fact.words.casefold()) if len(word) >= NAME_PREFIX]
    return not words or any(word in text.casefold() for word in words)


def _invented_figures(name: str, marks: str, text: str, facts: Sequence[KnownFact]) -> list[str]:
    """Figures of a text beyond those of the facts that it may say, which have these marks."""
    allowed = {figure for fact in facts for figure in _DIGITS.findall(f"{fact.words} {fact.value}")}
    invented = [figure for figure in _DIGITS.findall(text) if figure not in allowed]
    return [f"the {name} says {figure!r}, which is not marked {marks}" for figure in _distinct(invented)]


def _unknown_figures(telling: Telling, request: UserRequest, combination: Combination) -> Iterator[str]:
    """Figures of the goal, the reason and the facts that this person does not know."""
    facts = [
        Fact(id=fact.id, text=f"{fact.about}: {fact.words}", value=fact.value, tell="asked")
        for fact in request.known
        if not fact.secret
    ]
    scenario = Scenario(goal="", reason="", facts=facts)
    knowledge = UserKnowledge(scenario, request.persona, now=combination.now, texts=[request.company])
    texts = {"goal": telling.goal, "reason": telling.reason or ""}
    texts |= {f"text of fact {words.id!r}": words.text for words in telling.facts}
    for name, text in texts.items():
        yield from (f"the {name} says {figure!r}, which this person does not know" for figure in knowledge.faults(text))


def _distinct(texts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(texts))
