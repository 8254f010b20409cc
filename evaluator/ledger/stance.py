"""How a clause stands to what it mentions: whether it asserts or asks, chooses or reports."""

import re

_HARMLESS = re.compile(
    r"\b(?:no (?:problem|worries|rush|hurry)|not a problem|(?:do not|don't|wouldn't|would not) mind|why not|"
    r"can't wait|if (?:possible|that's (?:ok|okay|alright|all right|fine)|you can|i may|i could))\b",
    re.I,
)
_DENIES = re.compile(
    r"\b(?:no|not|cannot|never|nor|neither|none|nothing|without|instead of|rather than|wrong|unless|if|except|"
    r"other than|"
    r"unfortunately|wasn't|blocked|earlier you|you (?:said|say|told|mentioned|wrote|offered)|said|told|thought|why|"
    r"hmm)\b"
    r"|n't\b|\bnt\b|\b(?:cant|dont|wont|doesnt|isnt)\b|\btoo (?:early|late|far|long|short|expensive|small|big|much|"
    r"soon)|\b(?:early|late) for\b|\ba day (?:too|early|late)",
    re.I,
)
_REQUEST = re.compile(
    r"\b(?:can|could|would|will|may|shall) (?:you|we|i)\b(?: \w+)? (?:please |then |just )*(?:book|take|move|have|"
    r"get|put|switch|change|do|pay|reserve|use)\b",
    re.I,
)
_ASKS = re.compile(
    r"^(?:and |so |but |then |ok(?:ay)?,? |well,? )*(?:why|what|when|where|who|whose|which|how|is|are|was|were|do|"
    r"does|did|can|could|would|will|should|may|has|have you|so you)\b",
    re.I,
)
_CHOOSES = re.compile(
    r"\b(?:yes|yeah|yep|yup|sure|ok|okay|fine|works|(?:would|will|could|can|does|should) work|good|great|perfect|"
    r"please|pls|book|take|go (?:ahead|with|for)|let's|lets|"
    r"confirm(?:ed)?|correct|right|i'll|i will|i'd like|i want|i need|prefer|alright|deal|agreed|it is|suits?|better|"
    r"best|easiest|"
    r"switch|move|change|make it|that one|then|start|do)\b",
    re.I,
)
_OFFERS = re.compile(
    r"\b(?:available|availability|offer|instead|suit|alternatives?|free on|is free|openings?|earliest|next (?:free|"
    r"one)|how about|"
    r"what about|could do|can do|would (?:one|that|this|either|it)|which (?:one|of)|rather|also have|there (?:is|"
    r"are))\b",
    re.I,
)


def asserts(clause: str) -> bool:
    """Whether the clause says that something is or shall be so: no denial, no question, no report."""
    clause = _HARMLESS.sub("", clause)
    if _DENIES.search(clause):
        return False
    return bool(_REQUEST.search(clause)) or not ("?" in clause or _ASKS.search(clause))


def chooses(clause: str) -> bool:
    """Whether an asserting clause agrees to, or asks for, what it names."""
    return bool(_CHOOSES.search(clause)) or bool(_REQUEST.search(clause))


def offers(passage: str) -> bool:
    """Whether the assistant puts something up for choice there."""
    return bool(_OFFERS.search(passage))
