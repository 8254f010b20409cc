"""What questions took, step by step: from the ledger of this process, or from the records of items done elsewhere."""

from collections.abc import Sequence

from skillweave.llm.ledger import Ledger
from skillweave.llm.price import in_words
from skillweave.manifest import ItemRecord
from skillweave.schema.asking import Asking, summed

CHARACTERS = 4.0
"""In a token, where nothing was measured."""


class Spent:
    """While a run goes on. Its ledger holds what is under way too, but only where items run in this process."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._settled: dict[str, list[Asking]] = {}

    def settled(self, record: ItemRecord) -> None:
        """An item was done, here or elsewhere."""
        if record.askings:
            self._settled.setdefault(record.step, []).extend(record.askings)

    def of(self, step: str) -> Asking:
        """What the items of a step took."""
        return summed(self._ledger.askings(step) or self._settled.get(step, []))

    def askings(self) -> list[Asking]:
        """By question and author, sorted."""
        return self._ledger.askings() or by_question([each for found in self._settled.values() for each in found])

    def total(self) -> Asking:
        """What all steps took."""
        return summed(self.askings())


def tokens_of(asking: Asking) -> int:
    """Of prompts and answers together."""
    return asking.input_tokens + asking.output_tokens


def tokens_in_words(asking: Asking) -> str:
    """Of prompts and answers together; by their characters, marked `~`, where nobody reported any."""
    reported = tokens_of(asking)
    return f"{reported:,}" if reported else f"~{(asking.prompt_chars + asking.reply_chars) / CHARACTERS:,.0f}"


def was_paid_for(asking: Asking) -> bool:
    """Whether a model had a part in it."""
    return bool(tokens_of(asking) or asking.requests or asking.cost_usd or asking.unpriced)


def cost_of(asking: Asking) -> str:
    """What it cost, in words; what may have been charged for requests without a reply stands beside it."""
    lost = f", at most {in_words(asking.lost_usd, 0)} lost" if asking.lost_usd else ""
    return in_words(asking.cost_usd, asking.unpriced) + lost


def note(asking: Asking) -> str:
    """`12,345 tokens, $0.12`; empty where no model was asked."""
    return f"{tokens_of(asking):,} tokens, {cost_of(asking)}" if was_paid_for(asking) else ""


def of_records(records: Sequence[ItemRecord]) -> list[Asking]:
    """By question and author, sorted."""
    return by_question([asking for record in records for asking in record.askings])


def by_question(askings: Sequence[Asking]) -> list[Asking]:
    """Those of one question and author together, sorted."""
    found: dict[tuple[str, str], list[Asking]] = {}
    for asking in askings:
        found.setdefault((asking.question, asking.author), []).append(asking)
    return [summed(each, question=question, author=author) for (question, author), each in sorted(found.items())]
