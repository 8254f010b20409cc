"""Words with which an agent says no."""

import re

_DENIES = re.compile(
    r"\b(?:cannot|can ?not|can't|cant|could(?: not|n't)|unable|not able|impossible|"
    r"not (?:be )?(?:possible|allowed|permitted|available|eligible|able|something|in a position)|"
    r"isn't (?:possible|allowed|permitted|something|an option)|no way|"
    r"(?:does|do|did|would|will)(?: not|n't) (?:allow|permit|let|work|have|offer)|(?:would|will|must) (?:not|break)|"
    r"forbids?|forbidden|forbade|prohibit\w*|prevents?|prevented|blocks|rul(?:es?|ed|ing)"
    r" (?:it|this|that|\w+ \w+)? ?out|stops? (?:me|us|you|this|that|it)|"
    r"against (?:the|our|a|any|rules?|policy|R\d)|declin\w*|refus\w*|turn (?:it|this|that) down|"
    r"won't|wouldn't|may not|must not|mustn't|am not|"
    r"(?:have|has|had|did|was|were)(?: not|n't)(?! only)|not going to|no longer|has to stay|say no|too late)(?!\w)",
    re.IGNORECASE,
)
_TURNS_DOWN = re.compile(
    r"\b(?:unfortunately|regrettably|afraid|sorry|regret|apologi\w+|too|only|at most|at least|exceed\w*|limit\w*|"
    r"maximum|minimum|unless|must|ha(?:s|ve) to|needs? to|instead|break(?:s|ing)?|broken|breach\w*|violat\w*|against|"
    r"stays?|remains?|unchanged|fails?|never|not|no|none|nothing|neither|nor|without|already|cannot|can't|unable|"
    r"forbid\w*|prohibit\w*|prevent\w*|declin\w*|refus\w*|in (?:the|its|your) way|stands? against)\b|n't\b",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"\b(?:no (?:problems?|worries|trouble|doubt|issues?|obstacles?|objections?)|not a problem|not to worry|"
    r"(?:do not|don't|needn't|need not|no need to|never) (?:worry|mind|hesitate)|not only|no longer in the way|"
    r"cannot thank|can't thank|(?:isn't|is not|does not|doesn't) (?:in the way|stand|forbid|prevent|prohibit|apply)\w*|"
    r"(?:sorry|apologi\w+) for the (?:wait|delay)|sorry to have kept|only applies to|applies only to)\b",
    re.IGNORECASE,
)


def denies(text: str) -> bool:
    """Whether it says that something is not done, not possible or not allowed."""
    return _DENIES.search(without_harmless(text)) is not None


def turns_down(text: str) -> bool:
    """Whether it says, or hints, that something stands in the way."""
    text = without_harmless(text)
    return _TURNS_DOWN.search(text) is not None or _DENIES.search(text) is not None


def without_harmless(text: str) -> str:
    """The text without noes that deny nothing: `no worries`."""
    return _HARMLESS.sub(" ", text)
