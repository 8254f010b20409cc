"""The phrases of scripted agents and users: agents fill in templates, and the user recognizes the same templates.

Each line of a message is one phrase. The user does not understand any other text.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from random import Random
from typing import Literal, NamedTuple

Kind = Literal["greet", "ask", "because", "propose", "report", "fact", "decline", "hand_over", "give_up", "part"]
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
