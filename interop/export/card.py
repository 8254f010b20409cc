"""The card beside an export: what it is, what loads it, what it was made from, and what was left out.

The card depends on the rows and the request alone: the same export gives the same bytes.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from interop.export.format import ExportFormat, filled
from interop.export.rows import StagedExample
from interop.export.selection import Candidate, LeftOutCounts
from skillweave.base.command import counted, one_line
from skillweave.base.errors import ArtifactError
from skillweave.base.store import Store

CARD = "README.md"
CHARACTERS_A_TOKEN = 4
"""The estimate by which tokens are counted, without a tokenizer."""
BINS = 10
UNKNOWN = "unknown"
NO_LICENSE = (
    "unknown: the card of the dataset does not say. Whoever made the dataset decides: set `card.license` in the "
    "configuration, then `python -m synth card`, and export again."
)
_LICENSE = re.compile(r"\A---\n(?:.*\n)*?license: *([A-Za-z0-9][A-Za-z0-9.+_-]{0,63})\n")


@dataclass
class ExportFigures:
    """The figures of an export."""

    rows: dict[str, int] = field(default_factory=dict)
    """Split -> rows."""
    examples: Counter[str] = field(default_factory=Counter)
    """Split -> examples with rows."""
    tasks: set[str] = field(default_factory=set)
    worlds: Counter[str] = field(default_factory=Counter)
    agents: Counter[str] = field(default_factory=Counter)
    users: Counter[str] = field(default_factory=Counter)
    rewards: Counter[float] = field(default_factory=Counter)
    prompt: int = 0
    """Characters of all system prompts and tools."""
    conversation: int = 0
    """Characters of all conversations and tools."""
    longest: int = 0
    """Characters of the longest conversation, with its tools."""

    def add(self, split: str, world: str, task: str, staged: StagedExample, of: Sequence[Candidate]) -> None:
        """Count an example that has rows, with the trajectories that it was made of."""
        self.examples[split] += 1
        self.rows[split] = self.rows.get(split, 0) + len(staged.rows)
        self.tasks.add(task)
        self.worlds[world] += 1
        self.prompt += staged.prompt
        self.conversation += staged.conversation
        self.longest = max(self.longest, staged.conversation)
        for candidate in of:
            self.agents[candidate.speakers.agent] += 1
            self.users[candidate.speakers.user] += 1
            self.rewards[candidate.reward] += 1


def license_of(store: Store) -> str:
    """The licence of a dataset, from the front matter of its card; `unknown` if it does not say."""
    try:
        text = store.read(CARD).decode("utf-8", "replace") if store.exists(CARD) else ""
    except ArtifactError:
        text = ""
    known = _LICENSE.match(text)
    return known[1] if known else UNKNOWN


def sections_of(
    name: str,
    format: ExportFormat,
    figures: ExportFigures,
    left_out: LeftOutCounts,
    request: Mapping[str, object],
    files: Mapping[str, str],
    license: str,
) -> dict[str, str]:
    """The card's sections: heading -> text.

    Args:
        name: Name of the format.
        format: The format.
        figures: The figures of what was written.
        left_out: What was left out, and why.
        request: What was asked for.
        files: Split -> name of its file.
        license: The dataset's licence.
    """
    found = {
        "Format": f"`{name}`: {format.about}.",
        "Loading": f"```python\n{filled(format.load, '.', files)}\n```",
        "Training": f"```python\n{filled(format.train, '.', files)}\n```" if format.train else "",
        "Loss mask": format.loss,
        "Splits": _table(("split", "file", "examples", "rows"), _splits(figures, files)),
        "Made from": "\n".join(_origin(figures, request)),
        "Rewards": "\n".join(_rewards(figures.rewards)),
        "Filters": "\n".join(_filters(request)),
        "Left out": _table(("why", "how many"), sorted(left_out.by.items())) if left_out.by else "Nothing.",
        "Size": _size(figures),
        "Worlds": _table(("world", "examples"), sorted(figures.worlds.items())),
        "Licence": f"{license}, as the card of the dataset says." if license != UNKNOWN else NO_LICENSE,
    }
    return {heading: text for heading, text in found.items() if text}


def card_of(sections: Mapping[str, str], files: Mapping[str, str], license: str) -> str:
    """The text of the card, with front matter by which `datasets` finds the files.

    Args:
        sections: Heading -> text.
        files: Split -> name of its file.
        license: The dataset's licence.
    """
    front = ["---", f"license: {license}", "language:", "- en", "tags:", "- tool-use", "- agents"]
    front += ["configs:", "- config_name: default", "  data_files:"] if files else []
    for split, file in files.items():
        front += [f"  - split: {split}", f"    path: {file}"]
    parts = [*front, "---", "", "# Tool use in simulated companies, for training", ""]
    for heading, text in sections.items():
        parts += [f"## {heading}", "", text, ""]
    return "\n".join(parts)


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines += [" | ".join(f"{cell:,}" if isinstance(cell, int) else _cell(cell) for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _cell(value: object) -> str:
    """Text of others, which must not end a cell or begin markup."""
    return one_line(str(value)).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _splits(figures: ExportFigures, files: Mapping[str, str]) -> list[tuple[object, ...]]:
    return [(split, f"`{file}`", figures.examples[split], figures.rows.get(split, 0)) for split, file in files.items()]


def _origin(figures: ExportFigures, request: Mapping[str, object]) -> Iterator[str]:
    tasks = counted(len(figures.tasks), "task")
    yield f"{tasks} of {counted(len(figures.worlds), 'world')}, in the dataset `{str(request['dataset'])[:12]}`."
    for noun, names in (("agent", figures.agents), ("user", figures.users)):
        if names:
            yield ""
            yield _table((noun, "trajectories"), sorted(names.items()))


def _rewards(rewards: Counter[float]) -> Iterator[str]:
    """How many, their mean, and a histogram."""
    count = sum(rewards.values())
    if not count:
        return
    mean = sum(reward * times for reward, times in rewards.items()) / count
    yield f"{count:,} by the evaluator's checks, whatever the trajectories say of themselves; their mean is {mean:.3f}."
    bins: Counter[int] = Counter()
    for reward, times in rewards.items():
        bins[BINS if reward >= 1 else int(reward * BINS)] += times
    yield ""
    yield _table(
        ("reward", "trajectories"),
        [("1" if at == BINS else f"{at / BINS:.1f} to below {(at + 1) / BINS:.1f}", bins[at]) for at in sorted(bins)],
    )


def _filters(request: Mapping[str, object]) -> Iterator[str]:
    where = request["where"]
    conditions = [f"`{condition}`" for condition in where] if isinstance(where, list) else []
    yield f"- Conditions: {', '.join(conditions) or 'none'}."
    if request["split"]:
        yield f"- Only the split `{request['split']}`."
    if request["per_task"]:
        yield f"- At most {request['per_task']} of a task."
    if request["rollouts"]:
        kept = "kept" if request["keep_duplicates"] else "left out: the first stands"
        yield f"- Trajectories of a task in which the agent says and calls the same are {kept}."
    if request["compact"]:
        yield "- Compact prompts: only the rules of the offered tools, tools without examples."


def _size(figures: ExportFigures) -> str:
    """Tokens, by an estimate."""
    count = sum(figures.examples.values()) or 1
    head = (
        f"Tokens, estimated as characters / {CHARACTERS_A_TOKEN}; a tokenizer of JSON and English gives about as many."
    )
    rows = [
        ("system prompt and tools, mean of a task", figures.prompt // count // CHARACTERS_A_TOKEN),
        ("with the conversation, mean", figures.conversation // count // CHARACTERS_A_TOKEN),
        ("the longest", figures.longest // CHARACTERS_A_TOKEN),
        ("all", figures.conversation // CHARACTERS_A_TOKEN),
    ]
    return f"{head}\n\n{_table(('what', 'tokens'), rows)}"
