"""Diversity: how much the tasks of a dataset differ, in what they do and in how they are said."""

from typing import Literal

from pydantic import Field

from skillweave.schema.record import Record
from skillweave.schema.task import Split


class Duplicates(Record):
    """What was found to repeat other tasks of its world, and removed."""

    tasks: int
    """Tasks that were told, those removed included."""
    exact: int
    """Removed: the very same calls and arguments for the same person, of the same kind."""
    near: int
    """Removed: the same calls, said in nearly the same words."""
    across: int
    """Removed: the same instance, or the same words, in a stricter split."""


class Wording(Record):
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


class Covered(Record):
    """How much of something the golden calls reach."""

    reached: int
    """How many of them."""
    all: int
    """How many there are."""
    missing: list[str] = Field(default_factory=list)
    """Those that are not reached, sorted; not listed for pairs of tools."""


class Reach(Record):
    """What the tasks of a world exercise of its contract."""

    tools: Covered
    """Tools that are called, or asked for."""
    rules: Covered
    """Rules of guards: those of tools that are called, and those that a request would break."""
    effects: Covered
    """Rules of effects: those of tools that are called."""
    pairs: Covered
    """Ordered pairs of tools, one called right after the other."""
    values: Covered
    """Values of enums that are given: `tool.parameter=value`."""


class WorldDiversity(Record):
    tasks: int
    """Tasks of the world."""
    splits: dict[Split, int]
    """Split -> its tasks."""
    structures: int
    """Different sequences of golden tools, with their kind."""
    duplicates: Duplicates | None
    """None: not known."""
    wording: Wording
    """Of the world's first messages."""
    coverage: Reach
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
    duplicates: Duplicates | None
    """Of all worlds together."""
    wording: Wording
    """Of all first messages."""
    coverage: Reach
    """Of all contracts together."""
    worlds: dict[str, WorldDiversity]
    """World -> the same of its tasks."""


class Leak(Record):
    """A task that has words in common with a benchmark."""

    task: str
    """Its id."""
    file: str
    """The benchmark's file."""
    words: str
    """The first words in common."""


class ToolTwin(Record):
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
    leaks: list[Leak]
    """Some of the tasks with a run of the longest length in common."""
    people: list[str]
    """Names of the dataset's people that a file has too."""
    emails: list[str]
    """Email addresses of the dataset that a file has too."""
    twins: list[ToolTwin]
    """The nearest pairs of tools, nearest first."""
