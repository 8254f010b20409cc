"""Checker: whether a final answer is right. Any function from it to a bool, or to a float from 0 to 1, is one."""

import re
from collections.abc import Callable

from skillweave.errors import ConfigError

Checker = Callable[[str], bool | float]

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?(?!\w)")


def exact(expected: str) -> Checker:
    """The whole answer, apart from case, space, and punctuation around it."""
    wanted = _normal(expected)
    return lambda answer: _normal(answer) == wanted


def contains(*expected: str) -> Checker:
    """Each of these stands in the answer, as whole words, apart from case and space."""
    wanted = [re.compile(rf"(?<!\w){re.escape(_normal(text))}(?!\w)") for text in expected]
    return lambda answer: all(pattern.search(_normal(answer)) for pattern in wanted)


def number(expected: float, *, tolerance: float = 1e-6) -> Checker:
    """The last number in the answer, up to `tolerance` relative to what is expected."""

    def check(answer: str) -> bool:
        found = numbers_in(answer)
        return bool(found) and abs(found[-1] - expected) <= tolerance * max(1.0, abs(expected))

    return check


def expected_answer(expected: str) -> Checker:
    """`number` where a number is expected, otherwise `exact`."""
    return number(numbers_in(expected)[0]) if _NUMBER.fullmatch(expected.strip()) else exact(expected)


CHECKERS: dict[str, Callable[[str], Checker]] = {
    "answer": expected_answer,
    "exact": exact,
    "contains": contains,
    "number": lambda text: number(_number(text)),
}
"""By name, each from the expected answer."""


def numbers_in(text: str) -> list[float]:
    """Numbers in a text, in order; commas may group thousands."""
    return [float(found.replace(",", "")) for found in _NUMBER.findall(text)]


def reward_of(checker: Checker, answer: str) -> float:
    """What the checker says, from 0 to 1. ConfigError where it says something else."""
    said = checker(answer)
    if not isinstance(said, bool | int | float) or not 0 <= said <= 1:
        raise ConfigError(f"the checker gave {said!r} for {answer[:80]!r}; it must give a bool, or a float from 0 to 1")
    return float(said)


def _number(text: str) -> float:
    found = numbers_in(text)
    if len(found) != 1:
        raise ConfigError(f"the expected answer {text!r} is no number; give one, or another check")
    return found[0]


def _normal(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .,;:!?'\"`*()")
