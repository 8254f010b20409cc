"""What the optimizer answers. Models write much that is nearly right: it is read as what it means, where that is clear.

A field that is wrong costs that field, not the answer: a number that is none becomes the least there can be, a text
that is null becomes empty, an element that is no object is left out.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from learn.skill.document import Edit, LenientCount, LenientSource, LenientText, Support, as_text
from learn.skill.schedule import read_count
from skillweave.llm.json_text import JsonTextError, candidates, decode
from skillweave.llm.parse import fenced_blocks
from skillweave.schema.record import Json, Record


def _objects(value: object) -> object:
    """A list without what is no object; a single object may stand for a list of one."""
    if isinstance(value, Mapping):
        return [value]
    return [part for part in value if isinstance(part, Mapping | Record)] if isinstance(value, list | tuple) else value


def _kinds(value: object) -> list[object]:
    """The kinds of failures that have a name; what is no list of objects has none."""
    found = _objects(value)
    return (
        [part for part in found if isinstance(part, Record) or "failure_type" in part]
        if isinstance(found, list)
        else []
    )


def _indices(value: object) -> list[int]:
    """The whole numbers of a list."""
    return [part for part in value if type(part) is int] if isinstance(value, list) else []


def read_notes(value: object) -> list[str]:
    """The notes that a model wrote: texts, or objects with a `note` or `content`; a single text is one note."""
    parts = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    texts = [_note(part) for part in parts]
    return [text for text in texts if text]


def _note(part: object) -> str:
    if isinstance(part, Mapping):
        part = str(part.get("note") or part.get("content") or "")
    return part.strip() if isinstance(part, str) else ""


def _lines(value: Json) -> list[str]:
    """A list of texts; a text is a list of one."""
    parts = value if isinstance(value, list) else [value]
    return [text for part in parts if (text := as_text(part).strip())]


Notes = Annotated[list[str], BeforeValidator(read_notes)]


class LenientReply(Record):
    """The base of the optimizer's answers: unknown fields are left out."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)


class FailureKind(LenientReply):
    """A kind of failure that several conversations share."""

    failure_type: LenientText
    """A few words."""
    count: LenientCount = 0
    """Conversations with it."""
    description: LenientText = ""
    """One line."""


class _Reflecting(LenientReply):
    """What every reflection holds."""

    batch_size: LenientCount = 0
    """Conversations that you read."""
    failure_summary: Annotated[list[FailureKind], BeforeValidator(_kinds)] = Field(default_factory=list)
    """The kinds of failure that you found; empty for successes."""
    reasoning: LenientText = ""
    """Why these changes, in a few sentences."""

    @model_validator(mode="before")
    @classmethod
    def _unwrapped(cls, value: object) -> object:
        """The proposals may stand in a `patch`, and a list of them may be missing if there are notes."""
        if not isinstance(value, Mapping):
            return value
        patch = value.get("patch")
        fields: dict[str, Any] = {**value, **patch} if isinstance(patch, Mapping) else dict(value)
        return cls._renamed(fields)

    @classmethod
    def _renamed(cls, fields: dict[str, Any]) -> dict[str, Any]:
        return fields


class Reflection(_Reflecting):
    """Edits from a minibatch of conversations."""

    edits: Annotated[list[Edit], BeforeValidator(_objects)]
    """Changes of the skill, the most important first; may be empty."""
    appendix_notes: Notes = Field(default_factory=list)
    """Short reminders of rules that the skill has and the agent did not follow; no new rules."""

    @classmethod
    def _renamed(cls, fields: dict[str, Any]) -> dict[str, Any]:
        return {"edits": [], **fields} if "appendix_notes" in fields else fields


class Suggestion(LenientReply):
    """What a rewritten skill should do otherwise."""

    type: LenientText = ""
    """add, change, remove or restructure."""
    title: LenientText = ""
    """A few words."""
    motivation: LenientText = ""
    """What in the conversations asks for it."""
    instruction: LenientText = ""
    """What the skill should say."""
    priority_hint: LenientText = ""
    """high, medium or low."""
    source_type: LenientSource = "failure"
    """What gave rise to it."""
    support_count: Support = 1
    """How many conversations support it."""


class SuggestionReflection(_Reflecting):
    """Suggestions from a minibatch of conversations."""

    suggestions: Annotated[list[Suggestion], BeforeValidator(_objects)]
    """What to change, the most important first; may be empty."""
    appendix_notes: Notes = Field(default_factory=list)
    """Short reminders of rules that the skill has and the agent did not follow; no new rules."""

    @classmethod
    def _renamed(cls, fields: dict[str, Any]) -> dict[str, Any]:
        if "revise_suggestions" in fields:
            return {"suggestions": fields["revise_suggestions"], **fields}
        return {"suggestions": [], **fields} if "appendix_notes" in fields else fields


class RewrittenSkill(LenientReply):
    """A whole skill, written anew."""

    title: LenientText = ""
    """A few words about the change."""
    new_skill: LenientText = ""
    """The whole document, in Markdown."""
    change_summary: Annotated[list[str], BeforeValidator(_lines)] = Field(default_factory=list)
    """What changed, a line each."""
    source_type: LenientSource = "failure"
    """What gave rise to it."""
    support_count: Support = 1
    """How many conversations support it."""


class RewriteReflection(_Reflecting):
    """A whole skill from a minibatch of conversations."""

    title: LenientText = ""
    """A few words about the change."""
    new_skill: LenientText
    """The whole document, in Markdown."""
    change_summary: Annotated[list[str], BeforeValidator(_lines)] = Field(default_factory=list)
    """What changed, a line each."""

    @classmethod
    def _renamed(cls, fields: dict[str, Any]) -> dict[str, Any]:
        skills = fields.get("skill_candidates")
        first = skills[0] if isinstance(skills, list) and skills else None
        return {**first, **fields} if isinstance(first, Mapping) else fields


class MergedEdits(LenientReply):
    """Edits that stand for those of several reflections."""

    reasoning: LenientText = ""
    """What was joined or left out, and why."""
    edits: list[Edit]
    """The edits that are left, the most important first; an empty list drops all."""


class MergedSuggestions(LenientReply):
    """Suggestions that stand for those of several reflections."""

    reasoning: LenientText = ""
    """What was joined or left out, and why."""
    suggestions: list[Suggestion]
    """The suggestions that are left, the most important first; an empty list drops all."""

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, value: object) -> object:
        if isinstance(value, Mapping) and "revise_suggestions" in value:
            return {"suggestions": value["revise_suggestions"], **value}
        return value


class MergedRewrites(LenientReply):
    """Whole skills that stand for those of several reflections."""

    reasoning: LenientText = ""
    """What was joined or left out, and why."""
    skill_candidates: list[RewrittenSkill]
    """The skills that are left, the best first; one is enough."""


class Ranking(LenientReply):
    """Which changes to make."""

    selected_indices: Annotated[list[int], BeforeValidator(_indices)]
    """The numbers of the changes, the most useful first."""


class LearningRate(LenientReply):
    """How many changes to make."""

    learning_rate: Annotated[int, BeforeValidator(read_count)]
    """0 or more."""
    reason: LenientText = ""
    """One sentence."""


class Guidance(LenientReply):
    """What an epoch taught, for the agent."""

    reasoning: LenientText = ""
    """What helped, what harmed, what still fails."""
    slow_update_content: LenientText
    """The guidance, in Markdown."""


class MetaSkill(LenientReply):
    """What an epoch taught, for the optimizer itself."""

    reasoning: LenientText = ""
    """Which changes helped, and which did not."""
    meta_skill_content: LenientText
    """What to do otherwise when changing this skill."""


class ShortNotes(LenientReply):
    """The notes, shortened."""

    appendix_notes: Notes
    """The notes that are left."""


def read_json(text: str, *, is_list: bool = False) -> Json:
    """The one object, or list, in a model's text: the whole, else the first in a fence, else the only one in prose.

    Args:
        text: What the model wrote.
        is_list: Look for a list. A list of one object stands for the object otherwise.

    Returns:
        The value; None if there is none, or if several stand in prose, since any of them may be the wrong one.
    """
    whole = text.strip()
    for candidate in [whole, *fenced_blocks(text)]:
        value = _unwrapped(_decoded(candidate), is_list)
        if value is not None:
            return value
    prose = [candidate for candidate in candidates(whole, []) if candidate != whole] if whole else []
    values = [value for part in prose if (value := _unwrapped(_decoded(part), is_list)) is not None]
    return values[0] if len(values) == 1 else None


def _unwrapped(value: Json, is_list: bool) -> Json:
    """A value of the kind that is looked for, or None."""
    if not is_list and isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, list if is_list else dict) else None


def _decoded(text: str) -> Json:
    try:
        return decode(text)
    except JsonTextError:
        return None
