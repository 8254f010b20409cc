"""Whether a text sets a rule aside that it names: as met, as what permits something, or as of no concern."""

import re

_BEFORE = 80
"""Characters before a rule in which it may be set aside."""
_BEHIND = 240
"""Characters behind a rule in which that may be."""
_CLOSED = r"[\])\"'*]*(?:\s*\([^()]{0,80}\))?"
_SUBJECT = (
    rf"{_CLOSED}(?:'s(?: [\w-]+){{1,3}}?|,? (?:on|about|for|regarding|concerning|covering)(?: [\w-]+){{1,4}}?|"
    r",[^,.;:!?]{1,60},)?,?\s*(?:itself |here |alone |though |however |too |also |both |all )?"
)
_ALSO = (
    r"(?:(?:fully|clearly|also|already|indeed|certainly|both|all|each|perfectly|completely|easily|thus|therefore|"
    r"of course|just|still|now|absolutely|definitely|well|entirely|evidently|probably|quite|really|even|"
    r"actually|always|no longer an issue and) )*"
)
_MET = (
    r"(?:met|satisfied|fulfilled|kept|respected|observed|honou?red|complied with|adhered to|fine|ok|okay|good|alright|"
    r"all right|in order|no problem|not a problem|no issue|no obstacle|no hindrance|unproblematic|unbroken|intact|"
    r"not broken|checked and (?:met|ok|okay|fine|satisfied))\b(?! (?:only|until|if|when|as long|unless|by|provided|"
    r"once))"
)
_IS = r"(?:is|are|was|were|(?:has|have|had)(?: [a-z]+ly)? been|'s|'re|would be|will be|seems?|looks?|being)"
_HOLD = (
    r"(?:(?:the|its|their|all|every|each)(?: of)?(?: the| its| their)? (?:\w+ )?(?:conditions?|requirements?|criteria|"
    r"terms)"
    rf" (?:{_IS} {_ALSO}{_MET}|holds?\b))"
)
_HARMLESS = (
    r"(?:is|are|was|were)(?:n't| not| no) (?:(?:really|even|actually) )?(?:in the way|(?:an? |the )?"
    r"(?:obstacle|problem|issue|hindrance|reason|cause|bar)\b|relevant|broken|violated|breached|at issue|applicable|"
    r"concerned|affected|what|why)"
    r"|(?:does|do|did|would|will)(?:n't| not) (?:(?:really|even|actually) )?(?:apply|forbid|prohibit|prevent|stop|bar|"
    r"block|stand in|matter|concern|affect|hinder|exclude|rule (?:it|this|that) out)\b"
    r"|(?:has|have|had) nothing (?:to do|against)"
    r"|(?:raises?|pos(?:es?|ed)|presents?|makes?|ha(?:s|ve|d)|creates?|causes?) no (?:problem|objection|obstacle|"
    r"difficult|"
    r"issue|bar\b)|applies (?:only )?to others"
)
_STANDS_ASIDE = re.compile(
    rf"{_SUBJECT}(?:{_HARMLESS}|{_IS} {_ALSO}{_MET}|(?:has|have) been checked and (?:{_HARMLESS})"
    rf"|[:,=-]+\s*(?:{_HOLD}|{_ALSO}{_MET}|yes\b|pass(?:ed|es)?\b|[\u2713\u2714\u2705\u2611])|"
    rf"[\u2713\u2714\u2705\u2611]"
    rf"|(?:and|where|of which),? {_HOLD})",
    re.IGNORECASE,
)
_PERMITS = re.compile(
    rf"{_SUBJECT}(?:(?:would|does|do|even|clearly|explicitly|also|indeed|certainly) )*(?:"
    r"(?:allow|permit|let|enable|authori[sz]e|entitle|approve|support|cover)s?\b|makes? (?:it|this|that) possible"
    r"|(?:says?|states?)(?: that)? (?:it|this|that|you|i|we)(?:'s| is| can| may| could)\b)",
    re.IGNORECASE,
)
_PLAINLY = re.compile(
    r"\s*(?:it|this|that|so|us to|me to|you to|you do|what you|"
    r"(?:your|the) (?:request|wish|change|move|booking|claim|order)|exactly (?:this|that))\b",
    re.IGNORECASE,
)
_UNDER = re.compile(
    r"\b(?:under|by|per|according to|as per|in line with|in accordance with|thanks to|following|within|based on|given|"
    r"with|pursuant to|on the basis of|because of|due to|as)(?: the| our)?(?: rules?)?[\s\[(*\"']*$",
    re.IGNORECASE,
)
_MAY = re.compile(
    rf"{_CLOSED},?\s*(?:also |indeed )?(?:(?P<plainly>it|this|that|your (?:request|wish|change|move|booking)|"
    rf"all of (?:it|this))|"
    r"i|we|you|(?:the|your|such an?|a) [\w-]+|[a-z]+ing (?:it|that|this))"
    rf"(?:(?:'s|'re|'m| is| are| am| would be| will be| seems) {_ALSO}(?:possible|allowed|permitted|fine|ok|okay|"
    rf"alright|"
    r"all right|no problem|in order|covered|feasible|doable|able to|free to|entitled to)\b"
    r"|(?: (?:can|may|could)\b(?! ?not|'t| only)))",
    re.IGNORECASE,
)
_MEETS = re.compile(
    r"\b(?:(?:meets|satisfies|fulfils|fulfills|respects|(?:complies|conforms|agrees) (?:with|to)|is (?:consistent|"
    r"in line|"
    r"in accordance|compatible) with|is (?:allowed|permitted|covered|ok|okay|fine|possible) (?:under|by|with)|"
    r"(?:does not|doesn't|would not|won't|will not) (?:break|violate|breach|contravene|conflict with|go against)|"
    r"without (?:breaking|violating|breaching))(?: the| our| with)?(?: rules?)?"
    r"|not (?:because of|due to|on account of|under|by)|nothing to do with|regardless of|irrespective of|"
    r"apart from|other than|(?:do not|don't) (?:care|mind|worry|bother)(?: about| with)?)"
    r"(?: the)?(?: rules?)?[\s\[(*\"']*$",
    re.IGNORECASE,
)
_TICKED = re.compile(r"[\u2713\u2714\u2705\u2611][\s\[(*\"']*(?:rule )?[\s\[(*\"']*$", re.IGNORECASE)
_NOR = re.compile(r"\b(?:neither|nor)(?: of)?(?: the| our)?(?: [\w-]+){0,3}?(?: rules?)?[\s\[(*\"']*$", re.IGNORECASE)
_FORBIDS = re.compile(
    r"\b(?:forbids?|prevents?|prohibits?|in the way|broken|violated|breached|problem|issue|stops?|blocks?|appl(?:y|"
    r"ies)|"
    r"against|obstacle|concerned|matters?)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"(?:\b(?:not|cannot|never|only|hardly|nor|neither|no|none|nothing|nobody|unable|impossible)|n't)\b[^.;:!?]{0,60}$",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:whether|if|unless|until|once|when|as soon as|as long as|provided(?: that)?|so that|for|before|where)"
    r"(?: the| our| all of)?(?: rules?)?[\s\[(*\"']*$",
    re.IGNORECASE,
)
_DATES = re.compile(
    r"\d{1,4}(?:(?:st|nd|rd|th)\b|[:.]\d\d(?::\d\d)?|-\d\d-\d\d|\s*(?:[ap]\.?m\b|o'clock))|(?:\d{1,2}\s+)?"
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\b(?:\s+\d{1,2}\b)?(?:,?\s+\d{4}\b)?",
    re.IGNORECASE,
)
_LIMITS = re.compile(
    r"\b(?:only|just|at most|up to|max(?:imum)?|no more|no later|not|within|before|until|till|unless|after|if|when|"
    r"while|"
    r"where|provided|as long as|once|twice|single|few|per|each|earlie(?:r|st)|latest|min(?:imum)?|at least|between|"
    r"less|"
    r"fewer|more than|nothing|none|no|never|except|instead|limited|others?|another|different|certain|specific|some|"
    r"alternatively|from|one|two|three|four|five|six|seven|eight|nine|ten)\b|n't\b|\d",
    re.IGNORECASE,
)
_END = re.compile(r"[.!?;](?:\s|$)|\n|\b(?:but|though|although|however|and (?:i|so|it)|so (?:i|it))\b", re.IGNORECASE)
_BUT = re.compile(r"\bbut (?:only|not|no more|no later|at most|just|never|within|up to)\b", re.IGNORECASE)
_SEVERAL = re.compile(rf"{_CLOSED},?\s*(?:are|were|have|do|don't|allow|permit|both|all|pose|raise)\b", re.IGNORECASE)


def is_set_aside(text: str, start: int, end: int, refuses: bool) -> bool:
    """Whether the rule from `start` to `end` is; `refuses` tells whether the text declines something at all."""
    before, behind = text[max(start - _BEFORE, 0) : start], text[end : end + _BEHIND]
    if _NOR.search(before):
        return _FORBIDS.search(behind) is not None
    meets = _MEETS.search(before)
    if meets and not _NEGATED.search(before[: meets.start()]):
        return True
    if _CONDITION.search(before):
        return False
    return (
        _STANDS_ASIDE.match(behind) is not None or _TICKED.search(before) is not None or _lets(before, behind, refuses)
    )


def is_said_of_several(text: str, end: int) -> bool:
    """Whether what follows a rule is said of it and of those named before it: `are met`."""
    return _SEVERAL.match(text, end) is not None


def _lets(before: str, behind: str, refuses: bool) -> bool:
    """Whether the rule is said to permit something, without a limit. Where the text declines, what it permits beside is
    read only if it is the very request."""
    match = _PERMITS.match(behind)
    plainly = match is not None and _PLAINLY.match(behind, match.end()) is not None
    if match is None and _UNDER.search(before):
        match = _MAY.match(behind)
        plainly = match is not None and match["plainly"] is not None
    if match is None or (refuses and not plainly):
        return False
    rest = behind[match.end() :]
    end = _END.search(rest)
    if end is not None and not _BUT.match(rest, end.start()):
        rest = rest[: end.start()]
    return _LIMITS.search(_DATES.sub(" ", rest)) is None
