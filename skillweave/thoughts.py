"""Thoughts in a model's text: what it writes for itself, told apart from its words. The one reader of them.

A server with a parser of reasoning sends thoughts in a field of their own. Without one (vLLM by default), they stand in
the text, in the form that the model was trained on. A thought may lack its opening mark, which then stood in the
prompt, or its closing one, where the token limit cut it off: then all the rest is thought. A mark that is spoken of is
none: in quotation marks, backticks or parentheses, in a string of a JSON object such as the arguments of a call, or a
tag that is never closed in the middle of a line of words.
"""

import json
import re
from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

_NAME = r"(?:[\w.-]{1,32}[:_])?(?:think(?:ing)?|thoughts?|reasoning)"
_ATTRIBUTE = r"""\s{1,9}[\w:.-]{1,40}\s{0,9}=\s{0,9}(?:"[^"<>\n]{0,200}"|'[^'<>\n]{0,200}'|[^\s"'<>/]{1,100})"""
_TAG, _CHANNEL, _BRACKETS = "tag", "channel", "brackets"
_PAIRS: dict[str, tuple[str, str]] = {
    # Most models, among them Qwen, DeepSeek, GLM, Kimi K2; `<seed:think>`, `<longcat_think>`, `<mm:think>`.
    # A tag that is cut off counts where nothing stands before it; `<thoughts@clinic.org>` is an address.
    _TAG: (
        rf"<\s{{0,9}}{_NAME}(?:{_ATTRIBUTE}){{0,8}}\s{{0,9}}/?>|\A\s*<{_NAME}\s*\Z",
        rf"<\s{{0,9}}/\s{{0,9}}{_NAME}\s{{0,9}}>",
    ),
    # gpt-oss; its other channels are words, and calls.
    _CHANNEL: (r"<\|channel\|>\s{0,9}analysis[^<>\n]{0,100}<\|message\|>", r"<\|end\|>|<\|return\|>|<\|call\|>"),
    _BRACKETS: (r"\[THINK\]", r"\[/THINK\]"),  # Magistral
    "triangles": ("◁think▷", "◁/think▷"),  # Kimi-VL
    "command": (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    "inner": (r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),  # Apertus
    "gemma": (r"<\|channel>(?:thought\b)?", r"<channel\|>"),
    "openthinker": (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    "pangu": (r"\[unused16\]", r"\[unused17\]"),
    # Without marks of their own; a sentence counts at the beginning alone. The second is gpt-oss without its marks.
    "granite": (r"\A\s*Here(?: is|'s) my thought process:", r"Here(?: is|'s) my response:"),
    "bare": (r"\A\s*analysis(?-i:(?=[A-Z]))", r"assistant\s{0,9}(?:final|commentary)"),
}
"""Form -> its opening and its closing mark. vLLM's parsers of reasoning know the same ones."""
_NEVER_ALONE = (_CHANNEL, "granite", "bare")
"""Forms whose closing mark says nothing where nothing was opened."""
_TURN = r"(?:<\|end\|>\s{0,9})?<\|start\|>assistant\s{0,9}(?=<\|channel)"
_SPOKEN = rf"(?:{_TURN})?<\|channel\|>\s{{0,9}}(?:final|commentary)\s{{0,9}}(?:<\|constrain\|>\w{{1,20}})?<\|message\|>"
_MARK = re.compile(
    # What a mark can begin with comes first: most places of a text are passed at once.
    r"(?=[<\[◁]|Here|assistant|\A)(?:"
    + "|".join(
        [f"(?P<spoken>{_SPOKEN})", f"(?P<turn>{_TURN})"]
        + [f"(?P<{form}>{opening})|(?P<{form}_end>{closing})" for form, (opening, closing) in _PAIRS.items()]
    )
    + ")",
    re.IGNORECASE,
)
_HINTS = ("think", "thought", "reasoning", "<|", "<channel|>", "[unused1", "analysis")
"""A text without any of these has no mark."""
_ANSWER = re.compile(
    r"<answer>(?P<a>.*?)(?:</answer>)?|<\|begin_of_solution\|>(?P<b>.*?)(?:<\|end_of_solution\|>)?"
    r"|<\|START_(?:RESPONSE|TEXT)\|>(?P<c>.*?)(?:<\|END_(?:RESPONSE|TEXT)\|>)?",
    re.DOTALL | re.IGNORECASE,
)
"""All words, in a frame that some models put around them behind their thoughts."""
_QUOTES = {"`": "`", "'": "'", '"': '"', "(": ")", "“": "”", "«": "»", "„": "“"}
_VALUE = re.compile(
    r"(?=\{\s{0,99}\")|(?P<parameter><(?:｜DSML｜)?parameter(?:=| name=)[^<>]{1,300}>"
    r"[^<]*+(?:<(?!/?(?:｜DSML｜)?parameter\b)[^<]*+)*+</(?:｜DSML｜)?parameter>"
    r"|<arg_value>[^<]*+(?:<(?!/?arg_value>)[^<]*+)*+</arg_value>)"
)
"""What begins a JSON object, or a whole parameter in tags: a mark in it is part of a value."""
_DECODER = json.JSONDecoder(strict=False)
MAX_TRIES = 64
"""Objects that are begun and are no JSON; it bounds the work that a hostile text makes."""
_BEFORE_TORN = re.compile(r"\s*(?:```\w*\s*)?|(?s:.*)Action Input\W*", re.IGNORECASE)
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)', re.DOTALL)
_JSON_BEHIND = re.compile(r"\s{0,99}(?:[{\[]|```)")


class SplitText(NamedTuple):
    """A model's text, told apart."""

    thoughts: str
    """What it writes for itself, without the marks; empty if there is none."""
    words: str
    """The rest. A text without thoughts is left as it is."""


def split_thoughts(text: str) -> SplitText:
    """Tell a model's thoughts from its words. The time is linear in the text, whatever it holds."""
    lowered = text.casefold()
    if not any(hint in lowered for hint in _HINTS):
        return SplitText("", text)
    marks = _outside_json(text, [mark for mark in _MARK.finditer(text) if not _is_spoken_of(text, mark)])
    if not marks:
        return SplitText("", text)
    names = {_name(mark) for mark in marks if not _is_end(mark)}
    last_stray = max((mark.start() for mark in marks if _is_stray_end(mark, names)), default=-1)
    last_end = {_name(mark): mark.start() for mark in marks if _is_end(mark)}
    thoughts: list[str] = []
    words: list[str] = []
    opened: str | None = None
    inside: set[str] = set()
    """Names that were opened within the open thought: their closing marks do not end it."""
    begun = free = 0
    is_framed = False
    for mark in marks:
        form, name = mark.lastgroup or "", _name(mark)
        before = slice(begun, mark.start())  # cut out only where a piece ends: a long thought may hold many marks
        is_end = _is_end(mark)
        if opened is not None:
            if form in ("spoken", "turn") or (is_end and name == opened):
                is_over = opened == _CHANNEL or is_end
            elif is_end:
                # `<think>...</reasoning>`: the name is wrong, and the right one does not follow.
                is_over = name not in inside and last_end.get(opened, -1) < mark.start()
                inside.discard(name)
            else:
                is_over = False
                inside.add(name)
            if is_over:
                thoughts.append(text[before])
                opened, begun, free = None, mark.end(), len(words)
        elif form in ("spoken", "turn"):
            # A channel without any before it: what stands there is an analysis that was begun in the prompt.
            (words if is_framed else thoughts).append(text[before])
            begun, is_framed = mark.end(), True
        elif is_end:
            if form == f"{_CHANNEL}_end" and is_framed:
                words.append(text[before])
                begun = mark.end()
            elif form.removesuffix("_end") not in _NEVER_ALONE:
                # Its opening mark stood in the prompt, or within an earlier thought: all since then is thought.
                thoughts += [*words[free:], text[before]]
                del words[free:]
                begun = mark.end()
        elif form in (_TAG, _BRACKETS) and not (
            max(last_end.get(name, -1), last_stray if form == _TAG else -1) > mark.start()
            or _is_first(text, mark.start(), begun, form)
        ):
            continue  # `the button [THINK] is green`
        else:
            words.append(text[before])
            opened, inside, begun = name, set(), mark.end()
            is_framed = is_framed or form == _CHANNEL
            if mark[0].endswith("/>"):  # `<think/>`: no thought at all
                opened = None
    (words if opened is None else thoughts).append(text[begun:])
    said = _join_words(words)
    thought = "\n\n".join(filter(None, map(str.strip, thoughts)))
    framed = _ANSWER.fullmatch(said) if thought else None
    if framed is not None and framed.lastgroup is not None:
        said = framed[framed.lastgroup].strip()
    return SplitText(thought, said)


def write_thoughts(thoughts: str, words: str) -> str:
    """Words behind thoughts, in the form that most reasoning models write."""
    return f"<think>\n{thoughts}\n</think>\n\n{words}" if thoughts else words


def join_thoughts(*thoughts: str | None) -> str | None:
    """Thoughts from several places as one text, each of them once; None if there are none."""
    found: list[str] = []
    for thought in thoughts:
        if thought and not any(thought.strip() in earlier for earlier in found):
            found.append(thought)
    return "\n\n".join(found) or None


def _is_end(mark: re.Match[str]) -> bool:
    return (mark.lastgroup or "").endswith("_end")


def _name(mark: re.Match[str]) -> str:
    """What an opening mark and its closing one have in common."""
    form = (mark.lastgroup or "").removesuffix("_end")
    return re.split(r"[\s>/]", mark[0].lstrip("</ \t\r\n").lower(), maxsplit=1)[0] if form == _TAG else form


def _is_stray_end(mark: re.Match[str], opened: set[str]) -> bool:
    """Whether a closing tag can only belong to an opening one of another name."""
    return mark.lastgroup == f"{_TAG}_end" and _name(mark) not in opened


def _is_first(text: str, place: int, begun: int, form: str) -> bool:
    """Whether a mark that is never closed stands where a thought begins: before all words, or those of a line."""
    start = 0 if form == _BRACKETS else text.rfind("\n", begun, place) + 1
    return not text[max(start, begun) : place].strip()


def _is_spoken_of(text: str, mark: re.Match[str]) -> bool:
    before, behind = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
    return before in _QUOTES and behind == _QUOTES[before]


def _outside_json(text: str, marks: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """The marks that do not stand in a JSON object, or in a parameter that a call has in tags."""
    kept: list[re.Match[str]] = []
    torn: deque[tuple[int, int]] | None = None
    place = tries = end = 0
    for mark in marks:
        while place <= mark.start() and tries < MAX_TRIES:
            begin = _VALUE.search(text, place)
            if begin is None or begin.start() > mark.start():
                place = begin.start() if begin is not None else len(text) + 1
                break
            if begin["parameter"]:
                place = end = begin.end()
                continue
            try:
                place = end = _DECODER.raw_decode(text, begin.start())[1]
            except (ValueError, RecursionError):
                tries, place = tries + 1, begin.start() + 1
                # A user's reply, or the arguments of a call, may be cut off, or have a quotation mark too many.
                if (
                    torn is None
                    and not kept
                    and _BEFORE_TORN.fullmatch(text, max(0, begin.start() - 40), begin.start())
                ):
                    torn = deque(found.span() for found in _STRING.finditer(text, begin.start()))
        while torn and torn[0][1] <= mark.start():
            torn.popleft()
        is_torn = torn and torn[0][0] < mark.start() and not _JSON_BEHIND.match(text, mark.end())
        if mark.start() >= end and not is_torn:
            kept.append(mark)
    return kept


def _join_words(pieces: list[str]) -> str:
    """The pieces without what stood between them, and with a blank where they would grow together."""
    kept = [piece for piece in pieces if piece]
    joined = kept[:1]
    for before, piece in pairwise(kept):
        is_apart = before[-1].isspace() or piece[0].isspace()
        joined.append(piece.removeprefix(" ") if before.endswith(" ") else piece if is_apart else f" {piece}")
    return "".join(joined).strip()
