"""How a question went with an author: what was asked, accepted and sent back, and what it cost."""

from pydantic import Field

from skillweave.schema.record import Record


class QuestionMetrics(Record):
    """What happened to one question with one author."""

    question: str
    """The question's name."""
    author: str
    """`provider/model`."""
    asked: int = 0
    """How often it was asked, repairs not counted."""
    first_try: int = 0
    """Answers that were accepted at the first try."""
    repaired: int = 0
    """Answers that were accepted after they had been sent back."""
    rejected: int = 0
    """How often there was no usable answer."""
    complaints: dict[str, int] = Field(default_factory=dict)
    """What was wrong with replies -> how often: `form` (not of the type), `check` (the question's own check), `cut` (at
    the token limit), `refused`, `withheld` (by a content filter), `too_long` (for the context window), `unknown` (to
    the offline author), `unreached`."""
    prompt_chars: int = 0
    """Characters of everything that was sent; helps to estimate other runs."""
    reply_chars: int = 0
    """Characters of all replies."""
    kept: int = 0
    """Replies that came from the cache."""
    replies: int = 0
    """Replies that were paid for."""
    requests: int = 0
    """Requests sent over the network, retries included."""
    declined: int = 0
    """Requests that were answered by an error status."""
    lost: int = 0
    """Requests without a complete reply; they may have been charged."""
    input_tokens: int = 0
    """Tokens sent."""
    cached_input_tokens: int = 0
    """Tokens sent that the provider read from its cache."""
    output_tokens: int = 0
    """Tokens sampled."""
    cost_usd: float = 0.0
    """US dollars, for the replies whose price is known."""
    unpriced: int = 0
    """Replies and lost requests whose price is unknown."""
    lost_usd: float = 0.0
    """US dollars that lost requests can have cost at most."""

    @property
    def answered(self) -> int:
        """Answers that were accepted."""
        return self.first_try + self.repaired

    def plus(self, **amounts: float) -> "QuestionMetrics":
        """These metrics with amounts added. `amounts` names number fields."""
        return self.model_copy(update={name: getattr(self, name) + amount for name, amount in amounts.items()})

    def complained(self, kind: str) -> "QuestionMetrics":
        """These metrics with one more complaint of a kind."""
        count = self.complaints.get(kind, 0) + 1
        return self.model_copy(update={"complaints": dict(sorted({**self.complaints, kind: count}.items()))})


def total_metrics(askings: "list[QuestionMetrics]", *, question: str = "", author: str = "") -> QuestionMetrics:
    """The sum of all metrics, under the names given."""
    total = QuestionMetrics(question=question, author=author)
    for asking in askings:
        amounts = asking.model_dump(exclude={"question", "author", "complaints"})
        total = total.plus(**amounts)
        for kind, count in asking.complaints.items():
            complaints = {**total.complaints, kind: total.complaints.get(kind, 0) + count}
            total = total.model_copy(update={"complaints": dict(sorted(complaints.items()))})
    return total
