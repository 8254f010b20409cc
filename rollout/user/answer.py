"""A user's answer: what it says to the agent, and what it records of it. Models answer with it as JSON.

Reading is tolerant: of fences, prose around the object, words for booleans, fields left out, broken or cut JSON. Plain
text is the last resort; then nothing is recorded but that the user leaves, where the text says so with the mark STOP.
"""

import json
import re
from collections.abc import Mapping

from pydantic import Field

from skillweave.conversation import STOP
from skillweave.llm.json_text import JsonTextError, candidates, decode
from skillweave.llm.parse import fenced_blocks
from skillweave.schema.record import Json, Record

FORM = """\
The form of your answers
Answer each message of the assistant with one JSON object and nothing else:
{"text": "...", "agrees": null, "wants_human": false, "done": false}
- text: what you write to the assistant, in plain words. It reads nothing but this.
- agrees: true if you say yes to what the assistant proposed last, or to its last question that yes or no can answer;
  false if you say no to it; null if there was nothing to say yes or no to, or you said neither. Whether you want
  anything else is no such question: null.
- wants_human: true if you ask for a human with this message, or say yes to being handed over to one; else false.
- done: true if you leave with this message, else false."""
"""What a model is told of the form, behind the prose about whom it plays."""

_TEXT_KEYS = ("text", "message", "content", "reply", "response", "answer")
_FLAGS = ("agrees", "wants_human", "done")
_YES = frozenset({"true", "yes", "y", "1"})
_NO = frozenset({"false", "no", "n", "0"})
_THINKING = re.compile(r"\A\s*<(think(?:ing)?)>.*?(?:</\1>|\Z)", re.DOTALL)
_FENCE = re.compile(r"^\s*`{3,}\w*\s*$", re.MULTILINE)
_TEXT = re.compile(rf"""["']?\b(?:{"|".join(_TEXT_KEYS)})["']?\s*:\s*(?P<quote>["'])""")
_END = r"""{quote}\s*(?:,\s*["']?(?:{flags})\b|,?\s*\}}|,?\s*\Z)"""
_ESCAPED = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\'": "'", r"\\": "\\"}


class UserAnswer(Record):
    text: str
    """What the user says."""
    agrees: bool | None = Field(...)
    """Whether it agrees to what the agent proposed or asked last; null: there was nothing to agree to."""
    wants_human: bool = Field(...)
    """Whether it asks for a human."""
    done: bool = Field(...)
    """Whether the user leaves with it."""

    @property
    def written(self) -> str:
        """As the user's model writes it."""
        return self.model_dump_json()


SCHEMA: Mapping[str, Json] = UserAnswer.model_json_schema()
"""For endpoints that decode by a schema."""


def plain(text: str) -> UserAnswer:
    """An answer of which nothing is recorded."""
    return UserAnswer(text=text, agrees=None, wants_human=False, done=False)


def read_answer(reply: str) -> UserAnswer:
    """The answer that a model's reply comes to. Its text is empty where there is none."""
    text = _THINKING.sub("", reply.removeprefix("\ufeff")).strip()
    fields = _fields(text) if text else {}
    words = str(fields.get("text", text)).strip()
    return UserAnswer(
        text=words.replace(STOP, "").strip(),
        agrees=_flag(fields.get("agrees")),
        wants_human=_flag(fields.get("wants_human")) is True,
        done=_flag(fields.get("done")) is True or STOP in words,
    )


def _fields(text: str) -> dict[str, Json]:
    """What stands in the reply's object, its words under `text`; empty where there is no object."""
    for candidate in candidates(text, fenced_blocks(text)):
        try:
            value = decode(candidate)
        except JsonTextError:
            continue
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, str) and candidate == text:
            return {"text": value}
        if not isinstance(value, dict):
            continue
        key = next((key for key in _TEXT_KEYS if isinstance(value.get(key), str)), None)
        if key is not None:
            return {**value, "text": value[key]}
        if any(flag in value for flag in _FLAGS):
            return {**value, "text": _FENCE.sub("", text.replace(candidate, "")).strip()}
    return _salvaged(text)


def _salvaged(text: str) -> dict[str, Json]:
    """What can be told of an object that is no JSON: unescaped quotes and line breaks, or cut off."""
    start = _TEXT.search(text)
    if start is None or "{" not in text[: start.start() + 1]:
        return {}
    end = re.compile(_END.format(quote=start["quote"], flags="|".join(_FLAGS))).search(text, start.end())
    words = text[start.end() : end.start() if end else len(text)]
    rest = text[: start.start()] + (text[end.start() :] if end else "")
    found: dict[str, Json] = {"text": _unescaped(words)}
    for flag in _FLAGS:
        given = re.search(rf"""\b{flag}["']?\s*:\s*["']?(\w+)""", rest)
        found |= {flag: given[1]} if given else {}
    return found


def _unescaped(words: str) -> str:
    try:
        return str(json.loads(f'"{words}"', strict=False))
    except ValueError:
        return re.sub(r"\\.", lambda match: _ESCAPED.get(match[0], match[0]), words.rstrip("\\"))


def _flag(value: Json) -> bool | None:
    """A boolean, or the word for one."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    return True if word in _YES else False if word in _NO else None
