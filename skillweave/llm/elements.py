"""An answer that is a list, checked element by element, so that a repair asks only for what was wrong.

Accepted elements are kept between repairs. The author is told which, and asked for the others alone; what comes is
merged by name. An element that stays faulty to the end, or is not sent again, is left out.
"""

import inspect
from collections.abc import Awaitable, Callable, Collection, Sequence
from itertools import chain
from typing import Any, Generic, TypeVar

from skillweave.llm.json_text import compact_json
from skillweave.llm.parse import AnswerElement, parse_elements
from skillweave.llm.question import Question
from skillweave.schema.record import Json

T = TypeVar("T")
ElementFaults = Sequence[Sequence[str]]
ElementJudge = Callable[[Sequence[Any]], ElementFaults | Awaitable[ElementFaults]]
"""The elements of an answer -> for each of them what is wrong with it, in words for its author."""

KEPT = (
    "{kept} of {all} are accepted and kept; do not send them again: {names}.\n"
    "Send only the others, mended, in the same form."
)


class ElementCheck(Generic[T]):
    """What has come of an answer of type `T`, a list, over all its repairs."""

    def __init__(self, judge: ElementJudge, name: Callable[[Any], str], wanted: Collection[str] = ()) -> None:
        """`wanted` are names that must all be there."""
        self._judge = judge
        self._name = name
        self._wanted = list(wanted)
        self._elements: dict[str, Any] = {}
        """All that have the right form, by name, in the order in which they first came, in whatever form."""
        self._places: dict[str, None] = {}
        """The names of all that ever came, in that order."""
        self._wrong: dict[str, Sequence[str]] = {}
        """What is wrong with those of them that are not accepted."""
        self._malformed: dict[str, Sequence[str]] = {}
        """What is wrong with the form of others, by name, until they come in the right form."""
        self._nameless: list[str] = []
        """What is wrong with elements of the last reply that cannot be told apart."""
        self._missing: list[str] = []
        self._is_new = True

    def begin(self) -> None:
        """Another author is asked; its first reply that has the right form takes the place of what there is."""
        self._is_new = True

    @property
    def answer(self) -> T:
        """All elements that have the right form."""
        found: Any = list(self._elements.values())
        return found  # type: ignore[no-any-return]

    async def take(self, question: Question[T], text: str) -> list[str]:
        """Merge a reply, and say what is still wrong. Raises ParseError where it holds no list."""
        asked: Any = question
        elements: list[AnswerElement[Any]] = parse_elements(asked, text)
        if self._is_new or not self._accepted:
            # Nothing was kept, and so all was asked for again: what does not come is given up.
            self._is_new = False
            self._elements, self._places, self._wrong, self._malformed = {}, {}, {}, {}
        self._nameless = []
        said: set[str] = set()
        for element in elements:
            if element.value is None:
                self._note(element)
            else:
                self._merge(element.value[0], element.place, said)
        self._elements = {name: self._elements[name] for name in self._places if name in self._elements}
        found = await self._judged()
        self._wrong = {name: wrong for name, wrong in zip(self._elements, found, strict=True) if wrong}
        self._missing = [
            f"{question.under}: there is none for {name!r}"
            for name in self._wanted
            if name not in self._elements and name not in self._malformed
        ]
        wrong = chain(*self._malformed.values(), self._nameless, *self._wrong.values(), self._missing)
        return list(dict.fromkeys(wrong))

    def closing(self) -> str:
        """Which elements are accepted, and what is asked for; empty where none is."""
        kept = self._accepted
        if self._is_new or not kept:
            return ""
        others = len(self._wrong) + len(self._malformed) + len(self._nameless) + len(self._missing)
        return KEPT.format(kept=len(kept), all=len(kept) + others, names=", ".join(kept))

    def left(self, question: Question[T]) -> str:
        """The elements that are not accepted, in the form of an answer; empty where none is accepted, or not all can be
        given so."""
        if self._is_new or self._malformed or self._nameless or len(self._wrong) in (0, len(self._elements)):
            return ""
        return compact_json({question.under: [self._elements[name] for name in self._wrong]})

    @property
    def _accepted(self) -> list[str]:
        return [name for name in self._elements if name not in self._wrong]

    async def sound(self) -> tuple[T, list[str]]:
        """The elements with which nothing is wrong, and why each other one is left out.

        They are judged again without the others, which they may have leant on.
        """
        left_out = [wrong[0] for wrong in self._malformed.values()] + self._nameless + self._missing
        while any(found := await self._judged()):
            left_out += [wrong[0] for wrong in found if wrong]
            pairs = zip(list(self._elements.items()), found, strict=True)
            self._elements = {name: element for (name, element), wrong in pairs if not wrong}
        return self.answer, left_out

    async def _judged(self) -> ElementFaults:
        found = self._judge(list(self._elements.values()))
        return await found if inspect.isawaitable(found) else found

    def _merge(self, element: Any, place: str, said: set[str]) -> None:
        name = self._name(element)
        if name in said:
            if element != self._elements[name]:
                self._nameless.append(f"{place}: {name!r} is given twice, and differently; the first is taken")
            return
        said.add(name)
        self._places[name] = None
        self._elements[name] = element
        self._malformed.pop(name, None)

    def _note(self, element: AnswerElement[Any]) -> None:
        name = self._name_in(element.given)
        if name is None:
            self._nameless += element.complaints
        elif name not in self._elements or name in self._wrong:
            self._elements.pop(name, None)
            self._places[name] = None
            self._malformed[name] = element.complaints

    def _name_in(self, given: Json) -> str | None:
        """The name that an element without the right form seems to have."""
        try:
            name = self._name(_Bare(given))
        except Exception:
            return None
        return name if isinstance(name, str) else None


class _Bare:
    """An object of JSON whose fields are read like a record's."""

    def __init__(self, given: Json) -> None:
        self._given = given

    def __getattr__(self, name: str) -> Json:
        if not isinstance(self._given, dict) or not isinstance(self._given.get(name), str):
            raise AttributeError(name)
        return self._given[name]
