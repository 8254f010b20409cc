"""Decontamination: what a dataset has in common with benchmarks: runs of words, people, and tools."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from skillweave.schema.diversity import BenchmarkFile, Decontamination, Leak, ToolTwin
from skillweave.schema.task import Task
from synth.diversity.benchmark import Found, Schema
from synth.diversity.duplicates import jaccard, words_of
from synth.diversity.overlaps import text_of

RUNS = (8, 13)
"""Lengths of the runs of words that are looked for, as benchmarks are decontaminated elsewhere."""
SHOWN = 20
"""Leaks and pairs of tools that are told."""
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass
class Comparison:
    """The tasks and tools of a dataset, against which benchmarks are held one text at a time."""

    tasks: Sequence[Task]
    tools: Mapping[str, Schema]
    """`DentalClinic/move_appointment` -> the tool."""
    _files: dict[str, BenchmarkFile] = field(default_factory=dict)
    _leaks: dict[tuple[str, int], Leak] = field(default_factory=dict)
    _people: set[str] = field(default_factory=set)
    _emails: set[str] = field(default_factory=set)
    _twins: dict[str, ToolTwin] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._runs: dict[int, dict[str, list[str]]] = {length: {} for length in RUNS}
        self._names: dict[int, dict[str, str]] = {}
        self._known_emails: set[str] = set()
        for task in self.tasks:
            for length in RUNS:
                for run in {*runs(words_of(text_of(task)), length), *runs(words_of(task.scenario.goal), length)}:
                    self._runs[length].setdefault(run, []).append(task.id)
            words = words_of(task.persona.name)
            if len(words) > 1:
                self._names.setdefault(len(words), {})[" ".join(words)] = task.persona.name
            self._known_emails.update(_emails(_told(task)))
        self._words = {name: parts_of(schema) for name, schema in self.tools.items()}

    def add(self, file: str, found: Iterable[Found]) -> None:
        """Look at all that is in a file."""
        texts = tools = 0
        for one in found:
            if isinstance(one, Schema):
                tools += 1
                self._tool(one)
            else:
                texts += 1
                self._text(file, one)
        self._files[file] = BenchmarkFile(texts=texts, tools=tools)

    def result(self) -> Decontamination:
        """What was found in all files."""
        longest = {id: leak for length in RUNS for (id, n), leak in sorted(self._leaks.items()) if n == length}
        return Decontamination(
            tasks=len(self.tasks),
            files=self._files,
            shared={str(length): len({id for id, n in self._leaks if n == length}) for length in RUNS},
            leaks=[longest[id] for id in sorted(longest, key=lambda id: (-len(longest[id].words.split()), id))][:SHOWN],
            people=sorted(self._people),
            emails=sorted(self._emails),
            twins=sorted(self._twins.values(), key=lambda twin: (-twin.similarity, twin.tool, twin.other))[:SHOWN],
        )

    def _text(self, file: str, text: str) -> None:
        words = words_of(text)
        for length, known in self._runs.items():
            for run in runs(words, length):
                for id in known.get(run, ()):
                    self._leaks.setdefault((id, length), Leak(task=id, file=file, words=run))
        for length, names in self._names.items():
            self._people.update(names[run] for run in runs(words, length) if run in names)
        self._emails.update(_emails([text]) & self._known_emails)

    def _tool(self, schema: Schema) -> None:
        parts = parts_of(schema)
        for name, own in self._words.items():
            similarity = round(jaccard(own, parts), 4)
            if similarity > (self._twins[name].similarity if name in self._twins else 0):
                self._twins[name] = ToolTwin(tool=name, other=schema.name, similarity=similarity)


def runs(words: Sequence[str], length: int) -> Iterator[str]:
    """The runs of so many words."""
    for start in range(len(words) - length + 1):
        yield " ".join(words[start : start + length])


def parts_of(schema: Schema) -> frozenset[str]:
    """The words of a tool's name and the names of its parameters, in one form."""
    names = ("_".join(_PART.findall(name)).casefold() or name.casefold() for name in schema.parameters)
    words = (part.casefold() for part in _PART.findall(schema.name))
    return frozenset((*words, *(f"({name})" for name in names)))


def _told(task: Task) -> Iterator[str]:
    arguments = (value for call in task.golden for value in call.arguments.values())
    facts = (fact.value for fact in task.scenario.facts)
    return (value for value in chain([text_of(task)], arguments, facts) if isinstance(value, str))


def _emails(texts: Iterable[str]) -> set[str]:
    return {found.casefold() for text in texts if "@" in text for found in _EMAIL.findall(text)}
