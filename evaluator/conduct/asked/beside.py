"""What stands in a question beside what it asks for: who is calling, what an answer is for, why something is wanted.

Who asks for a date of birth to find somebody's record asks for no other date, and for no record of theirs.
"""

import re
from collections.abc import Iterator

IDENTITY = ("date_of_birth", "birth_date", "email", "phone", "phone_number", "postcode", "address", "full_name")
"""Columns by which callers are known."""
_TO_FIND = (
    r"(?:find|look|locate|identify|verify|authenticate|recogni[sz]e|pull|access|retrieve|bring up|get into|open|sign|"
    r"log|know (?:who|whom)|make sure|help you|assist you|proceed|continue|go on|do (?:this|that|so)|process|"
    r"start with)"
)
_AS_FAR = (
    r"(?:[^,?;]|,(?=\s*(?:the|your|or|and) ))*?"
    r"(?=\b(?:i(?:'ll|'d| will| would)? (?:also )?need|please|kindly|could|can|may|might|what|which|when|tell|give)\b|"
    r",(?!\s*(?:the|your|or|and) )|[?;]|$)"
)
"""As far as a purpose goes, with lists of things."""
_PURPOSE = re.compile(
    rf"\bso(?: that|,)? (?:i|we)\b(?!'[dl])(?! (?:ask|need|would))[^?;]*|\bin order (?:to|that|for)\b{_AS_FAR}"
    rf"|^\W*(?:(?:sure|okay|ok|certainly|of course|thanks?|thank you|and|now|then)\W+)*"
    rf"(?:(?:in order )?to (?!which\b|what\b|whom\b)\w+|before i\b|before we\b|for (?:me|us) to\b){_AS_FAR},?"
    rf"|,? (?<!like )(?<!want )(?<!need )(?<!wish )(?<!have )to {_TO_FIND}\b[^,?;]*",
    re.IGNORECASE,
)
"""`So that I can look up your invoice`, `To find your rental, ...`"""
_WHOSE = (
    r"(?:(?:the|a|an|your|my|or|full|first|last|given|family|own|legal|registered|current|home|postal|billing|mobile|"
    r"contact|email|e-mail|complete|account holder's|caller's)\s+)*"
)
_WHO = (
    r"(?:dates? of birth|birth ?dates?|birthda(?:y|te)s?|d\.?o\.?b\b\.?|(?:tele)?phone(?: numbers?)?|"
    r"mobile(?: numbers?)?|"
    r"cell(?:phone)?(?: numbers?)?|contact (?:numbers?|details)|numbers? (?:on file|you (?:called|registered) \w+)|"
    r"e-?mails?(?: address(?:es)?)?|post ?codes?|postal codes?|zip(?: codes?)?|addresse?s?|"
    r"surname|(?:full|first|last|family|given) names?|identity|id (?:card|document)|passport(?: numbers?)?|"
    r"(?:customer|member|membership|patient|guest|client)(?:'s)? (?:number|id)s?|account holder)"
)
_NAME = r"names?(?! of\b| is it\b| of the\b)"
_JOINT = r"(?:\s*(?:,|&|/|;|\+|\band\b|\bor\b|\bplus\b|\bas well as\b|\balong with\b|\btogether with\b)\s*)+"
_OF_CALLER = re.compile(
    rf"\b(?:your|the caller's|the account holder's)\s+(?!new\b){_WHOSE}(?:{_WHO}|{_NAME})"
    rf"(?:{_JOINT}{_WHOSE}(?:{_WHO}|{_NAME})(?!\s+of\b))*",
    re.IGNORECASE,
)
"""`Your full name, phone and date of birth`."""
_SEVERAL = re.compile(
    rf"\b{_WHOSE}(?:{_WHO}|{_NAME}){_JOINT}{_WHOSE}{_WHO}(?:{_JOINT}{_WHOSE}(?:{_WHO}|{_NAME}))*"
    rf"|\b{_WHOSE}{_WHO}{_JOINT}{_WHOSE}(?:{_WHO}|{_NAME})",
    re.IGNORECASE,
)
"""`Phone and date of birth`: by several such a person is known."""
_ANY = re.compile(
    rf"(?<!'s )\b{_WHOSE}{_WHO}|\b(?:under (?:which|what) name|(?:whose|which|what) name is (?:it|this|"
    rf"the \w+) (?:under|in)"
    r"|names? (?:on|in|under|for) (?:the|your|this) (?:account|booking|record|reservation|file|profile|registration)"
    r"|who(?:m)? (?:am i|are you|is (?:this|calling|speaking)|i am (?:speaking|talking)|(?:i'm|do i have)\b[^?]*)"
    r"|(?:when|where) were you born|how old are you)\b",
    re.IGNORECASE,
)
_LEFT_OVER = re.compile(r"\b(?:when|what)(?:'s| is| was| are)\s*(?=[?,.;]|\b(?:and|or)\b|$)", re.IGNORECASE)
"""`When is`, where a birthday was asked for."""
_WH = r"what|which|when|where|who|whom|whose|why|how"
_NEXT = re.compile(
    rf"[,;:]\s+(?=(?:(?:and|also|then|but|so)\s+)*(?:(?:by|at|on|for|in|to|until|from)\s+)?(?:{_WH})\b)"
    rf"|\s+(?=(?:and|but)\s+(?:(?:also|then|by|at|on|for|in|to|until|from)\s+)*(?:{_WH})\b)"
    r"|[,;]\s+(?=(?:and\s+|also\s+)*(?:please|could you|can you|would you|may i|can i|shall i|should i|do you|is it|"
    r"i need)\b)",
    re.IGNORECASE,
)
_FOLDED_IN = re.compile(r"\b(?:whether|if)\b(?![^?]*\bor\b)[^?]*", re.IGNORECASE)
"""`Could you tell me if you like it?`"""
_KNOWS = re.compile(
    r"\b(?:do|did|don't) you (?:already |perhaps |happen to )*know (?:how (?!much\b|many\b|old\b|long\b|you\b)|"
    r"that\b|about\b)"
    r"[^?]*|\bare you aware\b[^?]*|\bhave you heard\b[^?]*"
    r"|\bhow (?:do|does|did|can|will) (?:the|a|an|this|that|it|our|your)\b[^?]*\bworks?\b[^?]*",
    re.IGNORECASE,
)
"""Asks what somebody knows: `Do you know how the deposit works?`"""
_MORE = re.compile(
    r"\b(?:any|some)(?:thing|body|one|where)? (?:other|else)\b[^?]*|\b(?:what|how) else\b[^?]*", re.IGNORECASE
)
"""`Is there any other way in which I can help you?`"""


def clauses(question: str) -> Iterator[str]:
    """The parts of a question that each ask for something of their own, without what an answer is for."""
    text = _MORE.sub(" ", _KNOWS.sub(" ", _FOLDED_IN.sub(" ", _PURPOSE.sub(" ", question))))
    yield from filter(str.strip, _NEXT.split(text))


def without_caller(clause: str, column: str) -> str:
    """The clause without what callers are known by; of a column that is such, without what says that it is theirs."""
    if column in ("email", "phone", "phone_number", "postcode", "address"):
        return _SEVERAL.sub(" ", clause)
    if not any(column.endswith(one) for one in IDENTITY):
        return _LEFT_OVER.sub(" ", _ANY.sub(" ", _SEVERAL.sub(" ", _OF_CALLER.sub(" ", clause))))
    return _SEVERAL.sub(" ", _OF_CALLER.sub(" ", clause))
