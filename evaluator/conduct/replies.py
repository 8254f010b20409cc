"""Replies: whether a user's answer is a refusal of what the agent has put to them.

Read sentence by sentence; the last plain yes or no counts. A refusal is also what puts off, wants something else, or
agrees on a condition, and an answer that only asks back: nobody has said yes. What the user does not want or cannot do
(`I don't want to lose it`) refuses only where no yes came before it. Words that say neither let the agent go on.
"""

import re
from typing import Literal

LONGEST = 2000
"""Characters of an answer that are read, from its end."""
_MARK = re.compile(r"#+\w+#+")
_TYPED = str.maketrans({"\u2019": "'", "\u2018": "'", "\u2014": "-", "\u2013": "-"})
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_DONT = r"(?:don't|do not|dont)"
_HARMLESS = re.compile(
    r"\b(?:no|not a) (?:problem|worries|rush|hurry|doubt|objections?|need|(?:\w+ )?questions?|changes?|"
    r"preference|bad idea)\b"
    r"|\bwhy not\b\??|\b(?:can't|cannot|can not) (?:wait|think of (?:any|a) reason)\b|\b(?:happy|glad) to wait\b"
    r"|\breasons? not to\b"
    rf"|\b(?:{_DONT}|wouldn't|would not) (?:mind|worry|hesitate|forget|bother|wait|delay|be long)\b"
    rf"|\b{_DONT} (?:know|see (?:why|any)|(?:want|need) (?:anything|to (?:wait|keep|bother|hold|rush|trouble|take)))\b"
    rf"|\b(?:won't|will not|{_DONT}) change my mind\b"
    r"|\brather not (?:ask|wait|repeat)\b|\bstop (?:asking|waiting)\b"
    rf"|\band no,? (?=i (?:{_DONT}|won't|will not) (?:need|want|have) (?!it\b|that\b|this\b|to\b))"
    r"|\b(?:i'm|i am) not in a (?:hurry|rush)\b"
    r"|\bif (?:so\b|possible\b|needed\b|necessary\b|i (?:may|can|could)\b|you (?:can|could|would|will|like|please|want"
    r"|don't mind|wouldn't mind|have to|need)\b|(?:that|it)(?:'s| is| works| was)? "
    r"(?:ok|okay|fine|all right|alright|possible|correct|right|what|how|no trouble|for you|the one)\b)"
    r"|\bas long as (?:it takes|you (?:need|like))\b"
)
_START = r"(?:^|[.!?,;:\n(-]\s*|\b(?:please|but|oh|no|ok|okay|actually|then|yes)[ ,]+)"
_END = r"(?=\s*(?:$|[,.!?;:\n-]))"
_REFUSES = (
    rf"{_START}{_DONT}\b(?:[ ]\w+){{0,3}}"
    rf"|\bi (?:really )?{_DONT} (?:\w+ )?(?:agree|wish|think|confirm|accept)\b"
    r"|\bi (?:cannot|can't|can not|won't|will not|would not|wouldn't) (?:\w+ )?(?:agree|confirm|accept|go ahead)\b"
    rf"|\bi (?:really )?(?:{_DONT}|wouldn't|would not) (?:\w+ )?(?:want|like|need) "
    r"(?:it\b|that\b|this\b|to (?:go ahead|proceed|continue|do (?:it|that|this)|confirm)\b)"
    r"|\bno(?: way)?\b(?=\s*(?:$|[,.!?;:\n-])|\s+(?:i|thanks?|that|this|it|you|we|please|sorry|wait|not|don't|"
    r"stop|to)\b)"
    r"|\b(?:nope|nah|no thank you|no thanks)\b"
    rf"|{_START}(?:wait\b(?! for\b)|stop\b(?=\s*(?:$|[,.!?;:\n-])|\s+(?:there|right|now|please|doing|what)\b))"
    r"|\b(?:hold on|hold off|hang on|never ?mind|not so fast|(?:rather|better|let's|lets|let us|absolutely|certainly|"
    rf"definitely|surely|of course|probably|preferably) not)\b|\bforget (?:it|that|about it|i (?:asked|"
    rf"said)(?: \w+)?){_END}"
    r"|\bunder no circumstances\b|\bby no means\b|\bno chance\b"
    r"|\bi (?:refuse|decline)\b"
    rf"|\bnot (?:yet|now|that|this|today|tonight|tomorrow)\b(?:{_END}|\s+(?:please|thanks?|at))"
    r"|\b(?:but not|not (?:at|for) (?:that|this))\b"
    r"|\bnot (?:quite |at all |really |entirely )?"
    r"(?:sure|right|correct|ok|okay|fine|good|what (?:i|we)\b|that one|this one|confirmed|convinced|decided)"
    r"|\b(?:isn't|wasn't|is not|aren't) (?:quite )?(?:right|correct|what (?:i|we)\b|ok|okay)"
    r"|\bchanged? my mind\b|\b(?:incorrect|unsure)\b|\b(?:that's|that is|it's|the) wrong\b"
    r"|\bleave (?:it|that|this|everything)\b(?: (?:be|alone|out|as it (?:is|was)|as is)\b|(?=\s*(?:$|[,.!?;:\n-])))"
    rf"|{_START}i(?:'m| am) (?:good|fine|all right|ok),? thank"
    rf"|{_START}(?:skip|scrap|drop) (?:it|that|this)\b"
    r"|\btoo (?:expensive|much|costly|dear|pricey|early|late|soon|far)\b"
    r"|\b(?:maybe|perhaps) (?:later|another|some other|next|not)\b|\b(?:some|an)other time\b"
    r"|\b(?:let me|need(?: some)? time to|(?:need|want|have|like) to) (?:think|check|ask|consider|sleep on|talk)\b"
    r"|\b(?:get|come) back to you\b"
    r"|\b(?:i'd|i would|i) (?:rather|prefer) (?!that one|this one|not to wait)"
    r"|\bonly if\b|\bprovided\b|\bunless\b"
)
_CANCELS = rf"|{_START}(?:cancel|call off|stop) (?:it|that|this|everything)\b"
_SURELY = (
    r"\b(?:yes|yeah|yep|yup|go ahead|go on|go for it|proceed|by all means|please do|do (?:it|that|so)|"
    r"i (?:do )?(?:confirm|agree|accept)|confirmed|(?<!we )agreed|let's do)\b"
)
_ORDER = r"\b(?:book|make|take|pay|move|cancel|change|order|send) (?:it|that|this|them|me)\b"
"""A yes, unless a no stands before it: then it is another wish."""
_PERHAPS = (
    r"\b(?:sure|certainly|absolutely|definitely|exactly|of course|correct|ok|okay|alright|all right|"
    r"sounds (?:good|great|right|fine)|perfect|(?:that|this|it|which) (?:works|suits)|"
    r"(?:that's|that is|that will be|it's|it is|that would be) "
    r"(?:all |quite |perfectly |absolutely )?(?:right|correct|fine|ok|okay|good|great|it))\b"
    rf"|{_START}(?:fine|good|great|lovely)\b"
)
_UNWILLING = re.compile(
    rf"\bi (?:really |also )?(?:{_DONT}|would not|wouldn't|cannot|can't|can not|won't|"
    rf"will not) (?:\w+ )?(?:want|like|need|do)\b"
    r"|\bthe other (?:one|\w+)|\b(?:something|somebody|another|a different) \w+"
)
"""Refuses where nothing agrees before it."""
_CONDITION = re.compile(rf"(?:{_SURELY}|{_ORDER}|{_PERHAPS})[^.!?;]{{0,40}}?\b(?:if|as long as|so long as)\b")
_YES = rf"(?P<order>{_ORDER})|(?P<agrees>{_SURELY}|{_PERHAPS})"
_CUE = re.compile(rf"(?P<refuses>{_REFUSES}{_CANCELS})|{_YES}")
_CUE_OF_UNDOING = re.compile(rf"(?P<refuses>{_REFUSES})|{_YES}")
_SURE = re.compile(rf"{_SURELY}|{_ORDER}")
_ORDERS = re.compile(
    r"\b(?:can|could|would|will) you (?:please |just |kindly )*(?!tell|say|explain|repeat|clarify|wait|show|"
    r"give|hold|check|let|also tell)\w+"
)
_BUT = re.compile(r"\b(?:but|although|however|except|though)\b")
_MUSING = re.compile(r"\W*(?:hm+|um+|uh+|er+|well|so)\W*$")
_Stance = Literal["agrees", "refuses", "asks"] | None


def is_refusal(answer: str, *, undoes: bool = False) -> bool:
    """Whether an answer refuses, or is no answer. `undoes`: what was put to them calls something off: `cancel that`
    is a yes."""
    text = _MARK.sub(" ", answer[-LONGEST:].translate(_TYPED)).casefold()
    if _MUSING.match(text):
        return True
    stance: _Stance = None
    for sentence in _SENTENCE.split(_HARMLESS.sub(" ", text)):
        stance = _stance(sentence, stance, undoes=undoes) or stance
    return stance in ("refuses", "asks")


def _stance(sentence: str, before: _Stance, *, undoes: bool) -> _Stance:
    """How a sentence stands to what was asked; None: it says nothing of it."""
    cues: list[re.Match[str]] = []
    for cue in (_CUE_OF_UNDOING if undoes else _CUE).finditer(sentence):
        if cue["order"] is None or not any(earlier["refuses"] for earlier in cues):
            cues.append(cue)
    has_refused = bool(cues) and cues[-1]["refuses"] is not None
    if sentence.rstrip(" )\"'").endswith("?"):
        return _of_question(sentence, before, has_refused=has_refused)
    if has_refused or _CONDITION.search(sentence):
        return "refuses"
    unwilling = _UNWILLING.search(sentence)
    if not cues:
        return "refuses" if unwilling and before != "agrees" else None
    if unwilling and unwilling.start() > cues[-1].end() and _BUT.search(sentence, cues[-1].end(), unwilling.start()):
        return "refuses"
    return "agrees"


def _of_question(sentence: str, before: _Stance, *, has_refused: bool) -> _Stance:
    if has_refused:
        return "refuses"
    if _ORDERS.search(sentence) or (_SURE.search(sentence) and not _BUT.search(sentence)):
        return "agrees"
    return before or "asks"
