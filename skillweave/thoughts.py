"""Thoughts in a model's text: what it writes for itself, told apart from its words. The one reader of them.

A server with a parser of reasoning sends thoughts in a field of their own. Without one (vLLM by default), they stand in
the text, in the form that the model was trained on. A thought may lack its opening mark, which then stood in the
prompt, or its closing one, where the token limit cut it off: then all the rest is thought. A mark in quotation marks or
in backticks is spoken of, and is none.
"""

import re
from itertools import pairwise
from typing import NamedTuple

_NAME = r"(?:[\w.-]{1,32}[:_])?(?:think(?:ing)?|thoughts?|reasoning)"
_TAG, _CHANNEL = "tag", "channel"
_PAIRS: dict[str, tuple[str, str]] = {
    # Most models, among them Qwen, DeepSeek, GLM, Kimi K2; `<seed:think>`, `<longcat_think>`, `<mm:think>`.
    _TAG: (rf"<{_NAME}(?![\w-])(?:[^<>\n]{{0,200}}>)?", rf"</{_NAME}\s{{0,9}}>"),
    # gpt-oss; its other channels are words, and calls.
    _CHANNEL: (r"<\|channel\|>\s{0,9}analysis[^<>\n]{0,100}<\|message\|>", r"<\|end\|>|<\|return\|>|<\|call\|>"),
    "brackets": (r"\[THINK\]", r"\[/THINK\]"),  # Magistral
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
_QUOTES = frozenset("`'\"")


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
    marks = [mark for mark in _MARK.finditer(text) if not _is_spoken_of(text, mark)]
    if not marks:
        return SplitText("", text)
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
    return re.split(r"[\s>/]", mark[0].lstrip("</").lower(), maxsplit=1)[0] if form == _TAG else form


def _is_spoken_of(text: str, mark: re.Match[str]) -> bool:
    before, behind = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
    return before in _QUOTES and before == behind


def _join_words(pieces: list[str]) -> str:
    """The pieces without what stood between them, and with a blank where they would grow together."""
    kept = [piece for piece in pieces if piece]
    joined = kept[:1]
    for before, piece in pairwise(kept):
        is_apart = before[-1].isspace() or piece[0].isspace()
        joined.append(piece.removeprefix(" ") if before.endswith(" ") else piece if is_apart else f" {piece}")
    return "".join(joined).strip()
