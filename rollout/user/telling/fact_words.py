"""The words of a fact in which its value stands: `March 19 at 13:00` of `It is my scan on March 19 at 13:00.`"""

import re

from skillweave.schema.task import Fact

_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
MOMENT = re.compile(
    rf"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? )?(?:\d{{1,2}} (?:{_MONTH})|(?:{_MONTH}) \d{{1,2}})\b"
    r"(?:,? \d{4}\b)?(?: at \d{1,2}:\d\d)?",
    re.IGNORECASE,
)
LABELLED = re.compile(r"^(?P<label>[A-Z][\w' -]{0,40}): (?P<words>.+?)\.?$")
MINE = re.compile(r"^My (?P<label>[\w' -]{1,40}?) is (?P<words>.+?)\.?$")

THINGS = {"phone": "phone number", "email": "e-mail address"}
"""Names of what is the user's own, as people say them."""


def spoken(fact: Fact) -> str:
    """The fact as a sentence that people say: `My phone number is ...`."""
    match = MINE.match(fact.text)
    if match is None:
        return fact.text
    label = match["label"]
    return f"My {THINGS.get(label, label)} is {match['words']}."


def words_of(fact: Fact) -> str:
    """The words that stand for its value; the whole text where they cannot be told from the rest."""
    match = LABELLED.match(fact.text) or MINE.match(fact.text)
    if match:
        return match["words"]
    moment = MOMENT.search(fact.text)
    if moment and isinstance(fact.value, str) and fact.value[:2].isdigit() and fact.value[4:5] == "-":
        return moment.group()
    for form in forms_of(fact):
        found = re.search(rf"(?<!\w){re.escape(form)}(?!\w)", fact.text, re.IGNORECASE)
        if found:
            return found.group()
    return fact.text.strip(" .")


def forms_of(fact: Fact) -> list[str]:
    """The value as data hold it and as people write it."""
    value = fact.value
    if value is None or isinstance(value, bool | list | dict):
        return []
    found = [str(value), str(value).replace("_", " "), str(value).replace("_", "-")]
    if isinstance(value, int):
        found += [f"{value / 100:,.2f}", f"{value:,}"] if "cents" in fact.id else [f"{value:,}"]
    if isinstance(value, float):
        found.append(f"{value:g}")
    return list(dict.fromkeys(found))


def place_of(fact: Fact, text: str) -> tuple[int, int] | None:
    """Where a text says the fact; None where it does not."""
    for form in dict.fromkeys([words_of(fact), *forms_of(fact)]):
        found = re.search(rf"(?<!\w){re.escape(form)}(?!\w)", text, re.IGNORECASE)
        if found:
            return found.span()
    return None


def is_said(fact: Fact, text: str) -> bool:
    """Whether a text says the fact."""
    return place_of(fact, text) is not None
