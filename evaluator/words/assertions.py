"""What a message asserts: its sentences in plain words, without what it asks, supposes or quotes.

A line that ends in a colon, and a title, heads the lines below it, to the next empty one. A row of a table is a
sentence that names each cell by its column. A sentence falls into clauses where a new one visibly begins.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST_LINE = 4_000
_BULLET = re.compile(r"\s*(?:>\s*)*(?:(?:[-+\u2022]|\d{1,2}[.)]|#{1,6})\s+){0,3}")
"""Quotation signs, bullets, numbers of list items, signs of a heading."""
_EMPHASIS = re.compile(r"[*`]+|(?<![^\W_])_+|_+(?![^\W_])")
_TITLE = re.compile(
    r"\s*(?:#{1,6}\s+(?:\*\*)?(?:\d{1,2}[.)]\s)?[^\d\n]{1,200}"
    r"|(?P<bold>(?:\*\*|__)(?:\d{1,2}[.)]\s)?[^*_\d\n.!?]{1,100}(?:\*\*|__)\s*))"
)
"""A heading, or a line in bold, that gives no value: what stands below speaks of it."""
_TABLE_RULE = re.compile(r"\|?[\s:|-]+")
_BREAK = re.compile(r"(?<=[.!?])[\"')\]]{0,3}\s+")
_ABBREVIATED = re.compile(
    r"\b(?:dr|mr|mrs|ms|prof|st|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|no|nr|approx|incl|excl|max|min|vs|e\.g|i\.e)"
    r"\.$",
    re.IGNORECASE,
)
_LONGEST_ABBREVIATION = len("approx.")
_INITIAL = re.compile(r"\b[A-Za-z]\.$")
_BEGINNING = re.compile(
    r"(?:I|It|Is|The|This|That|There|These|Your?|We|Would|Can|Could|Do|Does|Did|Shall|Should|Will|May|Are|Have|If|In|Please|"
    r"Anything|Let|What|Which|When|Where|How|And|But|So|Sorry|Also|To|As|Thanks?|Here|Just|For|On)\b"
)
_HALF_OF_DAY = re.compile(r"\d ?[ap]\.m\.$", re.IGNORECASE)
_REST = r"(?:(?!\bbut\b|\bhowever\b|\band (?:it|that|the|your)\b)[^,;:]|[,:](?=\d))*"
_SUPPOSED = re.compile(rf"\b(?:if|whether|unless|suppose|supposing|assuming|in case)\b{_REST}", re.IGNORECASE)
_SUPPOSING = ("if ", "whether", "unless", "suppos", "assuming", "in case")
_QUOTED = re.compile(
    r"\byou(?: have|'ve| had| just| were| are)* (?:said|mentioned|told (?:me|us)|wrote|expect(?:ed|ing)?|thought"
    rf"|quoted|gave|believed?|assumed?|guess(?:ed)?|asked (?:about|whether|for|if))\b{_REST}",
    re.IGNORECASE,
)
_AUXILIARY = (
    r"(?:shall|should|would|do|does|did|can|could|may|will|is|are|was|were|have|has|what|which|when|where|who|how|why)"
)
_QUESTION = re.compile(rf"(?:[,;:]|\s-|\band|\bso)\s+(?:(?:and|so|but|please)\s+)?(?={_AUXILIARY}\b)", re.IGNORECASE)
_INVERTED = re.compile(
    rf"\W*(?:(?:and|so|but|sorry|ok|okay|sure|thanks),?\s+)*{_AUXILIARY}\s+"
    r"(?:i|we|you|it|that|this|the|your|there|[a-z]+ is)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"(?=[;,abpsw])(?:;|,|\b(?:and|but|while|whereas|plus|so)\b)(?:\s*(?:and|but|while|whereas|plus|so)\b)?\s+"
    r"(?=(?:the|your|an?|its|it|you|this|that|there|my|our|for)\b)|;\s+"
)


class Said(NamedTuple):
    """A clause."""

    words: str
    """Without what it supposes."""
    asserted: str
    """And without what it says of the user's own words."""


class Sentence(NamedTuple):
    """A sentence, or a line with the list below it."""

    head: str
    """The line above a list; empty where there is none."""
    parts: list[str]
    """The sentence, or the lines of the list."""

    @property
    def text(self) -> str:
        """As it stands, without markup."""
        return "; ".join([self.head, *self.parts]) if self.head else self.parts[0]

    def clauses(self) -> list[Said]:
        """What it asserts; its head is none of them."""
        asserted = map(_without_question, self.parts)
        return [clause for part in asserted if part for clause in _clauses(part)]


def sentences(text: str) -> list[Sentence]:
    """The sentences of a message, which is folded already."""
    return [Sentence(head, parts) for head, parts in _blocks(text)]


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Heads with their items, and lone sentences."""
    head, items = "", list[str]()
    columns: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.lstrip().startswith("|"):
            cells = [_plain(cell) for cell in line.strip().strip("|").split("|")]
            if not columns:
                columns = cells
            elif not _TABLE_RULE.fullmatch(line.strip()):
                yield "" if items else head, [_row(columns, cells)]
            continue
        if columns and not items:
            head = ""
        columns = []
        plain = _plain(line)
        title = _TITLE.fullmatch(line) if "#" in line or "**" in line or "__" in line else None
        if head and plain and (not title or (title["bold"] and not items)):
            items += _split(plain)
        elif head and items:
            yield head, items
            head, items = plain if title else "", []
        elif plain and (plain.endswith(":") or title):
            head = plain
        elif not head:
            for sentence in _split(plain):
                yield "", [sentence]
    if head:
        yield head, items


def _plain(line: str) -> str:
    """A line without markup."""
    plain = line[:LONGEST_LINE]
    if "*" in plain or "`" in plain or "_" in plain:
        plain = _EMPHASIS.sub("", plain)
    bullet = _BULLET.match(plain)
    return plain[bullet.end() :].strip() if bullet else plain.strip()


def _row(columns: list[str], cells: list[str]) -> str:
    named = [f"{column}: {cell}" if column else cell for column, cell in zip(columns, cells, strict=False)]
    return "; ".join(named)


def _split(line: str) -> Iterator[str]:
    if not line:
        return
    start = 0
    for match in _BREAK.finditer(line):
        if _is_end(line[max(start, match.start() - 12) : match.start()], line, match.end()):
            yield line[start : match.end()].strip()
            start = match.end()
    if line[start:].strip():
        yield line[start:].strip()


def _is_end(before: str, line: str, following: int) -> bool:
    """Whether a stop ends a sentence: not that of `Dr.`, nor an initial's, unless what follows can only begin one."""
    if before[-1:] != "." or (len(before) > _LONGEST_ABBREVIATION and before[-_LONGEST_ABBREVIATION:-1].isalnum()):
        return True
    if _HALF_OF_DAY.search(before):
        return line[following : following + 1].isupper()
    if _INITIAL.search(before):
        return _BEGINNING.match(line, following) is not None
    return _ABBREVIATED.search(before) is None


def _without_question(sentence: str) -> str:
    """The part of a sentence that states something: what stands before a question put at its end."""
    if sentence.rstrip(" )\"'").endswith("?"):
        asked = [match.start() for match in _QUESTION.finditer(sentence)]
        sentence = sentence[: asked[-1]] if asked else ""
        if _INVERTED.match(sentence):
            return ""
    return sentence


def _clauses(sentence: str) -> list[Said]:
    lowered = sentence.lower()
    if [cue for cue in _SUPPOSING if cue in lowered]:
        sentence = _SUPPOSED.sub(" ", sentence)
    clauses = [clause for clause in map(str.strip, _CLAUSE.split(sentence)) if clause]
    return [Said(clause, _QUOTED.sub(" ", clause) if "ou" in clause else clause) for clause in clauses]
