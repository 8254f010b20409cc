"""The offline author behind HTTP: answers from the cassette of a direct run, by the words of the question alone.

Whatever API the question comes by, and however it is streamed, the answer is the same text. It sees what an endpoint
sees, so an answer that depends on anything but the words that were sent is not found.
"""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self

from skillweave.llm.ask import GO_ON
from skillweave.llm.history import valid_history
from skillweave.llm.replay import CassetteEntry
from tests.authors.apis import Said, Spoken, Turn, act_of, understood
from tests.authors.tellings import Tellings
from tests.llm.scripted import Act, Heard, ScriptedServer, fault

CHARACTERS_OF_A_TOKEN = 4
GOES_ON = GO_ON.partition("{tail}")[0]
NO_ANSWER = "nobody has recorded an answer to this question"


class Place(NamedTuple):
    """Which of the run's questions a request is."""

    question: str
    key: str
    attempt: int


@dataclass(frozen=True)
class Answered:
    """A request, and what the server did with it."""

    heard: Heard
    turns: tuple[Turn, ...]
    place: Place | None
    """None where nobody knows the question."""
    status: int
    is_whole: bool
    """Whether a whole reply was sent."""
    usage: tuple[int, int]
    """Tokens of the prompt and of the reply, where it was whole."""
    fault: str | None
    model: str
    """As the reply calls it: a name for this one request."""


class Due(NamedTuple):
    """What a request would get from a faultless server."""

    place: Place
    said: Said
    act: Act
    heard: Heard
    before: int
    """How often the same was heard before."""
    is_rest: bool
    """Whether it asks to go on with an answer that was cut off."""


class Spoilt(NamedTuple):
    """What it gets instead."""

    fault: str
    said: Said
    act: Act | None = None
    """What is sent, where that is not simply what is said."""


Spoil = Callable[[Due], Spoilt | None]


class ServedAuthor:
    """`with ServedAuthor(cassette) as author:` and then `author.url`."""

    def __init__(self, cassette: Path, *, spoil: Spoil | None = None, delay: float = 0.0) -> None:
        """`delay` in seconds, before each reply."""
        self.takes = read_takes(cassette)
        self.log: list[Answered] = []
        self._openings = {turns_of(take)[:2]: take for take in self.takes if take.attempt == 0}
        self._conversations = {turns_of(take): take for take in self.takes}
        self._tellings = Tellings(self.takes)
        self._spoil = spoil
        self._delay = delay
        self._heard: Counter[tuple[Turn, ...]] = Counter()
        self._lock = threading.Lock()
        self._server = ScriptedServer(self._act)

    @property
    def url(self) -> str:
        """With the version, as most endpoints have it."""
        return f"{self._server.url}/v1"

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *given: object) -> None:
        self._server.__exit__(*given)

    def times(self) -> Counter[tuple[Turn, ...]]:
        """How often each conversation was sent."""
        with self._lock:
            return Counter(one.turns for one in self.log)

    @property
    def unknown(self) -> list[Answered]:
        """Requests that nobody had an answer to."""
        return [one for one in self.log if one.place is None]

    def _act(self, heard: Heard) -> Act:
        spoken = understood(heard)
        with self._lock:
            before = self._heard[spoken.turns]
            self._heard[spoken.turns] += 1
            entry, act = self._answer(heard, spoken, before)
            self.log.append(entry)
        return replace(act, delay=act.delay + self._delay)

    def _answer(self, heard: Heard, spoken: Spoken, before: int) -> tuple[Answered, Act]:
        place, text = self._found(spoken)
        model = f"served-{len(self.log)}"
        if place is None:
            act = fault(422, NO_ANSWER)
            return Answered(heard, spoken.turns, None, act.status, False, (0, 0), None, model), act
        said = Said(text, model=model)
        act = act_of(spoken, counted(said, spoken))
        wrong = (
            self._spoil(Due(place, said, act, heard, before, goes_on(spoken.turns)))
            if self._spoil is not None
            else None
        )
        if wrong is not None:
            said, act = wrong.said, wrong.act or act_of(spoken, counted(wrong.said, spoken))
        is_whole = act.status == 200 and act.end == "whole"
        usage = counted(said, spoken).usage if is_whole else (0, 0)
        return Answered(heard, spoken.turns, place, act.status, is_whole, usage, wrong and wrong.fault, model), act

    def _found(self, spoken: Spoken) -> tuple[Place | None, str]:
        """The question that is asked, and the right answer."""
        turns = spoken.turns
        begun = ""
        while goes_on(turns):
            begun, turns = turns[-2][1] + begun, turns[:-2]
        take = self._conversations.get(turns) or self._openings.get(turns[:2]) or self._tellings.part(turns[1][1])
        if take is None:
            return None, ""
        place = Place(take.question, take.key, sum(role == "user" for role, _ in turns) - 1)
        text = take.reply.text
        return (place, text[len(begun) :]) if text.startswith(begun) else (None, "")


def goes_on(turns: Sequence[Turn]) -> bool:
    """Whether the rest of an answer is asked for."""
    return turns[-1][1].startswith(GOES_ON)


def key_of(heard: Heard) -> str:
    """The key that a request carries, whatever its API."""
    return heard.headers.get("x-api-key") or heard.headers["authorization"].removeprefix("Bearer ")


def read_takes(cassette: Path) -> list[CassetteEntry]:
    """The lines of a cassette."""
    return [CassetteEntry.model_validate_json(line) for line in cassette.read_text("ascii").splitlines()]


def turns_of(take: CassetteEntry) -> tuple[Turn, ...]:
    """What was said before a take's reply, as an endpoint sees it."""
    return tuple((str(message.role), message.content or "") for message in valid_history(take.messages))


def counted(said: Said, spoken: Spoken) -> Said:
    """A reply with its usage, as the server counts it."""
    given = sum(len(text) for _, text in spoken.turns)
    taken = len(said.text) + sum(len(name + arguments) for name, arguments in said.calls)
    return replace(said, usage=(given // CHARACTERS_OF_A_TOKEN + 1, taken // CHARACTERS_OF_A_TOKEN + 1))


def total(log: Sequence[Answered]) -> dict[str, int]:
    """What was sent and answered, by the names that ledgers have for it."""
    whole = [one for one in log if one.is_whole]
    declined = sum(one.status >= 400 for one in log)
    return {
        "requests": len(log),
        "declined": declined,
        "lost": len(log) - declined - len(whole),
        "replies": len(whole),
        "input_tokens": sum(one.usage[0] for one in whole),
        "output_tokens": sum(one.usage[1] for one in whole),
    }
