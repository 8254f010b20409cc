"""What a reader sees of a message: its text without hidden parts, tags, link targets and typographical signs."""

import re
import unicodedata

LONGEST = 10_000
"""Characters of a message that are read; nobody reads an answer to the end that is longer."""
_HIDDEN = re.compile(
    r"<(think|thinking|reasoning|scratchpad|tool_call|tool_calls|function_call|tool_response)\b.*?(?:</\1>|\Z)"
    r"|<!--.*?(?:-->|\Z)|~~[^~\n]*~~"
    r"|<([a-z][a-z0-9]{0,15})\s(?=[^<>]{0,300}(?:display\s?:\s?none|visibility\s?:\s?hidden|(?<=\s)hidden\b))"
    r"[^<>]{0,300}>.*?(?:</\2\s?>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_NEW_LINE = re.compile(r"<(?:br\s?/?|/(?:p|div|li|tr|h[1-6]))>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z][a-z0-9]{0,15}(?:\s[^<>]{0,500})?/?>", re.IGNORECASE)
_IMAGE = re.compile(r"!\[[^\[\]\n]{0,200}\](?:\([^()\n]{0,500}\)|\[[^\[\]\n]{0,100}\])")
_LINK = re.compile(r"\[([^\[\]\n]{0,200})\]\([^()\n]{0,500}\)")
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]\n]{1,100}\]:[^\n]*", re.MULTILINE)
_KEYCAP = re.compile("[0-9#*]\ufe0f?\u20e3")
"""A number of a list item, drawn as a key."""
_TYPED = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"),
        **dict.fromkeys("\u2014\u2015", ";"),
        **dict.fromkeys("\u2018\u2019", "'"),
        **dict.fromkeys("\u00a0\u202f", " "),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufe0f\ufeff", None),
    }
)
_THIN = re.compile("(?<=\\d)[\u2009\u202f](?=\\d{3}(?!\\d))")
"""A narrow space between thousands."""


def folded(text: str) -> str:
    """The text as far as it is read: without accents, hidden parts and typographical signs."""
    text = text[:LONGEST]
    if "<" in text or "~~" in text:
        text = _TAG.sub(" ", _NEW_LINE.sub("\n", _HIDDEN.sub(" ", text)))
    if "](" in text or "][" in text or "]:" in text:
        text = _DEFINITION.sub("", _LINK.sub(r"\1", _IMAGE.sub(" ", text)))
    if "\\" in text:
        text = text.replace("\\$", "$")
    if text.isascii():
        return text
    text = _KEYCAP.sub(" ", _THIN.sub(",", text))
    plain = unicodedata.normalize("NFKD", text.translate(_TYPED))
    return "".join(sign for sign in plain if not unicodedata.combining(sign))
