"""Reports on a dataset:
what each database holds, which rules tasks cover, how much tasks differ, overlap with benchmarks.
"""

from typing import Literal

from pydantic import Field

from skillweave.schema.record import Name, Record
from skillweave.schema.task import Split


class UnmetGuard(Record):
    """A guard that nothing in the database breaks first. No refusal task is made of it."""

    tool: Name
    """The tool with the guard."""
    rule: str
    """The guard's rule."""


class DatabaseCoverage(Record):
    tools: int
    """Tools of the server."""
    tools_succeeding: int
    """Tools that succeed for somebody."""
    failing_tools: list[str]
    """Tools that never do; a world with one is rejected."""
    effects: int
    """Effects of all tools."""
    effects_taking_place: int
    """Effects that changed a row in some call that succeeded."""
    idle_effects: list[str]
    """Effects that changed no row in any call that succeeded."""
    guards: int
    """Guards of all tools."""
    guards_first_broken: int
    """Guards that are the first to be broken in some call."""
    unmet: list[UnmetGuard]
    """The other guards."""
    unsound: list[str]
    """Agent rules whose breach the tool could not carry out soundly."""

    @property
    def reached(self) -> int:
        """All that is reached, as one number by which databases are compared."""
        return self.tools_succeeding * 1000 + self.guards_first_broken * 10 + self.effects_taking_place


class DatabaseSummary(Record):
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
    """A task template of which no task came."""

    template: str
    """Its id."""
    reason: str
    """What most often stood in the way."""

    @property
    def text(self) -> str:
        """The same as one line."""
        return f"no instance of {self.template}: {self.reason}"


class RuleCoverage(Record):
    rule: str
    """Its number in the policy: `R7`."""
    says: str
    """Its sentence."""
    held_by: Literal["tool", "agent", "effect"]
    """`tool`: refused by the tool itself; `agent`: only the policy forbids it; `effect`: what a call does."""
    tools: list[str]
    """Tools that share it."""
    kept: int
    """Tasks whose golden calls meet it and keep it; of an effect, whose calls change a row by it."""
    kept_by: list[str] = Field(default_factory=list)
    """Ids of the first of them."""
    broken: int
    """Tasks that whoever breaks it fails: their request comes to that, or leaving out a call that it demands does."""
    broken_by: list[str] = Field(default_factory=list)
    """Ids of the first of them."""
    why: str | None = None
    """Why no task keeps it, or none would break it; None: there are both."""


class DuplicateCounts(Record):
    """What was found to repeat other tasks of its world, and removed."""

    tasks: int
    """Tasks that were told, those removed included."""
    exact: int
    """Removed: the very same calls and arguments for the same person, of the same kind."""
    near: int
    """Removed: the same calls, said in nearly the same words."""
    across: int
    """Removed: the same instance, or the same words, in a stricter split."""


class WordingDiversity(Record):
    """How the first messages are said. None where there are too few of them."""

    messages: int
    """First messages."""
    words: int
    """Words in them."""
    distinct_1: float | None
    """Different words, of all words."""
    distinct_2: float | None
    """Different pairs of successive words, of all pairs."""
    distinct_3: float | None
    """Different triples of successive words, of all triples."""
    self_bleu: float | None
    """BLEU-4 of a message against the others of its sample, the mean over seeded samples: 1 is all alike."""
    skeletons: float | None
    """Different sentences, their values masked, of all sentences in a seeded sample of 100 messages; the mean."""


class CoverageCount(Record):
    """How much of something the golden calls reach."""

    reached: int
    """How many of them."""
    all: int
    """How many there are."""
    missing: list[str] = Field(default_factory=list)
    """Those that are not reached, sorted; not listed for pairs of tools."""


class ContractCoverage(Record):
    """What the tasks of a world exercise of its contract."""

    tools: CoverageCount
    """Tools that are called, or asked for."""
    rules: CoverageCount
    """Rules of guards: those of tools that are called, and those that a request would break."""
    effects: CoverageCount
    """Rules of effects: those of tools that are called."""
    pairs: CoverageCount
    """Ordered pairs of tools, one called right after the other."""
    values: CoverageCount
    """Values of enums that are given: `tool.parameter=value`."""


class WorldDiversity(Record):
    tasks: int
    """Tasks of the world."""
    splits: dict[Split, int]
    """Split -> its tasks."""
    structures: int
    """Different sequences of golden tools, with their kind."""
    duplicates: DuplicateCounts | None
    """None: not known."""
    wording: WordingDiversity
    """Of the world's first messages."""
    coverage: ContractCoverage
    """Of the world's contract."""


class Diversity(Record):
    """`report/diversity.json`."""

    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    tasks: int
    """All tasks."""
    splits: dict[Split, int]
    """Split -> its tasks."""
    holdout_domains: list[str] = Field(default_factory=list)
    """Domains that are kept whole for testing."""
    structures: int
    """Different sequences of golden tools, with their kind, each world's counted apart."""
    duplicates: DuplicateCounts | None
    """Of all worlds together."""
    wording: WordingDiversity
    """Of all first messages."""
    coverage: ContractCoverage
    """Of all contracts together."""
    worlds: dict[str, WorldDiversity]
    """World -> the same of its tasks."""


class BenchmarkLeak(Record):
    """A task that has words in common with a benchmark."""

    task: str
    """Its id."""
    file: str
    """The benchmark's file."""
    words: str
    """The first words in common."""


class SimilarTool(Record):
    """A tool and the benchmark's nearest to it: by name, and by the names of its parameters."""

    tool: str
    """`DentalClinic/move_appointment`."""
    other: str
    """The benchmark's tool."""
    similarity: float
    """Words in common, of all words of both names and of their parameters' names (Jaccard)."""


class BenchmarkFile(Record):
    """What one file was read as."""

    texts: int
    """Texts in it."""
    tools: int
    """Tool schemas in it."""


class Decontamination(Record):
    """`decontamination.json`: what a dataset has in common with files of benchmarks."""

    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    tasks: int
    """Tasks that were looked at."""
    files: dict[str, BenchmarkFile]
    """Path as given -> what was in it."""
    shared: dict[str, int]
    """Length of a run of words -> tasks whose first message or goal has one in common with a file."""
    leaks: list[BenchmarkLeak]
    """Some of the tasks with a run of the longest length in common."""
    people: list[str]
    """Names of the dataset's people that a file has too."""
    emails: list[str]
    """Email addresses of the dataset that a file has too."""
    twins: list[SimilarTool]
    """The nearest pairs of tools, nearest first."""
