"""Words by which people ask for facts, by the words of the facts' columns, and kinds of questions."""

import re

DATED = re.compile(r"\d{4}-\d\d-\d\d")
STEM = 5
WORD = re.compile(r"[^\W_]+")
TAILS = ("_at", "_on", "_id", "_name", "_cents", "_kg")
ROWS_APART = ("_at", "_on", "_id", "_name")
"""Endings of columns for which one asks by naming the row: which appointment?"""
_DEEDS = """accept add apply approve assign book buy cancel change check claim_ close confirm create end enrol expedite
extend find get give hire identify join leave let list make move open pay place put rebook redeem register
remove renew rent request reserve return search send set show start stop submit subscribe switch take top
update upgrade verify withdraw"""
DEEDS = frozenset(_DEEDS.split())
"""First words of tools; an argument of a call is no row."""
DEEDS_OR_THINGS = ("order", "report", "file", "claim", "test", "scan", "refill", "schedule", "transfer")
_NO_NOUN = """before after requested new in out on at by is has latest next last first"""
NO_NOUN = frozenset(_NO_NOUN.split())
"""Words of columns that alone ask for nothing."""
ALSO_CALLED = {"invoice": "bill"}
"""Things, and another word for them."""
BEHIND = (
    r"(?=\W*$|\W+(?:name|time|date|day|moment|is|are|be|was|were|would|will|should|shall|please|and|or|that|"
    r"which|you|"
    r"your|it|for|of|do|does|suits?|called|we|i|as|to|so)\b|[,;:(?!.])"
)
"""What can follow a noun that is not part of another: `the return`, not `the return branch`."""
MOMENT = re.compile(
    r"\b(?:when|dates?|days?|times?|mornings?|afternoons?|evenings?|deadline|(?:mon|tues|wednes|thurs|fri|satur|"
    r"sun)day)\b",
    re.IGNORECASE,
)
NOT_WHEN = re.compile(
    r"\bhow (?:many|often) (?:\w+ )?(?:times?|days?)\b|\b(?:this|that|each|every|any) time\b", re.IGNORECASE
)
STARTS = (
    r"start\w*|begin\w*|arriv\w*|check(?:ing|ed)?[- ]?in|pick(?:ing|ed)?[- ]?(?:(?:it|the \w+|your \w+) )?up|pickup|"
    r"collect\w*"
)
ENDS = (
    r"end|ends|ending|finish\w*|until|till|check(?:ing|ed)?[- ]?out|return\w*|give it back|drop\w*[- ]off|"
    r"last (?:day|night)|back|expir\w*|(?:how|this|that) long"
)
ABOUT = {
    "start": re.compile(rf"\b(?:{STARTS})\b", re.IGNORECASE),
    "end": re.compile(rf"\b(?:{ENDS})\b", re.IGNORECASE),
    "away": re.compile(r"\b(?:leav\w+|depart\w*|fly\w*|go(?:ing)? away)\b", re.IGNORECASE),
    "due": re.compile(r"\b(?:due|deadline|by when)\b", re.IGNORECASE),
    "past": re.compile(
        r"\b(?:happen\w*|occur\w*|incident|accident|treated|visited|took place|(?:when|day|date) (?:was|were|did))\b",
        re.IGNORECASE,
    ),
    "made": re.compile(
        r"\b(?:did|have) you (?:buy|bought|book|booked|order|ordered|purchas\w+|place|placed|take it out|make|made)\b"
        r"|\bissued\b",
        re.IGNORECASE,
    ),
    "birth": re.compile(r"\b(?:born|birth\w*|dob)\b", re.IGNORECASE),
    "new": re.compile(
        r"\b(?:(?<!to a )(?<!to the )(?<!for a )(?:new|slot)|instead|(?:move|moved|change|shift|"
        r"reschedule)(?: it)? to "
        r"(?!an?\b))\b",
        re.IGNORECASE,
    ),
    "old": re.compile(
        r"\b(?:current|existing|present|(?<!how )old|original|already|(?:booked|ordered) (?:times?|dates?|days?))\b",
        re.IGNORECASE,
    ),
}
"""What a question for a moment can be about."""
FITS = {
    "check_in": ("start", "new"),
    "check_out": ("end", "away", "new"),
    "pickup": ("start", "new"),
    "return": ("end", "new"),
    "starts": ("start", "away", "due", "past", "old"),
    "departs": ("start", "away"),
    "ends": ("end", "new", "away"),
    "due": ("due", "end", "new"),
    "latest": ("due", "end", "new"),
    "birth": ("birth", "new"),
    "planned": ("start", "due", "new"),
    "incident": ("past",),
    "occurred": ("past",),
    "service": ("past",),
    "issued": ("past", "old", "made"),
    "booked": ("past", "old", "made"),
    "bought": ("past", "old", "made"),
    "ordered": ("past", "old", "made"),
}
"""Words of columns, and what a question for them may be about beside themselves."""
FITS_ANY = ("start", "due", "past", "end", "old")
HAPPENED = ("incident", "occurred", "service")
"""What has happened: a question for it is about nothing else."""
FOREIGN = frozenset({"birth", "made", "new"})
HUES = frozenset({"new", "old"})
CHOSEN_ANEW = frozenset({"slot", "windo", "fligh"})
"""Stems of things that one picks from those on offer."""
OWN_MOMENT = {
    "check_in": r"check(?:ing|ed)?[- ]?in|arriv\w*|how (?:soon|early)",
    "check_out": r"check(?:ing|ed)?[- ]?out|how (?:long|many nights)",
    "return": r"until when|how (?:long|many days)",
    "ends": r"until when|how (?:long|many days)",
    "due": r"how (?:long|much (?:more )?time|many (?:more )?days)",
    "latest": r"how long",
    "birth": r"born|birthday|dob|how old",
}
AS_DEED = re.compile(
    r"\b(?:to|you|we|i|will|shall|can|could|would|should|just|please) (?:return|start|end|pick|"
    r"leave)\b",
    re.IGNORECASE,
)
FIGURE = re.compile(r"\b(?:numbers?|amounts?|figures?|quantity)\b", re.IGNORECASE)
MONEY = re.compile(r"\b(?:total|sum|figure|cost|charge|quote|price|how much)\b", re.IGNORECASE)
LABEL = re.compile(
    r"\b(?:account|bill|booking|card|claim|customer|flight|invoice|licen[cs]e|membership|mobile|order|passport|phone"
    r"|policy|reference|reservation|room|telephone|ticket|tracking) numbers?\b"
    r"|\bnumbers? (?:of|for|on) (?:the|your|this|that) (?:account|bill|booking|card|claim|flight|invoice|order|"
    r"payment|"
    r"policy|reservation|room|ticket)\b",
    re.IGNORECASE,
)
"""A number that tells things apart: who asks for it asks for no figure."""
COUNTED = re.compile(
    r"\bhow many\b(?: (?:more|of (?:them|these|those|you|it)|times|units|pieces|in all|altogether|exactly))*"
    r"(?:\W*$|\W+(?:would|do|did|should|shall|will|are|is|were|have|you|can|times|and|or|to)\b)",
    re.IGNORECASE,
)
HAS_ALREADY = re.compile(
    r"\bhow (?:many|much)\b(?: \w+){0,3}? (?:do you (?:already |currently |still |now )*(?:have|hold|own)|"
    r"have you (?:already "
    r"|still )*(?:got|collected|earned|saved|had|left)|(?:are|is|do you have) (?:still )?left|you (?:already |"
    r"currently |"
    r"still |now )*(?:have|hold|own|collected|earned|saved))\b[^?]*",
    re.IGNORECASE,
)
MEASURES = {
    "age": r"how old|born|birth\w*",
    "weight": r"how (?:heavy|much (?:does|do|will|would|is)\b[^?]*\bweigh)|weighs?|kilos?|kg|kilogram\w*",
    "days": r"how (?:many days|long|far|early|soon|often)|(?:in advance|ahead)\b|days",
    "interval": r"how (?:often|many (?:days|weeks))|frequen\w+|every",
    "minutes": r"how long",
    "size": r"how (?:many (?:people|persons|guests|of you|adults|travell?ers)|big|large)|number of (?:people|"
    r"persons|guests)",
    "quantity": r"how many|(?:just|only) (?:one|1)|for (?:everybody|everyone|all of you|each)|each person|"
    r"per person|how much",
    "percent": r"per ?cent\w*|share|how much (?:does|do|is|will)\b[^?]*\bcover\w*",
    "sum": r"how (?:much|high)\b[^?]*\b(?:insured|cover\w*)",
    "price": r"how (?:much|expensive)",
    "estimate": r"how much|expect\w* to (?:cost|pay|be)",
    "amount": r"how much|in full|whole|everything|part(?:ly|ial\w*)?|all of it",
    "refills": r"how many (?:refills|times|repeats|packs|months)|refills",
}
PAYING = r"pay|pays|paid|paying|payment|settle|charged?|take the money|transfer|collect"
WORDS = {
    "reason": r"why|how come|what(?:'s| has| is)? (?:happened|wrong)|caus\w+|motiv\w+|grounds?|purpose|"
    r"prompt\w*|because|"
    r"what for|made you|occasion|explanation",
    "question": r"why|what for|what (?:is|do|would|will|should)\b[^?]*\bfor|reasons?|because|purpose|occasion|"
    r"(?:wants?|wanted|looking) to (?:know|find out)|(?:clear|answer|look)\w* (?:up|at|into|for)",
    "provider": r"where|which (?:practice|clinic|hospital|doctor|dentist|therapist|surgery)|(?:the|a|"
    r"your) (?:practice|clinic|"
    r"hospital|doctor|dentist|therapist|surgery)|who (?:treated|did|saw|carried|performed|made|will|is (?:going|to))",
    "branch": r"where|(?:the|what|which) (?:location|place|city|town|station|office)",
    "site": r"where|(?:the|what|which) (?:location|place)",
    "depot": r"where from|from where",
    "destination": r"where|(?:which|what) (?:country|city|place|town)|travell?ing to|going to|headed",
    "zone": r"where|(?:which|what) (?:country|region|part of the world|continent|area)|europe\w*|world ?wide",
    "origin": r"where from|from where|(?:which|what) (?:city|airport)",
    "city": r"where|(?:which|what) (?:town|place)",
    "method": rf"(?:by |which |what )means|(?:what|which) way[^?]*\b(?:{PAYING})\b"
    rf"|how (?!much\b|many\b|long\b|soon\b|often\b|are\b)[^?]*\b(?:{PAYING})\b|(?:{PAYING}) (?:by|with|"
    rf"via) (?:what|which)"
    r"|payment (?:types?|options?|means|methods?)|pay(?:ing)? (?:by|with|via)\b[^?]*\bor\b|what (?:would|"
    r"will) you[^?]*\bpay with",
    "channel": r"how (?!much\b|many\b|long\b|soon\b|often\b|are\b)[^?]*\b(?:remind|reach|contact|notif\w+|hear|"
    r"get|receive|sent|"
    r"send|tell|told|reminded|contacted|informed)\b|by (?:phone|e-?mail|text|letter|sms)\b[^?]*\bor\b",
    "account": r"bank details|iban|(?:which|what|new|the) (?:bank )?account",
    "addressee": r"who|whom|what (?:is|do|does|did|will)\b[^?]*\bfor|where (?:should|shall|do|would|can|"
    r"is)[^?]*\b(?:send|go|sent|for)",
    "recipient": r"who|whom|where (?:should|shall|do|would|can)[^?]*\b(?:send|go|sent)|send (?:it|the \w+) to",
    "relation": r"how (?:is|are) (?:he|she|they|the \w+|your \w+|you) related|what (?:is|are)\b[^?]*\bto you|"
    r"spouse|child|partner",
    "birth": r"born|birthday|dob|how old",
    "level": r"size|how (?:big|large|high)",
    "priority": r"faster|fast|quick\w*|urgen\w+|rush\w*|hurry|soon(?:er)?|how (?:fast|quick\w*)|speed\w*|turnaround",
    "kind": r"(?:what|which) (?:sort|types?|kinds?)",
    "type": r"(?:what|which) (?:sort|types?|kinds?)",
    "email": r"e-?mail|mail",
    "phone": r"number",
}
"""Words of columns, and others that ask for them."""
_PERSONS = """dentist doctor dependant physiotherapist therapist provider driver passenger member person"""
PERSONS = frozenset(_PERSONS.split())
_PEOPLE = """child son daugh wife husba spous partn baby perso kid relat famil"""
PEOPLE = frozenset(_PEOPLE.split())
"""Stems of what people call those who belong to them."""
DONE_TO_ONE = frozenset(["treatment", "therapy", "test", "scan", "benefit", "service", "procedure"])
OF_NAMES = r"(?:is|are|was|were) (?:it|this|that|they|he|she|(?:the|your) [\w-]+) called"
OF_DEEDS = (
    r"what (?:kind|sort|type) of|what (?:is|are|was|were|will) (?:it|this|that|they|the [\w-]+|"
    r"your [\w-]+) (?:be )?for|"
    r"what (?:are you|brings you|do you) (?:coming )?in for|(?:have|get|need|want|like) (?:\w+ ){0,2}done"
)
WHO = r"who|whom|whose"
NAME = re.compile(
    r"(?P<before>[\w'-]+)\s+(?:(?:full|exact|complete)\s+)?names?\b(?:\s+of\s+(?P<of>(?:[\w'-]+\s*){1,4}))?",
    re.IGNORECASE,
)
NUMBER = re.compile(r"(?P<before>[\w'-]+)\s+numbers?\b", re.IGNORECASE)
_PLAIN = """the a an its their his her which what exact right whose s that this new correct full one"""
PLAIN = frozenset(_PLAIN.split())
"""Words before `name` that do not say whose."""
CLOSED = re.compile(
    r"^\W*(?:(?:and|so|but|also|then|now|okay|ok|thanks|thank you|great|sure)\W+){0,2}"
    r"(?!(?:could|can|would|will) you (?:please |kindly |also |just |first |maybe |perhaps |possibly )*"
    r"(?:tell|give|provide|specify|let|state|share|confirm|choose|say|name|send|pick|select|indicate|add|enter|"
    r"write|supply|"
    r"clarify|describe|remind|repeat|advise|mention|spell|help|mind|elaborate)\b)"
    r"(?!(?:may|can|could|might) (?:i|we) (?:please |also |just |kindly )*(?:ask|have|get|know|take|note|see|"
    r"trouble|learn)\b)"
    r"(?:is|are|was|were|am|do|does|did|have|has|had|will|would|can|could|should|may|might|shall)\b",
    re.IGNORECASE,
)
"""A question for yes or no."""
FRAME = re.compile(
    r"\byou (?:happen to |still |also |possibly |by any chance |maybe )*(?:know|remember|recall|prefer)\b"
    r"|\b(?:you (?:happen to )?have|is there|are there|have you (?:got|chosen|decided on|settled on|thought of))"
    r" (?:an?|any|the)\b|\bin mind\b|\b(?:particular|specific|preferred)\b|\bmind (?:telling|giving|sharing|"
    r"letting)\b",
    re.IGNORECASE,
)
"""Asks for a thing all the same: `Do you have a reason?`"""
OPENS = re.compile(r"\b(?:what|which|when|where|who|whom|whose|why|how)\b", re.IGNORECASE)
WHY = re.compile(r"\b(?:why|how come)\b", re.IGNORECASE)
WHICH = re.compile(
    r"\b(?:which|what|whose)\b(?P<noun>(?:\s+(?!(?:is|are|was|were|do|does|did|would|has|have|can|could|will|"
    r"shall|should|"
    r"may|you|for|on|with|about|to)\b)[\w'-]+){1,5})",
    re.IGNORECASE,
)
"""`Which appointment do you mean?`"""
MEANT = (
    r"(?:that |which )?(?:(?:do |did |is it )?(?:you|that you|you're|you'd) (?:mean|want|would|like|"
    r"have in mind|refer\w*|talk\w*)|"
    r"in question|concerned|is meant|it is about|you are (?:calling|asking) about)"
)
