"""Twenty ways in which a reply goes wrong, in its words or on its way, dealt out over the questions of a run by a seed.

A quarter of the first answers is spoiled, and of their repairs; but where a world hangs on an answer, its last repair
is whole. Each way is dealt at least once, to a question that has a place for it. What is lost on its way arrives at the
second or third try.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random

from skillweave.llm.parse import MAX_CHARACTERS
from skillweave.llm.question import AnswerForm
from skillweave.llm.replay import CassetteEntry
from skillweave.schema.record import Json
from tests.authors.again import questions
from tests.authors.apis import Said
from tests.authors.served import Due, Place, Spoilt, key_of
from tests.llm.fault_injection import PROSE, InjectedFault, spoil
from tests.llm.scripted import HANG, RESET, Act, fault

RATE = 0.25
LEAVES = ("tasks.tell",)
"""Questions whose answers may go missing: that costs a task, and not the world."""
REPAIRS = 2
"""How often a faulty answer is sent back."""
CHOICES = ("kind", "type")
"""Fields of answers that hold one of a few words."""
GERMAN = "Leider kann ich diese Frage nur auf Deutsch beantworten. Welche der beiden Angaben war gemeint?"
JAVASCRIPT = "const server = require('server');\nserver.listen(() => console.log(`ready`));\n"

InWords = Callable[[str, AnswerForm, Random], Said | None]
"""The reply in place of the right one; None where the right one has no place for the fault."""
OnItsWay = Callable[[Due], Act]


def _truncated(text: str, form: AnswerForm, random: Random) -> Said | None:
    return Said(text[: random.randrange(1, len(text))], stop="length") if len(text) > 1 else None


def _fenced(text: str, form: AnswerForm, random: Random) -> Said | None:
    return Said(f"```{'json' if form == 'json' else 'python'}\n{text}\n```") if form != "text" else None


def _trailing_comma(text: str, form: AnswerForm, random: Random) -> Said | None:
    return Said(f"{text.rstrip()[:-1]},{text.rstrip()[-1]}") if form == "json" and text.rstrip()[-1] in "]}" else None


def _wrong_language(text: str, form: AnswerForm, random: Random) -> Said | None:
    return {"json": Said(GERMAN), "code": Said(JAVASCRIPT), "text": None}[form]


def _refused(text: str, form: AnswerForm, random: Random) -> Said | None:
    return Said("I cannot help with that.", stop="refusal")


def _empty(text: str, form: AnswerForm, random: Random) -> Said | None:
    return Said("")


def _extra_prose(text: str, form: AnswerForm, random: Random) -> Said | None:
    return Said(f"Certainly! Here it is:\n\n{text}\n\nShall I go on?") if form != "text" else None


def _unknown_tool(text: str, form: AnswerForm, random: Random) -> Said | None:
    return Said(stop="tools", calls=(("look_up_records", '{"name": "all"}'),))


def _huge(text: str, form: AnswerForm, random: Random) -> Said | None:
    return Said("lorem ipsum " * (MAX_CHARACTERS // 10))


def _wrong_choice(text: str, form: AnswerForm, random: Random) -> Said | None:
    return _changed(text, form, lambda value: _choose(value, random))


def _syntax_error(text: str, form: AnswerForm, random: Random) -> Said | None:
    first, _, rest = text.partition("\n")
    broken = "def broken(:\n"
    return None if form != "code" else Said(f"{first}\n{broken}{rest}" if first.startswith("```") else broken + text)


def _as_in_process(name: InjectedFault) -> InWords:
    """A fault that replies of other backends are spoiled with, too."""

    def spoiled(text: str, form: AnswerForm, random: Random) -> Said | None:
        found = spoil(text, name, random) if form == "json" else PROSE
        return None if found in (PROSE, text) else Said(found)

    return spoiled


def _half(due: Due) -> Act:
    act = due.act
    if act.pieces is None:
        return replace(act, body=act.body[: len(act.body) // 2], end="closed")
    return replace(act, pieces=act.pieces[: len(act.pieces) // 2], end="closed")


IN_WORDS: Mapping[str, InWords] = {
    "truncated": _truncated,
    "fenced": _fenced,
    "trailing comma": _trailing_comma,
    "wrong type": _as_in_process("wrong_types"),
    "wrong language": _wrong_language,
    "refused": _refused,
    "empty": _empty,
    "extra prose": _extra_prose,
    "unknown tool": _unknown_tool,
    "huge": _huge,
    "duplicate keys": _as_in_process("duplicate_key"),
    "NaN": _as_in_process("not_a_number"),
    "wrong choice": _wrong_choice,
    "invalid SQL": _as_in_process("invalid_sql"),
    "syntax error": _syntax_error,
}
ON_ITS_WAY: Mapping[str, OnItsWay] = {
    "slow": lambda due: HANG,
    "429": lambda due: fault(429, f"slow down, {key_of(due.heard)}", retry_after=1),
    "500": lambda due: fault(500, f"a wheel came off the cart of {key_of(due.heard)}"),
    "reset": lambda due: RESET,
    "half": _half,
}
FAULTS = (*IN_WORDS, *ON_ITS_WAY)
assert len(FAULTS) == 20


class Faults:
    """Spoils the replies of a served author."""

    def __init__(self, takes: Sequence[CassetteEntry], seed: int) -> None:
        self._seed = seed
        self._forms = {name: question.form for name, question in questions().items()}
        self.dealt = self._deal([take for take in takes if take.attempt == 0])

    def __call__(self, due: Due) -> Spoilt | None:
        # The rest of an answer that was cut off is no answer by itself.
        if due.is_rest:
            return None
        place, said = due.place, due.said
        random = self._random(place)
        at_first = place.attempt == 0
        name = self.dealt.get((place.question, place.key)) if at_first else self._drawn(place, said.text, random)
        if name is None:
            return None
        if name in ON_ITS_WAY:
            return Spoilt(name, said, ON_ITS_WAY[name](due)) if due.before < random.randint(1, 2) else None
        made = IN_WORDS[name](said.text, self._forms[place.question], random)
        return None if made is None else Spoilt(name, replace(made, model=said.model))

    def _deal(self, takes: Sequence[CassetteEntry]) -> dict[tuple[str, str], str]:
        """A fault for a quarter of the questions, each fault at least once."""
        random = Random(self._seed)
        left = sorted(takes, key=lambda take: (take.question, take.key))
        random.shuffle(left)
        places = {name: [take for take in left if self._fits(name, take)] for name in FAULTS}
        dealt: dict[tuple[str, str], str] = {}
        rarest_first = sorted(FAULTS, key=lambda name: len(places[name]))
        for name in (*rarest_first, *random.choices(FAULTS, k=max(0, round(RATE * len(takes)) - len(FAULTS)))):
            take = next(take for take in places[name] if (take.question, take.key) not in dealt)
            dealt[take.question, take.key] = name
        return dealt

    def _drawn(self, place: Place, text: str, random: Random) -> str | None:
        if random.random() >= RATE or (place.attempt >= REPAIRS and place.question not in LEAVES):
            return None
        form = self._forms[place.question]
        fitting = [name for name in FAULTS if name in ON_ITS_WAY or IN_WORDS[name](text, form, random) is not None]
        return random.choice([name for name in fitting if name != "refused" or place.question in LEAVES])

    def _fits(self, name: str, take: CassetteEntry) -> bool:
        if name == "refused" and take.question not in LEAVES:
            return False
        form, place = self._forms[take.question], Place(take.question, take.key, 0)
        return name in ON_ITS_WAY or IN_WORDS[name](take.reply.text, form, self._random(place)) is not None

    def _random(self, place: Place) -> Random:
        return Random(f"{self._seed}/{'/'.join(map(str, place))}")


def _changed(text: str, form: AnswerForm, change: Callable[[Json], bool]) -> Said | None:
    """The answer with a change made in it."""
    if form != "json":
        return None
    value: Json = json.loads(text)
    return Said(json.dumps(value)) if change(value) else None


def _choose(value: Json, random: Random) -> bool:
    places = [(each, key) for each in _objects(value) for key in CHOICES if isinstance(each.get(key), str)]
    if places:
        parent, key = random.choice(places)
        parent[key] = "whatever"
    return bool(places)


def _objects(value: Json) -> Iterator[dict[str, Json]]:
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(part)
