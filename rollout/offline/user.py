"""The scripted user, and the fixed phrases by which scripted agents and this user understand each other."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from random import Random
from typing import Literal, NamedTuple

from evaluator.text.facts import tells_fact, value_forms
from rollout.user import NOT_SENT, UserAnswer, UserRole
from skillweave.base.errors import AuthorError
from skillweave.llm.backends.backend import Backend, OfflineBackend, Request
from skillweave.schema.task import Fact
from skillweave.schema.trajectory import Message

Kind = Literal[
    "greet", "ask", "more", "because", "propose", "report", "fact", "decline", "hand_over", "give_up", "part"
]  # fmt: skip
AGENT: Mapping[Kind, Sequence[str]] = {
    "greet": (
        "Hello! How can I help you?",
        "Good day. What can I do for you?",
        "Hi there, what is it about?",
    ),
    "ask": (
        "Could you tell me this, please: {labels}?",
        "For that I need to know: {labels}. Could you tell me?",
        "May I ask you for the following: {labels}?",
    ),
    "more": (
        "Before I begin: is there anything else that I should know?",
        "Let me be sure that I have it all. Is there anything that you would add or change?",
    ),
    "because": (
        "Before I can {goal}, rule {rule} asks for one step at {company}.",
        "To {goal}, there is one thing to be done at {company} first, by rule {rule}.",
    ),
    "propose": (
        "I would {deed}, with {pairs}. Shall I go ahead?",
        "Let me check first: I would {deed}, with {pairs}. Is that what you want?",
        "I would {deed}. Shall I go ahead?",
        "I am going to {deed}. Is that what you want?",
    ),
    "report": (
        "I have done this for you: {deeds}.",
        "That is settled now: {deeds}.",
        "All done: {deeds}.",
    ),
    "fact": (
        "The {noun} is {form}.",
        "I have looked it up: the {noun} is {form}.",
    ),
    "decline": (
        "I am sorry, but I may not do that. Rule {rule}: {says}",
        "Unfortunately I have to decline this, because of rule {rule}. {says}",
    ),
    "hand_over": (
        "I have no tool for that, I am sorry. I am handing you over to a colleague.",
        "That is nothing that I can do from here. A colleague will take over.",
    ),
    "give_up": (
        "I am sorry, I cannot get this done. {complaint}",
        "I am afraid that this did not work. {complaint}",
    ),
    "part": (
        "You are welcome. Have a good day!",
        "Glad I could help. Goodbye!",
    ),
}
"""The templates of what agents say, by kind. `said` fills in the slots."""
YES = "Yes"
"""Each of a user's agreements begins with this word."""
AGREE = ("Yes, please go ahead.", "Yes, that is right, please do.", "Yes, please.")
REFUSE = ("No, that is not what I want.", "No, please don't. That is not right.")
WAIT = ("One moment, please.", "Wait, please.", "Hold on a second.")
NO_MORE = ("No, that is what I wanted to say.", "There is nothing to add, I think.")
THANK = ("Thank you, that is all.", "Thanks for your help, goodbye!", "Perfect, thank you. That was everything.")
ACCEPT = ("That is a pity, but thank you for telling me.", "I see. Thank you all the same, goodbye.")
UNKNOWN = ("I do not know that, I am sorry.", "I have nothing to say to that, I am afraid.")
PUZZLED = (
    "I am not sure what you mean. Can you help me with what I asked for?",
    "Sorry, I do not follow. Please go on.",
)
LEAVE = ("This leads nowhere, I give up. Goodbye.", "I think that I will try another time. Goodbye.")
_PARTICLES = frozenset(["in", "out", "up", "off", "on", "to", "for", "from", "with", "back"])
_SLOT = re.compile(r"\{(\w+)\}")
_PAIRS = re.compile(r"; (?=[^;:]+: )")


class Phrase(NamedTuple):
    """A line that was recognized."""

    kind: Kind
    slots: Mapping[str, str]

    @property
    def labels(self) -> list[str]:
        """For `ask`: the labels of the facts that are asked for."""
        return self.slots["labels"].split("; ")

    @property
    def pairs(self) -> dict[str, str]:
        """For `propose`: label -> value."""
        pairs = _PAIRS.split(self.slots.get("pairs", ""))
        return {label: value for label, _, value in (pair.partition(": ") for pair in pairs) if value}


def said(kind: Kind, random: Random, **slots: str) -> str:
    """Draw a phrase and fill in its slots.

    Args:
        kind: The kind of phrase.
        random: Draws the template.
        slots: Value of each slot. An empty slot counts as left out.
    """
    filled = {name: " ".join(value.split()) for name, value in slots.items() if value.strip()}
    templates = [template for template in AGENT[kind] if {*_SLOT.findall(template)} == {*filled}]
    if not templates:  # `give_up` without a complaint
        templates = [template for template in AGENT[kind] if {*filled} <= {*_SLOT.findall(template)}]
    return random.choice(templates).format_map({**dict.fromkeys(slots, ""), **filled}).strip()


def understood(text: str) -> list[Phrase]:
    """The phrases in a message. Lines that are not phrases are left out."""
    return [phrase for line in text.splitlines() if (phrase := _phrase(line.strip())) is not None]


def label(fact: str) -> str:
    """A fact's id in words: `me.email` is `your email`, `pay_bill.method` is `method (pay bill)`."""
    about, _, name = " ".join(fact.replace("_", " ").split()).rpartition(".")
    if about == "me":
        return f"your {name}"
    return name if name.startswith(about) else f"{name} ({about})"


def deed(tool: str) -> str:
    """What a tool does, in words from its name: `cancel_booking` is `cancel the booking`."""
    verb, *rest = tool.split("_")
    the = [] if not rest or rest[0] in _PARTICLES else ["the"]
    return " ".join([verb, *the, *rest])


def listed(parts: Iterable[str]) -> str:
    """Join labels, deeds or pairs to the text of one slot."""
    return "; ".join(parts)


def _phrase(line: str) -> Phrase | None:
    for kind, pattern in _patterns():
        match = pattern.fullmatch(line)
        if match is not None:
            return Phrase(kind, match.groupdict())
    return None


@cache
def _patterns() -> list[tuple[Kind, re.Pattern[str]]]:
    """All templates as patterns, those with more slots first."""
    patterns: list[tuple[int, Kind, re.Pattern[str]]] = []
    for kind, templates in AGENT.items():
        for template in templates:
            parts = _SLOT.split(template)
            text = "".join(f"(?P<{part}>.*?)" if at % 2 else re.escape(part) for at, part in enumerate(parts))
            text = text.replace(r"\ (?P<complaint>.*?)", r"(?:\ (?P<complaint>.*?))?")
            patterns.append((len(parts), kind, re.compile(text)))
    return [(kind, pattern) for _, kind, pattern in sorted(patterns, key=lambda entry: -entry[0])]


def offline_user(seed: int = 0) -> Backend:
    """Create a user that needs no model; the seed draws its phrases."""

    def answer(request: Request) -> str:
        role = request.variables.get("role")
        if not isinstance(role, UserRole):
            raise AuthorError("the offline user plays roles of world tasks; the request's variables hold none")
        texts = heard_by(request.messages)
        return reply(role, texts, Random(f"{seed}/{request.key}/{request.attempt}/{len(texts)}")).written

    return OfflineBackend(answer, "user")


def heard_by(messages: Sequence[Message]) -> list[str]:
    """The texts of the agent's messages in a request to the user."""
    return [
        message.content or ""
        for message in messages
        if message.role == "user" and not (message.content or "").startswith(NOT_SENT)
    ]


def reply(role: UserRole, heard: Sequence[str], random: Random) -> UserAnswer:
    """Answer the agent's last message. What the user has said before follows from what it heard before.

    Args:
        role: The user's role.
        heard: The texts of all messages of the agent.
        random: Draws the phrases.
    """
    argument = _argument(role, heard)
    if argument is not None:
        return _answer(argument)
    phrases = _phrases_of(heard[-1]) if heard else {}
    answer, wish = _reaction(role, heard, phrases, random), _later_wish(role, heard)
    if wish is None:
        return answer
    if "propose" in phrases:
        return _answer(f"{random.choice(WAIT)} {wish}", agrees=False, later=True)
    return _answer(f"{answer.text} {wish}" if phrases.keys() & {"ask", "greet"} else wish, later=True)


def _reaction(role: UserRole, heard: Sequence[str], phrases: Mapping[Kind, Phrase], random: Random) -> UserAnswer:
    """The answer of a user who wants nothing later and argues with nobody."""
    if "propose" in phrases:
        return _to_proposal(role, phrases["propose"], random)
    if "ask" in phrases:
        return _answer(_told(role, phrases["ask"]) or random.choice(UNKNOWN))
    if "greet" in phrases:
        return _answer(role.request)
    if "more" in phrases:
        return _answer(random.choice(NO_MORE))
    if phrases.keys() & {"decline", "give_up", "hand_over"}:
        return _answer(random.choice(ACCEPT), done=True)
    if phrases.keys() & {"report", "fact", "part"}:
        return _answer(random.choice(THANK), done=True)
    puzzled = sum(not understood(text) for text in heard)
    if puzzled >= role.persona.patience:
        return _answer(random.choice(LEAVE), done=True)
    return _answer(random.choice(PUZZLED))


def _argument(role: UserRole, heard: Sequence[str]) -> str | None:
    """What the user says against a refusal that it has just heard; None if it was none, or nothing is left to say."""
    arguments = role.scenario.insists
    refusals = [at for at, text in enumerate(heard) if "decline" in _findings(text)] if arguments else []
    is_refused = refusals[-1:] == [len(heard) - 1] and len(refusals) <= len(arguments)
    return arguments[len(refusals) - 1] if is_refused else None


def _later_wish(role: UserRole, heard: Sequence[str]) -> str | None:
    """The later wish, if the user comes out with it now."""
    later = role.scenario.later
    if later is None:
        return None
    if later.when == "second_message":
        greeted = [at + 1 for at, text in enumerate(heard) if "greet" in _phrases_of(text)]
        moments = greeted if role.opening != role.request else [0]
    else:
        moments = [at for at, text in enumerate(heard) if _findings(text) and _argument(role, heard[: at + 1]) is None]
    return later.says if moments[:1] == [len(heard) - 1] else None


def _phrases_of(text: str) -> dict[Kind, Phrase]:
    return {phrase.kind: phrase for phrase in understood(text)}


def _findings(text: str) -> frozenset[Kind]:
    """The kinds of phrases in a message that report, tell or decline something; none if it also wants an answer."""
    kinds = _phrases_of(text).keys()
    return frozenset() if kinds & {"propose", "ask", "greet"} else frozenset(kinds & {"report", "fact", "decline"})


def _to_proposal(role: UserRole, proposal: Phrase, random: Random) -> UserAnswer:
    pairs = proposal.pairs
    wrong = [
        fact.text
        for fact in _known(role)
        if fact.value is not None and label(fact.id) in pairs and not _is_said(fact, pairs[label(fact.id)], role.now)
    ]
    if wrong:
        return _answer(" ".join([random.choice(REFUSE), *wrong]), agrees=False)
    return _answer(random.choice(AGREE), agrees=True)


def _told(role: UserRole, question: Phrase) -> str:
    labels = frozenset(question.labels)
    return " ".join(fact.text for fact in _known(role) if label(fact.id) in labels)


def _known(role: UserRole) -> list[Fact]:
    return [fact for fact in role.scenario.facts if fact.tell != "never"]


def _is_said(fact: Fact, text: str, now: str) -> bool:
    return tells_fact(fact, text, now) or text in value_forms(fact.value)


def _answer(text: str, *, agrees: bool | None = None, later: bool = False, done: bool = False) -> UserAnswer:
    return UserAnswer(text=text, agrees=agrees, wants_human=False, later=later, done=done)
