"""The skill document: its body, which edits change, and two regions, which they cannot.

The regions are the guidance that an epoch ends with, and the notes that remind of rules. Comments in the Markdown mark
them. Whatever an edit says, the regions stay as they are: an edit that would change one is skipped.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic.json_schema import SkipJsonSchema

from skillweave.schema.record import Json, Record

Source = Literal["failure", "success"]
OPERATIONS = ("append", "insert_after", "replace", "delete")

GUIDANCE_START = "<!-- SKILL_GUIDANCE_BEGIN -->"
GUIDANCE_END = "<!-- SKILL_GUIDANCE_END -->"
NOTES_START = "<!-- SKILL_NOTES_BEGIN -->"
NOTES_END = "<!-- SKILL_NOTES_END -->"
NOTES_HEADING = "## Notes on following these rules"
MARKERS = (GUIDANCE_START, GUIDANCE_END, NOTES_START, NOTES_END)
LONGEST_MARKER = max(map(len, MARKERS))
SHOWN = 200
"""Characters of a target and of a content that a report shows."""


def _pattern(start: str, end: str) -> re.Pattern[str]:
    return re.compile(f"{re.escape(start)}(.*?){re.escape(end)}", re.DOTALL)


_GUIDANCE = _pattern(GUIDANCE_START, GUIDANCE_END)
_NOTES = _pattern(NOTES_START, NOTES_END)
_PROTECTED = re.compile("|".join([_GUIDANCE.pattern, _NOTES.pattern, *map(re.escape, MARKERS)]), re.DOTALL)
"""Whole regions, and markers that stand alone."""
_MARKER = re.compile("|".join(map(re.escape, MARKERS)))


def as_text(value: Json) -> str:
    """What a model wrote where a text belongs: lists become lines, null and objects become nothing."""
    if isinstance(value, list):
        return "\n".join(as_text(part) for part in value)
    return "" if value is None or isinstance(value, dict) else str(value)


def as_count(value: Json, least: int = 0) -> int:
    """What a model wrote where a number of things belongs; `least` for what is no number, or below it."""
    try:
        return max(least, int(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return least


LenientText = Annotated[str, BeforeValidator(as_text)]
LenientCount = Annotated[int, BeforeValidator(as_count)]
LenientSource = Annotated[Source, BeforeValidator(lambda value: "success" if value == "success" else "failure")]
Support = Annotated[int, BeforeValidator(lambda value: as_count(value, 1))]


class Edit(Record):
    """A change of the skill document."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

    op: Annotated[LenientText, WithJsonSchema({"type": "string", "enum": list(OPERATIONS)})]
    """append: at the end; insert_after: below the line in which `target` ends; replace, delete: the first `target`."""
    target: LenientText = ""
    """Text of the skill, character by character; not for append."""
    content: LenientText = ""
    """The new Markdown; not for delete."""
    source_type: LenientSource = "failure"
    """What gave rise to it."""
    support_count: Support = 1
    """How many conversations support it."""
    merge_level: SkipJsonSchema[LenientCount] = 0
    """How often it was merged with others."""

    @model_validator(mode="before")
    @classmethod
    def _without_op(cls, value: object) -> object:
        """An edit without an operation has an unknown one: it is skipped, and the others are not."""
        return {"op": "", **value} if isinstance(value, dict) else value


class EditReport(Record):
    """What became of an edit."""

    index: int = Field(ge=1)
    """Its place among the edits, from 1."""
    op: str
    target: str
    """At most its first 200 characters."""
    content_preview: str
    """At most its first 200 characters."""
    status: str
    """`applied_...` or `skipped_...`, with the way or the reason; `..._first_of_3` if the target occurs three times."""
    error: str | None = None
    """Why it was skipped; None if it was applied."""

    @property
    def is_applied(self) -> bool:
        """Whether the edit changed the document."""
        return self.status.startswith("applied")


def apply_edits(skill: str, edits: Sequence[Edit]) -> tuple[str, list[EditReport]]:
    """Apply edits one after the other; each sees what those before it wrote.

    Returns:
        The new document, and a report for each edit. What cannot be applied is skipped, and says so.
    """
    reports: list[EditReport] = []
    added: set[tuple[str, str, str]] = set()
    for index, edit in enumerate(edits, start=1):
        content = _without_markers(edit.content.strip())
        addition = (edit.op, edit.target, content)
        if addition in added:
            status, error = "skipped_duplicate", "an earlier edit of this step adds the same"
        else:
            skill, status, error = _apply(skill, edit, content)
        if edit.op in ("append", "insert_after"):
            added.add(addition)
        reports.append(
            EditReport(
                index=index,
                op=edit.op,
                target=edit.target[:SHOWN],
                content_preview=content[:SHOWN],
                status=status,
                error=error or None,
            )
        )
    return skill, reports


def _apply(skill: str, edit: Edit, content: str) -> tuple[str, str, str]:
    """The document after an edit, the status, and what was wrong."""
    if edit.target and _is_protected(skill, edit.target):
        return skill, "skipped_protected_region", "the target reaches into guidance or notes, which edits cannot change"
    if edit.op in ("append", "insert_after") and not content:
        return skill, "skipped_empty_content", "there is nothing to add"
    if edit.op in ("append", "insert_after"):
        changed, status = _add(skill, edit, content)
    elif edit.op in ("replace", "delete"):
        if not edit.target:
            return skill, f"skipped_{edit.op}_missing_target", f"{edit.op} needs a target"
        if edit.target not in skill:
            return skill, f"skipped_{edit.op}_target_not_found", "no text of the skill is the same as the target"
        changed = skill.replace(edit.target, content if edit.op == "replace" else "", 1)
        status = f"applied_{edit.op}{_ambiguity(skill, edit.target)}"
    else:
        return skill, "skipped_unknown_op", f"op should be one of {', '.join(OPERATIONS)}"
    if changed == skill:
        return skill, "skipped_no_change", "the document is the same with it"
    if _regions(changed) != _regions(skill):
        return skill, "skipped_protected_region", "it would change guidance or notes, which edits cannot change"
    return changed, status, ""


def _add(skill: str, edit: Edit, content: str) -> tuple[str, str]:
    """Add content below its target, or at the end of the body."""
    is_below = edit.op == "insert_after" and edit.target != "" and edit.target in skill
    if is_below:
        newline = skill.find("\n", skill.find(edit.target) + len(edit.target))
        place = newline + 1 if newline >= 0 else len(skill)
        if not any(match.start() < place < match.end() for match in _PROTECTED.finditer(skill)):
            changed = f"{skill[:place]}\n{content}\n{skill[place:]}"
            return changed, f"applied_insert_after{_ambiguity(skill, edit.target)}"
    how = edit.op if is_below or edit.op == "append" else "insert_after_fallback"
    region = _PROTECTED.search(skill)
    before = skill[: region.start()].rstrip() if region else skill.rstrip()
    body = f"{before}\n\n{content}" if before else content
    if region:
        return f"{body}\n\n{skill[region.start() :]}", f"applied_{how}_before_protected_region"
    return f"{body}\n", f"applied_{how}" + ("" if edit.op == "append" else "_append")


def _ambiguity(skill: str, target: str) -> str:
    times = skill.count(target)
    return f"_first_of_{times}" if times > 1 else ""


def _is_protected(skill: str, target: str) -> bool:
    """Whether the first occurrence of a target reaches into a region."""
    start = skill.find(target)
    end = start + len(target)
    return start >= 0 and any(match.start() < end and start < match.end() for match in _PROTECTED.finditer(skill))


def _without_markers(text: str) -> str:
    """A text without markers; what is left never makes a new one."""
    if not _MARKER.search(text):
        return text
    # In one pass, since markers may be nested thousands deep.
    left: list[str] = []
    for character in text:
        left.append(character)
        if character == ">":
            tail = "".join(left[-LONGEST_MARKER:])
            marker = next((marker for marker in MARKERS if tail.endswith(marker)), "")
            del left[len(left) - len(marker) :]
    return "".join(left)


def skill_digest(skill: str) -> str:
    """The first 16 hexadecimal digits of the document's SHA-256."""
    return hashlib.sha256(skill.encode()).hexdigest()[:16]


def body_of(skill: str) -> str:
    """The document without its regions."""
    return without_notes(without_guidance(skill))


def with_body(skill: str, body: str) -> str:
    """Put a body in place of the document's own. The regions stay; what the new text has of them does not count."""
    regions = [region for region in _regions(skill) if region not in MARKERS]
    return "\n\n".join([*filter(None, [body_of(body)]), *regions]) + "\n"


def has_guidance(skill: str) -> bool:
    """Whether the document has a region for guidance."""
    return _GUIDANCE.search(skill) is not None


def guidance_of(skill: str) -> str:
    """The guidance; empty if there is none."""
    match = _GUIDANCE.search(skill)
    return match[1].strip() if match else ""


def without_guidance(skill: str) -> str:
    """The document without its guidance, and without the region for it."""
    return _without(skill, _GUIDANCE, (GUIDANCE_START, GUIDANCE_END))


def with_guidance(skill: str, text: str) -> str:
    """Put guidance in place of what there was; the document then has one region for it, at its end."""
    lines = [GUIDANCE_START, *filter(None, [_without_markers(text).strip()]), GUIDANCE_END]
    return _with_region(without_guidance(skill), lines)


def has_notes(skill: str) -> bool:
    """Whether the document has a region for notes."""
    return _NOTES.search(skill) is not None


def notes_of(skill: str) -> list[str]:
    """The notes, in order."""
    match = _NOTES.search(skill)
    lines = [line.strip() for line in match[1].splitlines()] if match else []
    heading = NOTES_HEADING.lstrip("# ")
    notes = [
        line[1:].strip() if line[:1] in ("-", "*") else line for line in lines if line.lstrip("#").strip() != heading
    ]
    return [note for note in notes if note]


def without_notes(skill: str) -> str:
    """The document without its notes, and without the region for them."""
    return _without(skill, _NOTES, (NOTES_START, NOTES_END))


def with_notes(skill: str, notes: Sequence[str]) -> str:
    """Add notes to those that there are; the document then has one region for them, at its end."""
    return replace_notes(skill, [*notes_of(skill), *notes])


def replace_notes(skill: str, notes: Sequence[str]) -> str:
    """Put notes in place of those that there were."""
    lines = [f"- {note}" for note in distinct_notes(notes)]
    return _with_region(without_notes(skill), [NOTES_START, NOTES_HEADING, *lines, NOTES_END])


def distinct_notes(notes: Sequence[str]) -> list[str]:
    """Notes on one line each, the first of those that differ in case, blanks or closing punctuation alone."""
    distinct: dict[str, str] = {}
    for note in notes:
        line = " ".join(_without_markers(note).split())
        if key := line.rstrip(" .;:,_-").casefold():
            distinct.setdefault(key, line)
    return list(distinct.values())


def _with_region(body: str, lines: Sequence[str]) -> str:
    return (f"{body}\n\n" if body else "") + "\n".join(lines) + "\n"


def _without(skill: str, region: re.Pattern[str], markers: Sequence[str]) -> str:
    """The document without regions of one kind and their stray markers; at most one blank line is left at each."""
    unwanted = re.compile("|".join([region.pattern, *map(re.escape, markers)]), re.DOTALL)
    while match := unwanted.search(skill):
        before, after = skill[: match.start()], skill[match.end() :]
        head, tail = before.rstrip("\n"), after.lstrip("\n")
        newlines = len(before) - len(head) + len(after) - len(tail)
        skill = head + "\n" * min(2, newlines) + tail
    return skill.rstrip()


def _regions(skill: str) -> list[str]:
    """Regions and stray markers, as they stand in the document."""
    return [match[0] for match in _PROTECTED.finditer(skill)]
