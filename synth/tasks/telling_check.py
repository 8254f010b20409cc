"""What is wrong with an author's words for a task: something known is not said, or what is said is not known."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from evaluator.ledger import Ledger, tells
from skillweave.schema.combination import Combination
from skillweave.schema.task import Fact, Scenario
from skillweave.schema.telling import FactWords, Known, Request, Telling
from synth.tasks.words import VALUE

_DIGITS = re.compile(r"\d+")
_NAMED = re.compile(r"<[\w.]+>|\{\w+\}")
"""What only the question calls a thing by."""
_CHOICE = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
"""A value of a closed set, which people have words of their own for."""
TELLING = 4
"""Letters of a word by which a name is known."""


def telling_faults(telling: Telling, request: Request, combination: Combination) -> list[str]:
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
            f"the {name} says {_shown(thing)}, which is left out of the request and told only when asked for"
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


def gives_away(text: str, thing: Known, now: str, words: str = "") -> bool:
    """Whether a text tells what is known, as whoever scores the conversation would find it."""
    told = (words or f"{thing.about}: {VALUE}").replace(VALUE, thing.words)
    return tells(Fact(id=thing.id, text=told, value=thing.value, tell="asked"), text, now)


def _fact_faults(fact: FactWords, thing: Known, message: str) -> Iterator[str]:
    if thing.withheld and VALUE not in fact.text:
        yield f"the text of fact {fact.id!r} has to hold {VALUE!r}, where its value is put in"
    elif not _says_figures(thing, fact.text.replace(VALUE, thing.words)):
        yield f"the text of fact {fact.id!r} does not say {thing.words!r}"
    if fact.tell == "first" and thing.withheld:
        yield f"fact {fact.id!r} is left out: it is told when asked for"
    elif fact.tell != "first" and thing.volunteered:
        yield f"the first message has to say {thing.words!r}: nobody would ask for it"
    elif fact.tell == "first" and not (_says_figures(thing, message) and _says_name(thing, message)):
        yield f"the first message does not say {thing.words!r}, which is marked `first`"


def _shown(thing: Known) -> str:
    """What is left out, by its name: its author has not seen the value."""
    return f"the value of {thing.id!r}" if thing.withheld else repr(thing.words)


def _says_figures(thing: Known, text: str) -> bool:
    """Whether a text holds what is known: figures to the digit; names and kinds may be put in other words."""
    if thing.type in ("string", "boolean"):
        return True
    return not Counter(_DIGITS.findall(thing.words)) - Counter(_DIGITS.findall(text))


def _says_name(thing: Known, text: str) -> bool:
    """Whether a text holds a word of a name; whoever leaves all of them out has not said it."""
    if not isinstance(thing.value, str) or thing.type != "string" or _CHOICE.fullmatch(thing.value):
        return True
    words = [word for word in re.findall(r"\w+", thing.words.casefold()) if len(word) >= TELLING]
    return not words or any(word in text.casefold() for word in words)


def _invented(message: str, told: Sequence[Known]) -> list[str]:
    allowed = {figure for thing in told for figure in _DIGITS.findall(f"{thing.words} {thing.value}")}
    extra = [figure for figure in _DIGITS.findall(message) if figure not in allowed]
    return [f"the first message says {figure!r}, which is not marked `first`" for figure in _once(extra)]


def _unknown(telling: Telling, request: Request, combination: Combination) -> Iterator[str]:
    """Figures of the goal, the reason and the facts that this person does not know."""
    facts = [
        Fact(id=thing.id, text=f"{thing.about}: {thing.words}", value=thing.value, tell="asked")
        for thing in request.known
        if not thing.secret
    ]
    scenario = Scenario(goal="", reason="", facts=facts)
    ledger = Ledger(scenario, request.persona, now=combination.now, texts=[request.company])
    texts = {"goal": telling.goal, "reason": telling.reason or ""}
    texts |= {f"text of fact {fact.id!r}": fact.text for fact in telling.facts}
    for name, text in texts.items():
        yield from (f"the {name} says {figure!r}, which this person does not know" for figure in ledger.faults(text))


def _once(found: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(found))
