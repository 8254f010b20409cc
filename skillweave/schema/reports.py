"""Reports on a run and its dataset:
how questions went, what each database holds, which rules tasks cover, how much tasks differ.
"""

from typing import Literal

from pydantic import Field

from skillweave.schema.record import Name, Record
from skillweave.schema.task import Split


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


class UnmetGuard(Record):
    """A guard that is never the first to be broken in this database. No refusal task is made for it."""

    tool: Name
    """The tool with the guard."""
    rule: str
    """The guard's rule."""


class DatabaseCoverage(Record):
    """What of a contract a database lets happen."""

    tools: int
    """Tools of the server."""
    tools_succeeding: int
    """Tools that succeed for at least one person."""
    failing_tools: list[str]
    """Tools that never succeed; a world with one is rejected."""
    effects: int
    """Effects of all tools."""
    effects_taking_place: int
    """Effects that changed a row in a call that succeeded."""
    idle_effects: list[str]
    """Effects that changed no row in any call that succeeded."""
    guards: int
    """Guards of all tools."""
    guards_first_broken: int
    """Guards that are the first to be broken in some call."""
    unmet: list[UnmetGuard]
    """The other guards."""
    unsound: list[str]
    """Agent rules that a tool could not break soundly."""

    @property
    def reached(self) -> int:
        """One number for all that is reached, to compare databases by."""
        return self.tools_succeeding * 1000 + self.guards_first_broken * 10 + self.effects_taking_place


class DatabaseSummary(Record):
    """What is in the database of a world, what happened in it, and what of its contract it lets happen."""

    server: Name
    """The world."""
    rows: dict[str, int]
    """Table -> rows."""
    values: dict[str, dict[str, int]] = Field(default_factory=dict)
    """`table.column` -> how often each of its enum values occurs."""
    calls: dict[str, int]
    """Write tool -> calls that succeeded in the history."""
    events: dict[str, int]
    """Event -> how often it happened in the history."""
    coverage: DatabaseCoverage
    """What of the contract the database lets happen."""


class TemplateWithoutTasks(Record):
    """A task template that gave no task."""

    template: str
    """Its id."""
    reason: str
    """The most frequent obstacle."""

    @property
    def text(self) -> str:
        """The template and the reason in one line."""
        return f"no instance of {self.template}: {self.reason}"


class RuleCoverage(Record):
    """How tasks test one rule."""

    rule: str
    """Its number in the policy: `R7`."""
    says: str
    """Its sentence."""
    held_by: Literal["tool", "agent", "effect"]
    """`tool`: the tool refuses; `agent`: only the policy forbids; `effect`: what a call does."""
    tools: list[str]
    """Tools that share it."""
    kept: int
    """Tasks whose golden calls meet the rule and keep it; for an effect, tasks whose calls change a row by it."""
    kept_by: list[str] = Field(default_factory=list)
    """Ids of the first of these tasks."""
    broken: int
    """Tasks that an agent fails if it breaks the rule: the request asks for that, or leaving out a demanded call
    does."""
    broken_by: list[str] = Field(default_factory=list)
    """Ids of the first of these tasks."""
    why: str | None = None
    """Why no task keeps it, or why none would break it; None: there are both."""


class DuplicateCounts(Record):
    """Tasks that repeat others of their world and were removed."""

    tasks: int
    """Tasks before removal."""
    exact: int
    """Removed: the same calls and arguments for the same person, of the same kind."""
    near: int
    """Removed: the same calls in nearly the same words."""
    across: int
    """Removed: the same instance, or the same words, in a stricter split."""


class WordingDiversity(Record):
    """How much the first messages differ. A figure is None if there are too few messages."""

    messages: int
    """First messages."""
    words: int
    """Words in them."""
    distinct_1: float | None
    """Different words, as a share of all words."""
    distinct_2: float | None
    """Different pairs of successive words, as a share of all pairs."""
    distinct_3: float | None
    """Different triples of successive words, as a share of all triples."""
    self_bleu: float | None
    """BLEU-4 of a message against the others of its sample, mean over seeded samples; 1: all are equal."""
    skeletons: float | None
    """Different sentences with their values masked, as a share of all sentences in a seeded sample of 100 messages; the
    mean."""


class CoverageCount(Record):
    """How many of something the golden calls reach."""

    reached: int
    """How many they reach."""
    all: int
    """How many there are."""
    missing: list[str] = Field(default_factory=list)
    """The ones not reached, sorted; not listed for pairs of tools."""


class ContractCoverage(Record):
    """What of a contract the tasks of a world exercise."""

    tools: CoverageCount
    """Tools that are called, or asked for."""
    rules: CoverageCount
    """Rules of guards: those of called tools, and those that a request would break."""
    effects: CoverageCount
    """Rules of effects: those of called tools."""
    pairs: CoverageCount
    """Ordered pairs of tools that are called one right after the other."""
    values: CoverageCount
    """Enum values that are given: `tool.parameter=value`."""


class WorldDiversity(Record):
    """The diversity of one world's tasks."""

    tasks: int
    """Tasks of the world."""
    splits: dict[Split, int]
    """Split -> its tasks."""
    forms: dict[str, int] = Field(default_factory=dict)
    """Form of the request -> tasks that have it; `plain`: those without one."""
    levels: dict[int, int] = Field(default_factory=dict)
    """Level of difficulty -> its tasks."""
    structures: int
    """Different sequences of golden tools, with their kind."""
    duplicates: DuplicateCounts | None
    """None: unknown."""
    wording: WordingDiversity
    """Of the world's first messages."""
    coverage: ContractCoverage
    """Of the world's contract."""


class Diversity(Record):
    """`report/diversity.json`: how much the tasks of a dataset differ, in what they do and in how they are told."""

    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    tasks: int
    """All tasks."""
    splits: dict[Split, int]
    """Split -> its tasks."""
    forms: dict[str, int] = Field(default_factory=dict)
    """Form of the request -> tasks that have it; `plain`: those without one."""
    levels: dict[int, int] = Field(default_factory=dict)
    """Level of difficulty -> its tasks."""
    holdout_domains: list[str] = Field(default_factory=list)
    """Domains that are kept entirely for testing."""
    structures: int
    """Different sequences of golden tools, with their kind; counted separately for each world."""
    duplicates: DuplicateCounts | None
    """Of all worlds together."""
    wording: WordingDiversity
    """Of all first messages."""
    coverage: ContractCoverage
    """Of all contracts together."""
    worlds: dict[str, WorldDiversity]
    """World -> the same of its tasks."""


class BenchmarkLeak(Record):
    """A task that shares words with a benchmark."""

    task: str
    """Its id."""
    file: str
    """The benchmark's file."""
    words: str
    """The first words that both have."""


class SimilarTool(Record):
    """A tool and the benchmark tool that is most similar to it, by their names and those of their parameters."""

    tool: str
    """`DentalClinic/move_appointment`."""
    other: str
    """The benchmark's tool."""
    similarity: float
    """Words that both have, as a share of all words in both names and in the names of their parameters (Jaccard)."""


class BenchmarkFile(Record):
    """What was found in one file."""

    texts: int
    """Texts in it."""
    tools: int
    """Tool schemas in it."""


class Decontamination(Record):
    """`decontamination.json`: what a dataset shares with files of benchmarks."""

    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    tasks: int
    """Tasks that were examined."""
    files: dict[str, BenchmarkFile]
    """Path as given -> what was in it."""
    shared: dict[str, int]
    """Length of a run of words -> tasks whose first message or goal shares one with a file."""
    leaks: list[BenchmarkLeak]
    """Some of the tasks that share a run of the longest length."""
    people: list[str]
    """Names of the dataset's people that a file has too."""
    emails: list[str]
    """Email addresses of the dataset that a file has too."""
    twins: list[SimilarTool]
    """The most similar pairs of tools, most similar first."""
