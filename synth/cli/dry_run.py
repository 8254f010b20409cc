"""`run --dry-run`: what would run and why, with the questions, tokens and cost that it would take. It writes nothing.

An item is expected to ask what it asked before; else what similar items asked; else what a default run asked.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from skillweave.base.command import counted
from skillweave.llm.backends.backend import Reply
from skillweave.llm.connections import UNPAID, key_note, price_of
from skillweave.llm.ledger import CHARACTERS_PER_TOKEN, cost_in_words
from skillweave.schema.reports import total_metrics
from synth.cli.display import OFFLINE_PREFIX, show_table
from synth.cli.options import PipelineOptions
from synth.cli.time_left import ExpectedItems, item_label
from synth.engine.drive import require_settled
from synth.engine.run import PipelineRun
from synth.engine.schedule import RunListener, Schedule
from synth.engine.step import ALL, JOIN, PipelineStep
from synth.questions.sizes import ByQuestion, Size, Sizes, StepSizes, asked_in, times, together


def is_unpaid(author: str) -> bool:
    """Whether an author, `provider/model`, costs nothing and is never sent back: it is no model."""
    return author.partition("/")[0] in UNPAID


class ExpectedQuestions(ExpectedItems):
    """What the items of a run will ask."""

    def of_item(self, step: PipelineStep[Any], key: str) -> ByQuestion:
        """What an item will ask."""
        similar = self._similar(step, key)
        if not similar:
            return self._of_new(step, key)
        askings = [asking for record in similar for asking in record.askings]
        is_paid = {asking.question for asking in askings if not is_unpaid(asking.author)}
        found = times(together([asked_in(record) for record in similar]), 1 / len(similar))
        return self._by_author(step, found, measured=is_paid)

    def of_step(self, step: PipelineStep[Any]) -> ByQuestion | None:
        """What a step will ask whose items are not known yet; None if no sizes are known either."""
        sizes = self._shipped.get(step.name)
        if sizes is None:
            return None if step.questions else {}
        return self._by_author(step, sizes.of(self._domains, self._joined))

    def _by_author(
        self, step: PipelineStep[Any], asked: ByQuestion, measured: Collection[str] = frozenset()
    ) -> ByQuestion:
        """What the authors of this run take where the offline author takes so much.

        Args:
            step: The step that asks.
            asked: What it asks the offline author.
            measured: Questions that a model was asked.
        """
        models = {
            question.name
            for question in step.questions
            if question.role == "textual" and not is_unpaid(self._run.authors.first(step.name, question.role) or "")
        }
        sizes = Sizes.shipped()
        return {
            name: sizes.by_model(name, size) if name in models and name not in measured else size
            for name, size in asked.items()
        }

    def _of_new(self, step: PipelineStep[Any], key: str) -> ByQuestion:
        sizes = self._shipped.get(step.name)
        if key == JOIN:
            return {}
        if sizes is None:
            return {question.name: Size(asked=1) for question in step.questions}
        if key == ALL:
            return self._by_author(step, sizes.of(self._domains, self._joined))
        return self._by_author(step, self._of_one(sizes, key))

    def _of_one(self, sizes: StepSizes, key: str) -> ByQuestion:
        return sizes.combination if self._is_joined(key) else sizes.domain


class CostEstimate(NamedTuple):
    """What a step, or several, will take."""

    name: str
    items: int | None
    """None: not known yet."""
    questions: float = 0.0
    tokens_in: float = 0.0
    tokens_out: float = 0.0
    cost_usd: float = 0.0
    unpriced: float = 0.0
    """Questions to authors of unknown price."""
    offline_tokens: float = 0.0
    """Tokens that a model would take for what is asked offline, which takes none."""
    authors: tuple[str, ...] = ()

    @classmethod
    def summed(cls, rows: "Sequence[CostEstimate]") -> "CostEstimate":
        """The sum of several."""
        return cls(
            "total",
            sum(row.items or 0 for row in rows),
            offline_tokens=sum(row.offline_tokens for row in rows),
            questions=sum(row.questions for row in rows),
            tokens_in=sum(row.tokens_in for row in rows),
            tokens_out=sum(row.tokens_out for row in rows),
            cost_usd=sum(row.cost_usd for row in rows),
            unpriced=sum(row.unpriced for row in rows),
        )

    @property
    def tokens(self) -> str:
        """The tokens in words, and what a model would take for what is asked offline."""
        offline = f" (a model in place of the offline author: about {self.offline_tokens:,.0f})"
        return f"{self.tokens_in + self.tokens_out:,.0f} tokens{offline if self.offline_tokens else ''}"

    @property
    def words(self) -> str:
        """Questions, tokens and cost in words."""
        cost = f"{self.cost}{': give prices in llm.prices' if self.unpriced else ''}"
        return f"{self.questions:,.0f} questions, {self.tokens}, cost {cost}"

    @property
    def cost(self) -> str:
        """The cost in words."""
        return cost_in_words(self.cost_usd, math.ceil(self.unpriced))

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


class CostForecast:
    """Tokens and cost of questions, by the authors and the prices of one run."""

    def __init__(self, run: PipelineRun) -> None:
        self._run = run
        self._asked = [asking for record in run.manifest.items() for asking in record.askings]
        self.has_offline = False
        """Whether any of the questions is asked offline."""
        self.has_models = False
        """Whether any is asked of a model."""
        self.is_measured = False
        """Whether characters were taken for tokens as measured in this folder."""

    def of(self, step: PipelineStep[Any], items: int | None, asked: ByQuestion | None) -> CostEstimate:
        """What a step will take.

        Args:
            step: The step.
            items: The number of its items; None if it is not known.
            asked: What the items ask; None if it is not known.
        """
        roles = {question.name: question.role for question in step.questions}
        estimate = CostEstimate(step.name, items)
        for question, size in (asked or {}).items():
            author = self._run.authors.first(step.name, roles[question]) if question in roles else None
            if author is not None:
                estimate = self._with(estimate, size, author)
        return estimate

    def _with(self, estimate: CostEstimate, size: Size, author: str) -> CostEstimate:
        authors = tuple(dict.fromkeys([*estimate.authors, author]))
        estimate = estimate._replace(questions=estimate.questions + size.asked, authors=authors)
        if is_unpaid(author):
            self.has_offline = True
            tokens = (size.prompt_chars + size.reply_chars) / CHARACTERS_PER_TOKEN
            return estimate._replace(offline_tokens=estimate.offline_tokens + tokens)
        self.has_models = True
        chars_in, chars_out = self._characters(author)
        reply = Reply("", round(size.prompt_chars / chars_in), output_tokens=round(size.reply_chars / chars_out))
        price = price_of(author, self._run.spec.config.llm)
        return estimate._replace(
            tokens_in=estimate.tokens_in + reply.input_tokens,
            tokens_out=estimate.tokens_out + reply.output_tokens,
            cost_usd=estimate.cost_usd + (price.cost_usd(reply) if price is not None else 0.0),
            unpriced=estimate.unpriced + (size.asked if price is None else 0.0),
        )

    @property
    def characters(self) -> str:
        """How characters were converted to tokens, in words."""
        return "its tokens as measured here" if self.is_measured else f"{CHARACTERS_PER_TOKEN:g} characters a token"

    def _characters(self, author: str) -> tuple[float, float]:
        """Characters in a token of a prompt, and in a token of an answer, as measured in this folder."""
        # A reply from the cache, or one that never came, has a prompt and no tokens.
        measured = [asking for asking in self._asked if not asking.kept and "unreached" not in asking.complaints]
        total = total_metrics([asking for asking in measured if asking.author == author])
        if not total.input_tokens or not total.output_tokens:
            return CHARACTERS_PER_TOKEN, CHARACTERS_PER_TOKEN
        self.is_measured = True
        return max(total.prompt_chars, 1) / total.input_tokens, max(total.reply_chars, 1) / total.output_tokens


Complaints = Mapping[tuple[str, str], list[str]]
SHOWN_ITEMS = 3
"""Items that a proposal to retry names."""
REASON_CHARS = 160
"""Most characters of a reason that it shows."""


def retry_proposal(run: PipelineRun, options: PipelineOptions) -> str | None:
    """What `--retry-rejected` would ask, and the command, in a line. None if every answer would be the same again."""
    complaints = run.staleness.complaints()
    asks = [*_sent_back(run, complaints), *_asked_anew(run, complaints)]
    if not asks:
        return None
    more = f"; and {counted(len(asks) - SHOWN_ITEMS, 'item')} more" if len(asks) > SHOWN_ITEMS else ""
    return f"{'; '.join(asks[:SHOWN_ITEMS])}{more}, with: {options.command('run', '--retry-rejected')}"


def _sent_back(run: PipelineRun, complaints: Complaints) -> Iterator[str]:
    for (name, key), reasons in sorted(complaints.items()):
        step = run.pipeline.step(name)
        if any(_is_model(run, name, question.role) for question in step.questions):
            record = run.manifest.item(name, key)
            was_in_vain = record is not None and set(reasons) <= set(record.sent_back)
            action = "is asked anew" if was_in_vain else f"is told: {'; '.join(reasons)[:REASON_CHARS]}"
            yield f"{step.short} {item_label(step, key)} {action}"


def _asked_anew(run: PipelineRun, complaints: Complaints) -> Iterator[str]:
    for step in run.pipeline.steps:
        roles = {question.name: question.role for question in step.questions}
        for record in run.manifest.items(step.name):
            if record.state != "rejected" or (record.lies_in, record.key) in complaints:
                continue
            # If no single question was given up, any answer may have caused the rejection.
            asked = [record.question] if record.question else sorted({asking.question for asking in record.askings})
            anew = [name for name in asked if name in roles and _is_model(run, step.name, roles[name])]
            if anew:
                yield f"{step.short} {item_label(step, record.key)} asks {', '.join(anew)} anew"


def _is_model(run: PipelineRun, step: str, role: str) -> bool:
    """Whether a model is asked, which may answer differently the next time."""
    return any(not name.startswith(OFFLINE_PREFIX) for name in run.authors.names(step, role))


ESTIMATE_HEADER = ("step", "items", "questions", "tokens in", "tokens out", "cost", "authors")


def show_estimate(
    run: PipelineRun,
    before: Sequence[PipelineStep[Any]],
    steps: Sequence[PipelineStep[Any]],
    options: PipelineOptions,
    missing_keys: Sequence[str] = (),
) -> None:
    """Print a line for each item that would be done, or may be, then a table of questions, tokens and cost.

    Args:
        run: A read-only run.
        before: Steps that have to be up to date already.
        steps: The steps after them that would run.
        options: What the command line says.
        missing_keys: Environment variables that have to hold a key before the run.

    Raises:
        ConfigError: A step of `before` is not up to date.
    """
    schedule = Schedule(run, RunListener())
    require_settled(schedule, before)
    schedule.add(steps)
    would = [(due.step, due.item.key) for due in schedule.ready.values()]
    for due in schedule.ready.values():
        print(f"{due.step.short} {item_label(due.step, due.item.key)}: redo, {due.reason}")
    for item in schedule.blocked:
        step = schedule.plans[item.step].step
        waits = ", ".join(schedule.waits_for(item))
        print(f"{step.short} {item_label(step, item.key)}: may redo, waits for {waits}")
        would.append((step, item.key))
    unknown: list[PipelineStep[Any]] = []
    for step in schedule.unplanned:
        keys = [record.key for record in run.manifest.items(step.name)]
        items = counted(len(keys), "item") if keys else "items not known yet"
        print(f"{step.name}: may redo, waits for earlier steps ({items})")
        would.extend((step, key) for key in keys)
        unknown.extend([] if keys else [step])
    owed = schedule.owed()
    for path in owed:
        print(f"{path}: would be joined again, missing or changed")
    if would or not owed:
        _show_sums(run, would, unknown, options, missing_keys)
    else:
        print(f"all items are up to date; nothing was written; to join, next: {options.command('run')}")


def _show_sums(
    run: PipelineRun,
    would: list[tuple[PipelineStep[Any], str]],
    unknown: list[PipelineStep[Any]],
    options: PipelineOptions,
    missing_keys: Sequence[str],
) -> None:
    if not would:
        again = retry_proposal(run, options)
        print(f"everything is up to date; nothing would run{f'; {again}' if again else ''}")
        return
    expected, forecast = ExpectedQuestions(run), CostForecast(run)
    rows: list[CostEstimate] = []
    for step in dict.fromkeys([*(step for step, _ in would), *unknown]):
        keys = [key for other, key in would if other is step]
        asked = expected.of_step(step) if step in unknown else together([expected.of_item(step, key) for key in keys])
        rows.append(forecast.of(step, len(keys) if keys else None, asked))
    total = CostEstimate.summed(rows)
    show_table(ESTIMATE_HEADER, [row.cells() for row in (*rows, total) if row.items or row.questions])
    print(_assumptions(expected, forecast))
    if note := key_note(missing_keys):
        print(note)
    print(f"in all about {total.words}; nothing was written; next: {options.command('run')}")


def _assumptions(expected: ExpectedQuestions, forecast: CostForecast) -> str:
    sizes = "what this folder's items asked before, else " if expected.is_measured else ""
    offline = "; what is asked offline takes no tokens and costs nothing" if forecast.has_offline else ""
    models = ", how recorded models answered (with repairs)" if forecast.has_models else ""
    return f"estimated from {sizes}what a default run asked{models}, {forecast.characters}{offline}"
