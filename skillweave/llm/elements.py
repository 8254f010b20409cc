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
"""Takes all elements of an answer; gives for each of them what is wrong with it, in words for its author."""

KEPT = (
    "{kept} of {all} are accepted and kept; do not send them again: {names}.\n"
    "Send only the others, mended, in the same form."
)


class ElementCheck(Generic[T]):
    """The check of one answer of type `T`, a list, over all its repairs. It keeps what was accepted so far."""

    def __init__(self, judge: ElementJudge, name: Callable[[Any], str], wanted: Collection[str] = ()) -> None:
        """Args:
        judge: Finds what is wrong with elements.
        name: The name of an element, by which elements of different replies are told apart.
        wanted: Names that must all be there.
        """
        self._judge = judge
        self._name = name
        self._wanted = list(wanted)
        self._elements: dict[str, Any] = {}
        """The elements of the right form by name, in the order in which their names first came."""
        self._places: dict[str, None] = {}
        """The names of all elements that ever came, in that order."""
        self._wrong: dict[str, Sequence[str]] = {}
        """Names of the elements that are not accepted -> what is wrong with them."""
        self._malformed: dict[str, Sequence[str]] = {}
        """Names of elements that came only in a wrong form -> what is wrong with it."""
        self._nameless: list[str] = []
        """What is wrong with elements of the last reply that have no name, or one that was given twice."""
        self._missing: list[str] = []
        """Complaints about wanted names that did not come."""
        self._is_new = True

    def begin(self) -> None:
        """Note that another author is asked: its first reply of the right form replaces all that came before."""
        self._is_new = True

    @property
    def answer(self) -> T:
        """All elements of the right form."""
        elements: Any = list(self._elements.values())
        return elements  # type: ignore[no-any-return]

    async def take(self, question: Question[T], text: str) -> list[str]:
        """Merge a reply into what was accepted before.

        Returns:
            What is still wrong.

        Raises:
            ParseError: The reply holds no list.
        """
        list_question: Any = question
        elements: list[AnswerElement[Any]] = parse_elements(list_question, text)
        if self._is_new or not self._accepted:
            # Nothing was kept, so all was asked for again: an element that does not come is given up.
            self._is_new = False
            self._elements, self._places, self._wrong, self._malformed = {}, {}, {}, {}
        self._nameless = []
        names: set[str] = set()
        for element in elements:
            if element.value is None:
                self._merge_malformed(element)
            else:
                self._merge(element.value[0], element.place, names)
        self._elements = {name: self._elements[name] for name in self._places if name in self._elements}
        faults = await self._find_faults()
        self._wrong = {name: wrong for name, wrong in zip(self._elements, faults, strict=True) if wrong}
        self._missing = [
            f"{question.under}: there is none for {name!r}"
            for name in self._wanted
            if name not in self._elements and name not in self._malformed
        ]
        wrong = chain(*self._malformed.values(), self._nameless, *self._wrong.values(), self._missing)
        return list(dict.fromkeys(wrong))

    def closing(self) -> str:
        """The end of a complaint: which elements are accepted, and what is asked for; empty if none is accepted."""
        kept = self._accepted
        if self._is_new or not kept:
            return ""
        others = len(self._wrong) + len(self._malformed) + len(self._nameless) + len(self._missing)
        return KEPT.format(kept=len(kept), all=len(kept) + others, names=", ".join(kept))

    def remainder(self, question: Question[T]) -> str:
        """The elements that are not accepted, as an answer's text; empty if none is accepted, or if some have no form
        in which they could be shown."""
        if self._is_new or self._malformed or self._nameless or len(self._wrong) in (0, len(self._elements)):
            return ""
        return compact_json({question.under: [self._elements[name] for name in self._wrong]})

    @property
    def _accepted(self) -> list[str]:
        return [name for name in self._elements if name not in self._wrong]

    async def drop_faulty(self) -> tuple[T, list[str]]:
        """Drop all elements with which something is wrong.

        The others are checked again, since they may have depended on those.

        Returns:
            The accepted elements, and for each dropped one what was wrong with it.
        """
        left_out = [wrong[0] for wrong in self._malformed.values()] + self._nameless + self._missing
        while any(faults := await self._find_faults()):
            left_out += [wrong[0] for wrong in faults if wrong]
            pairs = zip(list(self._elements.items()), faults, strict=True)
            self._elements = {name: element for (name, element), wrong in pairs if not wrong}
        return self.answer, left_out

    async def _find_faults(self) -> ElementFaults:
        faults = self._judge(list(self._elements.values()))
        return await faults if inspect.isawaitable(faults) else faults

    def _merge(self, element: Any, place: str, names: set[str]) -> None:
        """Take an element of the right form; `names` are those that the same reply has given so far."""
        name = self._name(element)
        if name in names:
            if element != self._elements[name]:
                self._nameless.append(f"{place}: {name!r} is given twice, and differently; the first is taken")
            return
        names.add(name)
        self._places[name] = None
        self._elements[name] = element
        self._malformed.pop(name, None)

    def _merge_malformed(self, element: AnswerElement[Any]) -> None:
        name = self._name_in(element.raw)
        if name is None:
            self._nameless += element.complaints
        elif name not in self._elements or name in self._wrong:
            self._elements.pop(name, None)
            self._places[name] = None
            self._malformed[name] = element.complaints

    def _name_in(self, raw: Json) -> str | None:
        """The name that an element of a wrong form seems to have."""
        try:
            name = self._name(_JsonObject(raw))
        except Exception:  # the caller's function may do anything with a value of another form
            return None
        return name if isinstance(name, str) else None


class _JsonObject:
    """A JSON object whose texts are read like a record's fields."""

    def __init__(self, value: Json) -> None:
        self._value = value

    def __getattr__(self, name: str) -> Json:
        if not isinstance(self._value, dict) or not isinstance(self._value.get(name), str):
            raise AttributeError(name)
        return self._value[name]
