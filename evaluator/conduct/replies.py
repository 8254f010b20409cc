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
    r"(?:ok|okay|fine|all right|alright|possible|correct|right|what|how|no trouble|for you|the one)\b"
    r"|(?:that|it) works(?: for you)?(?=\s*(?:$|[,.!?;:\n-])))"
    r"|(?<!only )\bif (?:that|it|this|[\w ]{3,40}?) (?:really )?(?:has to|must|needs?) (?:\w+ ){0,4}first\b"
    r"|\bas long as (?:it takes|you (?:need|like))\b"
)
_START = r"(?:^|[.!?,;:\n(-]\s*|\b(?:please|but|oh|no|ok|okay|actually|then|yes)[ ,]+)"
_END = r"(?=\s*(?:$|[,.!?;:\n-]))"
_WISH = r"(?:it|that|this|to (?:go ahead|proceed|continue|do (?:it|that|this)|confirm))\b"
_THOUGHT = r"(?: (?:that's|that is|it's|it is|this is) (?:\w+ )?(?:right|correct|fine|ok|okay|good|great|it)\b)?"
"""What is denied in `I don't think that's it`."""
_I_REFUSE = (
    rf"i (?:(?:really )?{_DONT} (?:\w+ )?(?:agree|wish|think|confirm|accept)\b{_THOUGHT}"
    rf"|(?:really )?(?:{_DONT}|wouldn't|would not) (?:\w+ )?(?:want|like|need) {_WISH}"
    r"|(?:cannot|can't|can not|won't|will not|would not|wouldn't) (?:\w+ )?(?:agree|confirm|accept|go ahead)\b"
    r"|refuse\b|decline\b|(?:rather|prefer) (?!that one|this one|not to wait))"
)
_NO = (
    r"no(?: way)?\b(?=\s*(?:$|[,.!?;:\n-])|\s+(?:i|thanks?|that|this|it|you|we|please|sorry|wait|not|don't|stop|to)\b)"
    r"|no (?:thank you|thanks|chance)\b|nope\b|nah\b|under no circumstances\b|by no means\b"
)
_NOT = (
    rf"not (?:(?:yet|now|that|this|today|tonight|tomorrow)\b(?:{_END}|\s+(?:please|thanks?|at))|so fast\b"
    r"|(?:at|for) (?:that|this)\b|(?:quite |at all |really |entirely )?"
    r"(?:sure|right|correct|ok|okay|fine|good|what (?:i|we)\b|that one|this one|confirmed|convinced|decided))"
    r"|(?:rather|better|let's|lets|let us|absolutely|certainly|definitely|surely|of course|probably|preferably|but) "
    r"not\b"
    r"|(?:isn't|wasn't|is not|aren't) (?:quite )?(?:right|correct|what (?:i|we)\b|ok|okay)"
)
_PUTS_OFF = (
    r"hold on\b|hold off\b|hang on\b|never ?mind\b|(?:maybe|perhaps) (?:later|another|some other|next|not)\b"
    r"|(?:some|an)other time\b|(?:get|come) back to you\b|(?:i'd|i would) (?:rather|prefer) "
    r"(?!that one|this one|not to wait)|(?:want|like) to (?:think|consider|sleep on)\b"
    r"|(?:let me|need(?: some)? time to|(?:need|have) to) (?:think|check(?! in\b| out\b)|ask|consider|sleep on|talk)\b"
)
_REJECTS = (
    r"changed? my mind\b|incorrect\b|unsure\b|(?:that's|that is|it's|the) wrong\b"
    r"|leave (?:it|that|this|everything)\b(?: (?:be|alone|out|as it (?:is|was)|as is)\b|(?=\s*(?:$|[,.!?;:\n-])))"
    rf"|forget (?:it|that|about it|i (?:asked|said)(?: \w+)?){_END}"
    r"|too (?:expensive|much|costly|dear|pricey|early|late|soon|far)\b"
    r"|only if\b|provided (?:that|there|it|no)\b|unless\b"
)
_AT_ONCE = (
    rf"{_START}(?:{_DONT}\b(?: \w+){{0,3}}|wait\b(?! for\b)"
    r"|stop\b(?=\s*(?:$|[,.!?;:\n-])|\s+(?:there|right|now|please|doing|what)\b)"
    r"|i(?:'m| am) (?:good|fine|all right|ok),? thank|(?:skip|scrap) (?:it|that|this)\b)"
)
"""Refuses where a sentence, or what follows a comma, begins with it."""
_REFUSES = rf"{_AT_ONCE}|\b(?:{_I_REFUSE}|{_NO}|{_NOT}|{_PUTS_OFF}|{_REJECTS})"
_CANCELS = rf"|{_START}(?:cancel|call off|stop|drop) (?:it|that|this|everything)\b"
_SURELY = (
    r"(?:yes|yeah|yep|yup|go ahead|go on|go for it|proceed|by all means|please do|do (?:it|that|so)|"
    r"i (?:do )?(?:confirm|agree|accept)|confirmed|(?<!we )agreed|let's do)\b"
)
_ORDER = r"(?:book|make|take|pay|move|cancel|change|order|send) (?:it|that|this|them|me)\b"
"""A yes, unless a no stands before it: then it is another wish."""
_PERHAPS = (
    r"(?:sure|certainly|absolutely|definitely|exactly|of course|correct|ok|okay|alright|all right|"
    r"sounds (?:good|great|right|fine)|perfect|(?:that|this|it|which) (?:works|suits)|"
    r"(?:that's|that is|that will be|it's|it is|that would be) "
    r"(?:all |quite |perfectly |absolutely )?(?:right|correct|fine|ok|okay|good|great|it))\b"
)
_GLADLY = rf"{_START}(?:fine|good|great|lovely)\b"
_UNWILLING = re.compile(
    rf"\b(?=[iats])(?:i (?:really |also )?(?:{_DONT}|would not|wouldn't|cannot|can't|can not|won't|"
    rf"will not) (?:\w+ )?(?:want|like|need|do)\b"
    r"|the other \w+|(?:something|somebody|another|a different) \w+)"
)
"""Refuses where nothing agrees before it."""
_CONDITION = re.compile(
    rf"(?:\b(?:{_SURELY}|{_ORDER}|{_PERHAPS})|{_GLADLY})[^.!?;]{{0,40}}?\b(?:if|as long as|so long as)\b"
)
_IF = re.compile(r"if\b|long as\b")
_YES = rf"\b(?P<order>{_ORDER})|(?P<agrees>\b(?:{_SURELY}|{_PERHAPS})|{_GLADLY})"
_CUE = re.compile(rf"(?P<refuses>{_REFUSES}{_CANCELS})|{_YES}")
_CUE_OF_UNDOING = re.compile(rf"(?P<refuses>{_REFUSES})|{_YES}")
_SURE = re.compile(rf"\b(?:{_SURELY}|{_ORDER})")
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
    text = answer[-LONGEST:].casefold()
    if not text.isascii():
        text = text.translate(_TYPED)
    if "#" in text:
        text = _MARK.sub(" ", text)
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
    if has_refused or (_IF.search(sentence) and _CONDITION.search(sentence)):
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
