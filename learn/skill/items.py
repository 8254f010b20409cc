"""The items that a skill is trained and tested on: tasks of a dataset by their splits, or questions of a folder.

Train, validation and test have no item in common. Of a dataset they have no template, person or instance in common
either: `splits` in the dataset's configuration sees to that.
"""

import re
import string
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from learn.config import ItemsConfig
from rollout.parts import SourceContext
from rollout.react.task import GeneralReactTask
from rollout.task import RolloutOutcome, TaskSource
from rollout.world.source import WorldTasks
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.store import digest_json
from skillweave.base.text import UnreadableTextError, read_user_text
from skillweave.schema.record import Json, Record
from skillweave.schema.task import Split
from skillweave.schema.trajectory import RolloutScore
from skillweave.selection import first_in_turns, matching_ids

Part = Literal["train", "val", "test"]
PARTS: tuple[Part, ...] = get_args(Part)
SPLITS: dict[Part, Split] = {"train": "train", "val": "validation", "test": "test"}
"""Part of the items -> split of the dataset."""
FOLDER_SOURCE = "learn.skill.items:folder_items"
"""The task source of a folder with items, as `rollout.parts.tasks` names it."""
_ARTICLES = frozenset(("a", "an", "the"))
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class Items:
    """Ids of the items, by part."""

    train: tuple[str, ...]
    val: tuple[str, ...]
    test: tuple[str, ...]

    def of(self, part: Part) -> tuple[str, ...]:
        """The items of a part."""
        ids: tuple[str, ...] = getattr(self, part)
        return ids


def chosen_items(source: TaskSource, wanted: ItemsConfig) -> Items:
    """Choose the items of a run.

    Raises:
        ConfigError: A part has no item, or the source has no splits.
    """
    sizes: dict[Part, int] = {"train": wanted.train_size, "val": wanted.val_size, "test": wanted.test_size}
    return Items(**{part: tuple(_of_part(source, part, wanted, sizes[part] or None)) for part in PARTS})


def _of_part(source: TaskSource, part: Part, wanted: ItemsConfig, limit: int | None) -> list[str]:
    if not isinstance(source, WorldTasks | FolderItems):
        raise ConfigError("skill.items: the tasks of rollout.parts.tasks are of no split; give skill.items.split_dir")
    of_part = frozenset(source.ids(SPLITS[part]) if isinstance(source, WorldTasks) else source.only(part).ids())
    ids = [id for id in matching_ids(source.ids(), wanted.tasks, "skill.items.tasks") if id in of_part]
    if not ids:
        named = "skill.items.tasks names none of its" if wanted.tasks else "there are none"
        raise ConfigError(f"skill.items has nothing for {part}: {named}")
    return first_in_turns(ids, limit, source.dataset.tasks if isinstance(source, WorldTasks) else None)


class Item(Record):
    """A question of a folder."""

    id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    context: str = ""
    """Stands before the question."""
    answers: list[Annotated[str, Field(pattern=r"\S")]] = Field(min_length=1)
    """Any of them is right."""
    task_type: str = ""
    """Groups items in the figures."""

    @model_validator(mode="before")
    @classmethod
    def _several_answers(cls, value: Json) -> Json:
        """One `answer` may stand for `answers`; fields that are not known are left alone."""
        if not isinstance(value, dict):
            return value
        known = {name: value[name] for name in cls.model_fields if name in value}
        if "answers" in value or "answer" not in value:
            return known
        answer = value["answer"]
        return known | {"answers": answer if isinstance(answer, list) else [answer]}


class ItemTask(GeneralReactTask):
    """A question of a folder as a rollout task: passed if an answer is given exactly, rewarded by common words."""

    def __init__(self, item: Item) -> None:
        text = f"{item.context}\n\n{item.question}" if item.context else item.question
        super().__init__(item.id, text, lambda answer: overlap(answer, item.answers))
        self.digest = digest_json(item.model_dump(mode="json"))
        self._item = item

    async def evaluate_result(self, outcome: RolloutOutcome) -> RolloutScore:
        """Score the final answer: `passed` if it equals an answer, `reward` by the words in common with one."""
        score = await super().evaluate_result(outcome)
        last = outcome.messages[-1]
        passed = score.reward is not None and score.reward > 0 and is_answer(last.content or "", self._item.answers)
        return score.model_copy(update={"passed": passed})


def is_answer(given: str, answers: list[str]) -> bool:
    """Whether a text equals an answer, apart from case, punctuation, articles and spaces."""
    return any(_words(given) == _words(answer) for answer in answers)


def overlap(given: str, answers: list[str]) -> float:
    """The best F1 of the words of a text and of an answer, from 0 to 1."""
    return max(_f1(_words(given), _words(answer)) for answer in answers)


def _f1(given: list[str], expected: list[str]) -> float:
    if not given or not expected:
        return float(given == expected)
    common = sum((Counter(given) & Counter(expected)).values())
    return 2 * common / (len(given) + len(expected))


def _words(text: str) -> list[str]:
    """The words that count; all words, or all signs, of a text that has nothing else: `A` is an answer, too."""
    folded = text.casefold()
    words = folded.translate(_PUNCTUATION).split()
    return [word for word in words if word not in _ARTICLES] or words or folded.split()


class FolderItems:
    """The items of a folder as a source of tasks, whole or of one part."""

    def __init__(self, items: Mapping[Part, Mapping[str, Item]]) -> None:
        """Args:
        items: Part -> id -> item.
        """
        self._items = items
        content: dict[str, Json] = {
            part: [item.model_dump(mode="json") for item in of_part.values()] for part, of_part in items.items()
        }
        self.digest = digest_json(content)

    def ids(self) -> list[str]:
        """Ids of all items."""
        return [id for of_part in self._items.values() for id in of_part]

    def only(self, part: Part) -> "FolderItems":
        """The items of one part."""
        return FolderItems({part: self._items[part]})

    def item(self, id: str) -> Item:
        """The item of an id. Raises ConfigError if there is none."""
        found = next((of_part[id] for of_part in self._items.values() if id in of_part), None)
        if found is None:
            raise ConfigError(f"there is no item {id!r}")
        return found

    def task(self, id: str, trial: int) -> ItemTask:
        """The task of an item; all trials are equal."""
        return ItemTask(self.item(id))

    async def close(self) -> None:
        """Do nothing; there is nothing to release."""


def folder_items(context: SourceContext) -> FolderItems:
    """Read the items of `rollout.parts.options.split_dir`. Raises ArtifactError if a file is not as it should be."""
    folder = Path(str(context.options["split_dir"]))
    items = {part: _read(folder / part / "items.json") for part in PARTS}
    twice = Counter(id for of_part in items.values() for id in of_part)
    id, count = max(twice.items(), key=lambda entry: entry[1])
    if count > 1:
        raise ArtifactError(f"{str(folder)!r}: the item {id!r} stands in more than one part; no item may be in two")
    _refuse_repeated(folder, items)
    return FolderItems(items)


def _refuse_repeated(folder: Path, items: Mapping[Part, Mapping[str, Item]]) -> None:
    """Raise ArtifactError if a question stands in two parts, under whatever ids."""
    seen: dict[str, tuple[Part, str]] = {}
    for part, of_part in items.items():
        for item in of_part.values():
            first, id = seen.setdefault(_on_one_line(f"{item.context}\n{item.question}"), (part, item.id))
            if first != part:
                raise ArtifactError(
                    f"{str(folder)!r}: {part} item {item.id!r} asks what {first} item {id!r} asks; no item may be in "
                    "two parts"
                )


_LIST = TypeAdapter(list[Item])


def _read(file: Path) -> dict[str, Item]:
    try:
        items = _LIST.validate_json(read_user_text(file))
    except UnreadableTextError as error:
        raise ArtifactError(f"the items {str(file)!r} cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "file"
        raise ArtifactError(
            f"{str(file)!r}: {place}: {first['msg']}; it must be a list of objects {{id, question, answers}}"
        ) from error
    if not items:
        raise ArtifactError(f"{str(file)!r} holds no items")
    by_id: dict[str, Item] = {}
    for item in items:
        if item.id in by_id:
            raise ArtifactError(f"{str(file)!r}: id {item.id!r} stands twice; ids are unique")
        by_id[item.id] = item
    return by_id


IDENTIFIER = re.compile(r"(?=[^\s]*\d)(?=[^\s]*[A-Za-z])[\w-]{5,}")
"""A word of letters and digits, such as a key of a row."""
LEAST_ANSWER = 4
"""Characters of an answer below which it may stand in a text by chance."""


def secrets_of(source: TaskSource, items: Items) -> dict[str, str]:
    """What a skill may not hold: ids, persons' names, keys of rows and answers of validation and test.

    Returns:
        Each such text -> what it is, in words.
    """
    return {
        text: what
        for id in (*items.val, *items.test)
        for text, what in _secrets(source, id)
        if len(text) >= LEAST_ANSWER
    }


def _secrets(source: TaskSource, id: str) -> Iterator[tuple[str, str]]:
    yield id, "the id of an item"
    if isinstance(source, FolderItems):
        # A single word may well stand in a rule.
        yield from ((answer, "an answer") for answer in source.item(id).answers if " " in answer or _has_digit(answer))
        return
    assert isinstance(source, WorldTasks)
    task = source.record(id)
    yield task.persona.name, "a person's name"
    if task.env_variables.LOGGED_IN_USER:
        yield task.env_variables.LOGGED_IN_USER, "a person's key"
    for call in task.golden:
        for value in call.arguments.values():
            if isinstance(value, str) and IDENTIFIER.fullmatch(value):
                yield value, "a value of a call"
    for fact in task.criteria.communicate:
        for answer in fact.values:
            if isinstance(answer, str) and _has_digit(answer):
                yield answer, "an answer"


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


def leaks(text: str, secrets: Mapping[str, str]) -> list[str]:
    """What of the secrets stands in a text, in words and in a fixed order; empty if nothing does."""
    folded = _on_one_line(text)
    return sorted(
        f"{what} of validation or test: {secret!r}"
        for secret, what in secrets.items()
        if (words := _folded_secret(secret)) in folded and _stands_alone(words, folded)
    )


def _on_one_line(text: str) -> str:
    """A text without the difference of cases, and of line breaks and blanks."""
    return " ".join(text.casefold().split())


@lru_cache(maxsize=1 << 16)
def _folded_secret(secret: str) -> str:
    return _on_one_line(secret)


def _stands_alone(words: str, text: str) -> bool:
    """Whether no letter or digit stands before or after; an underscore may be Markdown's emphasis."""
    return re.search(rf"(?<![^\W_]){re.escape(words)}(?![^\W_])", text) is not None
