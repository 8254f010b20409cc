"""From the sizes of questions to tokens and cost, by the author of each."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from skillweave.llm.connections import UNPAID, price_of
from skillweave.llm.price import in_words
from skillweave.llm.request import Reply
from skillweave.schema.asking import summed
from synth.cli.spent import CHARACTERS
from synth.engine.run import Run
from synth.questions.sizes import ByQuestion, Size
from synth.step import Step


class Priced(NamedTuple):
    """What a step is going to take."""

    name: str
    items: int | None
    """None: not known yet."""
    questions: float = 0.0
    tokens_in: float = 0.0
    tokens_out: float = 0.0
    cost_usd: float = 0.0
    unpriced: float = 0.0
    """Questions to authors of unknown price."""
    authors: tuple[str, ...] = ()

    @classmethod
    def summed(cls, rows: "Sequence[Priced]") -> "Priced":
        """All of them together."""
        return cls(
            "total",
            sum(row.items or 0 for row in rows),
            questions=sum(row.questions for row in rows),
            tokens_in=sum(row.tokens_in for row in rows),
            tokens_out=sum(row.tokens_out for row in rows),
            cost_usd=sum(row.cost_usd for row in rows),
            unpriced=sum(row.unpriced for row in rows),
        )

    @property
    def cost(self) -> str:
        return in_words(self.cost_usd, math.ceil(self.unpriced))

    def cells(self) -> list[str]:
        """A row of a table."""
        return [
            self.name,
            "unknown" if self.items is None else str(self.items),
            f"{self.questions:,.0f}",
            f"{self.tokens_in:,.0f}",
            f"{self.tokens_out:,.0f}",
            self.cost,
            ", ".join(self.authors),
        ]


class Forecast:
    """By the authors and the prices of one run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._asked = [asking for record in run.manifest.items() for asking in record.askings]
        self.has_offline = False
        """Whether anything was to be asked offline."""
        self.is_measured = False

    def of(self, step: Step[Any], items: int | None, asked: ByQuestion | None) -> Priced:
        """What a step is going to take that asks so much; None: nobody knows."""
        roles = {question.name: question.role for question in step.questions}
        found = Priced(step.name, items)
        for question, size in (asked or {}).items():
            author = self._run.authors.first(step.name, roles[question]) if question in roles else None
            if author is not None:
                found = self._with(found, size, author)
        return found

    def _with(self, found: Priced, size: Size, author: str) -> Priced:
        authors = tuple(dict.fromkeys([*found.authors, author]))
        found = found._replace(questions=found.questions + size.asked, authors=authors)
        if author.partition("/")[0] in UNPAID:
            self.has_offline = True
            return found
        chars_in, chars_out = self._characters(author)
        reply = Reply("", round(size.prompt_chars / chars_in), output_tokens=round(size.reply_chars / chars_out))
        price = price_of(author, self._run.spec.config.llm)
        return found._replace(
            tokens_in=found.tokens_in + reply.input_tokens,
            tokens_out=found.tokens_out + reply.output_tokens,
            cost_usd=found.cost_usd + (price.cost_usd(reply) if price is not None else 0.0),
            unpriced=found.unpriced + (size.asked if price is None else 0.0),
        )

    @property
    def characters(self) -> str:
        """How characters were taken for tokens, in words."""
        return "its tokens as measured here" if self.is_measured else f"{CHARACTERS:g} characters a token"

    def _characters(self, author: str) -> tuple[float, float]:
        """In a token of a prompt and in one of an answer, as measured here."""
        # A reply that was kept, or did not come, has a prompt and no tokens.
        counted = [each for each in self._asked if not each.kept and "unreached" not in each.complaints]
        total = summed([each for each in counted if each.author == author])
        if not total.input_tokens or not total.output_tokens:
            return CHARACTERS, CHARACTERS
        self.is_measured = True
        return max(total.prompt_chars, 1) / total.input_tokens, max(total.reply_chars, 1) / total.output_tokens
