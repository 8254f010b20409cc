"""Lower case, as people write who never touch the shift key; codes, which would be others in small letters, stay."""

import re

_CODE = re.compile(r"[A-Z]{2,}[-/]?|\S*[A-Z]\S*\d\S*|\S*\d\S*[A-Z]\S*|###STOP###|\S+@\S+")
_FIGURES = re.compile(r"\d")


def lowered(text: str) -> str:
    """The text in lower case: `i booked KR 213, postcode DT78 0HY`."""
    words = text.split(" ")
    found = []
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        bare = word.strip(".,;:!?()")
        is_code = bare != "I" and _CODE.fullmatch(bare) and (not bare.isalpha() or _FIGURES.match(following))
        found.append(word if is_code else word.lower())
    return " ".join(found)
