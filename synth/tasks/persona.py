"""Personas: who calls. The name and age are the person's own in the data; the manner is drawn."""

from datetime import date
from random import Random

from skillweave.schema.record import Row
from skillweave.schema.task import Persona

STYLES = {
    "brief": "You write short messages, often without a greeting, and get to the point at once.",
    "chatty": "You like to talk: you greet, mention what is going on in your life, and thank people.",
    "formal": "You write in complete, polite sentences and keep a certain distance.",
    "worried": "You are a little anxious that something might go wrong, and say so.",
    "hurried": "You are between two things and want this settled quickly.",
    "friendly": "You are warm and patient, and easy to talk to.",
    "precise": "You are careful with details and like things to be exact.",
    "hesitant": "You are not used to doing this in writing and grope for words now and then.",
}
"""Style -> how it is played."""
TRAITS = (
    "answers one question at a time",
    "mentions small details nobody asked for",
    "double-checks what was done before ending",
    "prefers plain words to technical ones",
    "repeats the request once if ignored",
    "apologises for taking up time",
    "dislikes long explanations",
    "writes in lower case",
)


def persona_of(row: Row, now: str, random: Random) -> Persona:
    """The persona of a person in the data."""
    style = random.choice(sorted(STYLES))
    patience = {"hurried": 4, "brief": 5, "worried": 6}.get(style, 8) + random.randint(0, 2)
    return Persona(
        name=str(row.get("full_name") or "the caller"),
        age=_age(str(row.get("date_of_birth") or ""), now, random),
        style=style,
        patience=patience,
        traits=sorted(random.sample(TRAITS, random.randint(1, 2))),
    )


def _age(born: str, now: str, random: Random) -> int:
    try:
        birth, today = date.fromisoformat(born), date.fromisoformat(now[:10])
    except ValueError:
        return random.randint(21, 79)
    return today.year - birth.year - ((today.month, today.day) < (birth.month, birth.day))
