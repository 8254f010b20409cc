"""What is wrong with an author's words for a task: something known is not said, or what is said is not known."""

import re
from collections import Counter
from collections.abc import Sequence

from evaluator.ledger import tells
from skillweave.schema.combination import Combination
from skillweave.schema.task import Fact
from skillweave.schema.telling import FactWords, Known, Request, Telling

_DIGITS = re.compile(r"\d+")


def telling_faults(telling: Telling, request: Request, combination: Combination) -> list[str]:
    """Complaints for the author; empty where the words fit the request."""
    known = {thing.id: thing for thing in request.known}
    found = [f"fact {name!r} comes {n} times" for name, n in Counter(f.id for f in telling.facts).items() if n > 1]
    found += [f"there is no fact {fact.id!r}" for fact in telling.facts if fact.id not in known]
    found += [f"fact {name!r} is missing" for name in known if name not in {fact.id for fact in telling.facts}]
    message = telling.first_message
    for fact in telling.facts:
        thing = known.get(fact.id)
        if thing is None:
            continue
        if not _says(thing, fact.text):
            found.append(f"the text of fact {fact.id!r} does not say {thing.words!r}")
        if fact.tell == "first" and (thing.secret or thing.withheld):
            found.append(f"fact {fact.id!r} is given only when asked for")
        elif fact.tell != "first" and thing.volunteered:
            found.append(f"the first message has to say {thing.words!r}: nobody would ask for it")
        elif fact.tell == "first" and not _says(thing, message):
            found.append(f"the first message does not say {thing.words!r}, which is marked `first`")
    for name, text in (("first message", message), ("goal", telling.goal)):
        found += [
            f"the {name} says {known[fact.id].words!r}, which is left out of the request and told only when asked for"
            for fact in telling.facts
            if fact.id in known and known[fact.id].withheld and _is_blurted(fact, known[fact.id], text, combination.now)
        ]
    told = [known[fact.id] for fact in telling.facts if fact.tell == "first" and fact.id in known]
    found += _invented(message, told)
    keys = {row.key for row in combination.rows if row.key} | {combination.caller}
    spoken = " ".join([message, telling.goal, *(fact.text for fact in telling.facts)])
    found += [f"the id {key!r} is nothing that a person says" for key in sorted(keys) if key in spoken]
    return found


def _is_blurted(fact: FactWords, thing: Known, text: str, now: str) -> bool:
    """Whether a text tells what the request leaves out, as whoever scores the conversation would find it."""
    return tells(Fact(id=thing.id, text=fact.text, value=thing.value, tell="asked"), text, now)


def _says(thing: Known, text: str) -> bool:
    """Whether a text holds what is known: figures to the digit; names and kinds may be put in other words."""
    if thing.type in ("string", "boolean"):
        return True
    return not Counter(_DIGITS.findall(thing.words)) - Counter(_DIGITS.findall(text))


def _invented(message: str, told: Sequence[Known]) -> list[str]:
    allowed = {figure for thing in told for figure in _DIGITS.findall(f"{thing.words} {thing.value}")}
    extra = [figure for figure in _DIGITS.findall(message) if figure not in allowed]
    return [f"the first message says {figure!r}, which is not marked `first`" for figure in dict.fromkeys(extra)]
