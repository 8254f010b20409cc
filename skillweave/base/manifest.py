"""The manifest: the outcome of each item of a run, and what it follows from. It lets a run resume and explains
artifacts.

Records are appended to a journal as they come, and folded into `manifest.json` when the command ends. Both together are
the state. A torn last line of the journal is ignored, and its item is done again.
"""

import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError

from skillweave.base.errors import ArtifactError
from skillweave.base.store import CACHE, Store, digest_json
from skillweave.schema.record import Json, Record
from skillweave.schema.reports import QuestionMetrics

FORMAT = "skillweave-manifest/1"
MANIFEST = "manifest.json"
JOURNAL = f"{CACHE}/journal.jsonl"

ItemState = Literal["done", "rejected", "failed", "skipped"]


class ItemOutput(Record):
    """Something that an item wrote."""

    artifact: str
    """The pattern of its artifact."""
    key: str
    """The item's key."""
    label: str
    """The name that people use: `entities.json[DentalClinic]`."""
    path: str
    """The file that holds it; for a value of a joined file, the file that keeps it until then."""
    digest: str
    """sha256 of its content."""
    size: int
    """Bytes of the file."""
    mtime_ns: int
    """Time of the file's last change, in nanoseconds."""


class JoinedFile(Record):
    """A file that joins values of several items, as it was last written."""

    step: str
    """The step that joins it."""
    path: str
    """The file."""
    digest: str
    """sha256 of its content."""
    size: int
    """Bytes of the file."""
    mtime_ns: int
    """Time of its last change, in nanoseconds."""
    values: dict[str, str]
    """Key -> digest of the value that the file holds."""


class Fingerprint(Record):
    """What the outcome of an item follows from, apart from its author and what it reads."""

    code: dict[str, str]
    """Module -> digest of its syntax tree."""
    params: dict[str, Json]
    """The step's parameters."""
    prompts: dict[str, str]
    """Question -> digest of its prompt and of its answer's type."""
    libraries: dict[str, str]
    """Library whose output is kept -> version."""
    seed: int
    """The run's seed."""
    now: str
    """The clock of all worlds."""

    @property
    def id(self) -> str:
        """Equal for equal fingerprints."""
        return digest_json(self.model_dump(mode="json"))[:16]


class ItemRecord(Record):
    """The outcome of one item of one step."""

    step: str
    """The step's name."""
    key: str
    """The item's key, mostly the name of a domain or world."""
    state: ItemState
    """`done`, or why there is no result."""
    reasons: list[str] = Field(default_factory=list)
    """Why it is not done."""
    question: str = ""
    """For a rejection for want of an answer: the question without a usable answer."""
    lies_in: str | None = None
    """For a rejected item: the earlier step whose item of the same key has the fault; None if the fault is its own."""
    sent_back: list[str] = Field(default_factory=list)
    """Reasons for which later items were rejected, and which this item was given."""
    rejected: dict[str, int] = Field(default_factory=dict)
    """Reason -> parts of the item that were rejected for it."""
    examples: dict[str, str] = Field(default_factory=dict)
    """Reason -> the first part that was rejected for it."""
    figures: dict[str, int | float] = Field(default_factory=dict)
    """Counts that the step reports."""
    fingerprint: str = ""
    """The id of its fingerprint."""
    authors: dict[str, str] = Field(default_factory=dict)
    """Role -> author, with a digest of what it answers from."""
    reads: dict[str, str] = Field(default_factory=dict)
    """What it read -> digest."""
    outputs: list[ItemOutput] = Field(default_factory=list)
    """What it wrote."""
    seconds: float = 0.0
    """Wall-clock seconds."""
    round: int = 0
    """How often its authors were asked again from the first question on."""
    asked: int = 0
    """Questions asked."""
    input_tokens: int = 0
    """Tokens sent."""
    output_tokens: int = 0
    """Tokens sampled."""
    cost_usd: float = 0.0
    """US dollars, for requests with a known price."""
    unpriced: int = 0
    """Requests whose price is unknown."""
    askings: list[QuestionMetrics] = Field(default_factory=list)
    """How each question went with each author."""

    @property
    def name(self) -> str:
        """`s07_policy_generation/DentalClinic`."""
        return f"{self.step}/{self.key}"


class Manifest:
    """The state of one outputs folder. Threads may share it; one process writes it."""

    def __init__(self, store: Store) -> None:
        """Read the manifest of a folder, if there is one. Raises ArtifactError if it is damaged."""
        self._store = store
        self._lock = threading.Lock()
        self._items: dict[tuple[str, str], ItemRecord] = {}
        self._blaming: dict[tuple[str, str], set[str]] = {}
        """Item -> steps whose item of the same key was rejected for a fault that lies in it."""
        self._owners: dict[str, tuple[str, str]] = {}
        self._fingerprints: dict[str, Fingerprint] = {}
        self._joined: dict[str, JoinedFile] = {}
        self._load()

    def item(self, step: str, key: str) -> ItemRecord | None:
        """The last record of an item; None if there is none."""
        return self._items.get((step, key))

    def items(self, step: str | None = None) -> list[ItemRecord]:
        """All records, or those of one step, sorted."""
        with self._lock:
            return [record for name, record in sorted(self._items.items()) if step in (None, name[0])]

    def owner(self, label: str) -> tuple[str, str] | None:
        """The item that wrote what has this label, as step and key; None if nothing has."""
        return self._owners.get(label)

    def fingerprint(self, id: str) -> Fingerprint | None:
        """The fingerprint of that id; None if there is none."""
        return self._fingerprints.get(id)

    def joined(self, path: str) -> JoinedFile | None:
        """What is known of a joined file; None if it was not written."""
        return self._joined.get(path)

    def put(self, record: ItemRecord, fingerprint: Fingerprint | None = None) -> None:
        """Record the outcome of an item. It is on disk when this returns.

        Args:
            record: The outcome.
            fingerprint: What it follows from; recorded once for all items that share it.
        """
        if fingerprint is not None and fingerprint.id not in self._fingerprints:
            self._append({"fingerprint": fingerprint.model_dump(mode="json")})
        self._append({"item": record.model_dump(mode="json", exclude_defaults=True)})

    def put_joined(self, file: JoinedFile) -> None:
        """Record a joined file as it was written."""
        self._append({"joined": file.model_dump(mode="json")})

    def forget(self, step: str, keys: Iterable[str]) -> None:
        """Drop the records of items of a step."""
        for key in keys:
            self._append({"forget": [step, key]})

    def forget_joined(self, path: str) -> None:
        """Drop what is known of a joined file."""
        self._append({"unjoined": path})

    def save(self) -> None:
        """Fold the journal into `manifest.json`; without a journal the file is as it should be."""
        with self._lock:
            if self._store.exists(MANIFEST) and not self._store.exists(JOURNAL):
                return
            used = {record.fingerprint for record in self._items.values()}
            content: dict[str, Json] = {
                "format": FORMAT,
                "artifacts": self._artifacts(),
                "items": [
                    item.model_dump(mode="json", exclude_defaults=True) for _, item in sorted(self._items.items())
                ],
                "joined": {path: file.model_dump(mode="json") for path, file in sorted(self._joined.items())},
                "fingerprints": {
                    id: fingerprint.model_dump(mode="json")
                    for id, fingerprint in sorted(self._fingerprints.items())
                    if id in used
                },
            }
            text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
            self._store.write(MANIFEST, text.encode("utf-8", "backslashreplace"))
            self._store.remove(JOURNAL)

    def _artifacts(self) -> dict[str, Json]:
        """Each artifact with its lineage, for readers of the file. Made from the items each time."""
        artifacts: dict[str, Json] = {}
        for item in self._items.values():
            for output in item.outputs:
                artifacts[output.label] = _past(item, output)
        for path, file in self._joined.items():
            artifacts[path] = {"digest": file.digest, "step": file.step, "item": None}
        return dict(sorted(artifacts.items()))

    def _append(self, entry: Mapping[str, Json]) -> None:
        with self._lock:
            self._apply(entry)
            line = json.dumps(entry, ensure_ascii=True, separators=(",", ":")) + "\n"
            self._store.append(JOURNAL, line.encode("ascii"))

    def _apply(self, entry: Mapping[str, Json]) -> None:
        match entry:
            case {"item": content}:
                self._take(ItemRecord.model_validate(content))
            case {"fingerprint": content}:
                fingerprint = Fingerprint.model_validate(content)
                self._fingerprints[fingerprint.id] = fingerprint
            case {"joined": content}:
                file = JoinedFile.model_validate(content)
                self._joined[file.path] = file
            case {"forget": [str(step), str(key)]}:
                self._drop((step, key))
            case {"unjoined": str(path)}:
                self._joined.pop(path, None)
            case _:
                raise ArtifactError(f"unknown entry {str(entry)[:80]!r} in {JOURNAL}")

    def _take(self, record: ItemRecord) -> None:
        """Take over a record. Rejections that blame the item refer to its old outcome, so they are dropped."""
        name = (record.step, record.key)
        for step in sorted(self._blaming.pop(name, ())):
            self._drop((step, record.key))
        self._drop(name)
        self._items[name] = record
        if record.lies_in:
            self._blaming.setdefault((record.lies_in, record.key), set()).add(record.step)
        self._owners.update({output.label: name for output in record.outputs})

    def _drop(self, name: tuple[str, str]) -> None:
        before = self._items.pop(name, None)
        if before is not None and before.lies_in:
            self._blaming.get((before.lies_in, before.key), set()).discard(before.step)
        for output in before.outputs if before else ():
            if self._owners.get(output.label) == name:
                del self._owners[output.label]

    def _load(self) -> None:
        try:
            # Anything that exists is read, so that a folder in the file's place is an error before the work begins.
            if self._store.path(MANIFEST).exists():
                self._load_folded(json.loads(self._store.read(MANIFEST)))
            if self._store.path(JOURNAL).exists():
                for entry in _whole_entries(self._store.read(JOURNAL)):
                    self._apply(entry)
        except (ValueError, ValidationError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ArtifactError(
                f"{MANIFEST} of the outputs folder is damaged ({str(error).splitlines()[0]}); "
                f"remove it and {JOURNAL} to make everything again"
            ) from error

    def _load_folded(self, content: Mapping[str, Any]) -> None:
        if content["format"] != FORMAT:
            raise ValueError(f"format is {content['format']!r}, not {FORMAT!r}")
        for item in content["items"]:
            self._apply({"item": item})
        for file in content["joined"].values():
            self._apply({"joined": file})
        for fingerprint in content["fingerprints"].values():
            self._apply({"fingerprint": fingerprint})


def _past(item: ItemRecord, output: ItemOutput) -> dict[str, Json]:
    return {
        "digest": output.digest,
        "step": item.step,
        "item": item.key,
        "fingerprint": item.fingerprint,
        "author": dict(item.authors),
        "seconds": item.seconds,
        "tokens": item.input_tokens + item.output_tokens,
        "cost_usd": None if item.unpriced else item.cost_usd,
    }


def _whole_entries(content: bytes) -> Iterator[dict[str, Json]]:
    """Entries that were written completely; a torn line is skipped."""
    for line in content.split(b"\n"):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            continue
