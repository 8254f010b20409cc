"""English for words that are only known when they are said, and for names of which the catalogue has no words."""

import re

from synth.tasks.words import name_in_words

_VOWEL = re.compile(r"(?!eu|one\b|once|uni(?![mn])|us[eu])[aeiou]|x-|hour|honest|8|1[18]\b", re.IGNORECASE)
_LETTERS = re.compile(r"[A-Z]{2,}\b")
"""What is said letter by letter: `MRI`."""
_MANY = re.compile(r"[^sui]s$")
_WHEN = re.compile(r" (?:on|at)$")
_VERB = re.compile(r"(?P<verb>\S+ (?:up |in |out |off |down )?)(?P<object>.+)")
_DETERMINED = ("a ", "an ", "the ", "my ", "your ", "all ")


def with_article(words: str) -> str:
    """`a chest x-ray`, `an abdominal ultrasound`; nothing before what there are many of (`iron studies`) or what brings
    its article along."""
    if _MANY.search(words) or words.startswith(_DETERMINED):
        return words
    is_vowel = words[0] in "AEFHILMNORSX" if _LETTERS.match(words) else _VOWEL.match(words)
    return f"{'an' if is_vowel else 'a'} {words}"


def action(name: str) -> str:
    """A tool's name as a verb phrase: `buy_policy` -> `buy a policy`, `redeem_points` -> `redeem points`."""
    found = _VERB.fullmatch(name_in_words(name))
    return found["verb"] + with_article(found["object"]) if found else name_in_words(name)


def named(name: str, value: str) -> str:
    """A value by the name of its parameter or column, after `with`: `Europe as the zone`, `the start on 20 March`."""
    noun = name_in_words(name)
    when = _WHEN.sub("", noun)
    if when == noun:
        return f"{value} as the {noun}"
    return f"the {when.removesuffix('s')} on {value}"
