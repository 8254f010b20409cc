"""How a question went with an author: what was asked, accepted and sent back, and what it cost."""

from pydantic import Field

from skillweave.schema.record import Record


class QuestionMetrics(Record):
    """One question, put to one author."""

    question: str
    author: str
    """`provider/model`."""
    asked: int = 0
    """How often it was put, repairs not counted."""
    first_try: int = 0
    """Answers that were accepted as they came."""
    repaired: int = 0
    """Answers that were accepted after they were sent back."""
    rejected: int = 0
    """Given up: there was no usable answer."""
    complaints: dict[str, int] = Field(default_factory=dict)
    """What was wrong with replies -> how often: `form` (not of the type), `check` (the question's gate), `cut` (off at
    the token limit), `refused`, `withheld` (by a content filter), `too_long` (for the context window), `unknown` (to
    the offline author), `unreached`."""
    prompt_chars: int = 0
    """Characters of all that was sent, and of all replies below: sizes to estimate other runs by."""
    reply_chars: int = 0
    kept: int = 0
    """Replies that came from the cache."""
    replies: int = 0
    """Replies that were paid for."""
    requests: int = 0
    """Sent over the network, further tries included."""
    declined: int = 0
    """Of them: answered by an error status."""
    lost: int = 0
    """Of them: no whole reply came; they may have been charged."""
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    """Of the replies whose price is known."""
    unpriced: int = 0
    """Replies and lost requests whose price is not known."""
    lost_usd: float = 0.0
    """The most that lost requests can have cost."""

    @property
    def answered(self) -> int:
        """Answers that were accepted."""
        return self.first_try + self.repaired

    def plus(self, **amounts: float) -> "QuestionMetrics":
        """This, with amounts added to its numbers."""
        return self.model_copy(update={name: getattr(self, name) + amount for name, amount in amounts.items()})

    def complained(self, kind: str) -> "QuestionMetrics":
        """This, with one more complaint."""
        count = self.complaints.get(kind, 0) + 1
        return self.model_copy(update={"complaints": dict(sorted({**self.complaints, kind: count}.items()))})


def total_metrics(askings: "list[QuestionMetrics]", *, question: str = "", author: str = "") -> QuestionMetrics:
    """All of them together, under the names given."""
    total = QuestionMetrics(question=question, author=author)
    for asking in askings:
        amounts = asking.model_dump(exclude={"question", "author", "complaints"})
        total = total.plus(**amounts)
        for kind, count in asking.complaints.items():
            complaints = {**total.complaints, kind: total.complaints.get(kind, 0) + count}
            total = total.model_copy(update={"complaints": dict(sorted(complaints.items()))})
    return total
