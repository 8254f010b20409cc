"""Words for deeds: what an agent may say that it did, does or will do."""

import re

_FORMS = """
move moved moving, reschedule rescheduled rescheduling, shift shifted shifting, change changed changing,
switch switched switching, swap swapped swapping, re-?book re-?booked re-?booking, book booked booking,
reserve reserved reserving, cancel cancell?ed cancell?ing, extend extended extending,
prolong prolonged prolonging, remove removed removing, delete deleted deleting, order ordered ordering,
re-?order re-?ordered re-?ordering, buy bought buying, purchase purchased purchasing, pay paid paying,
charge charged charging, debit debited debiting, refund refunded refunding, redeem redeemed redeeming,
schedule scheduled scheduling, arrange arranged arranging, finali[sz]e finali[sz]ed finali[sz]ing,
renew renewed renewing, refill refilled refilling, upgrade upgraded upgrading, expedite expedited expediting,
update updated updating, adjust adjusted adjusting, modify modified modifying, amend amended amending,
enrol(?:l)? enrolled enrolling, withdraw withdr(?:awn|ew) withdrawing, postpone postponed postponing,
approve approved approving, authori[sz]e authori[sz]ed authori[sz]ing, waive waived waiving,
execute executed executing, implement implemented implementing, activate activated activating,
terminate terminated terminating, replace replaced replacing
"""
"""Deeds whatever their object, each with its past and its progressive."""
_WITH_OBJECT = """
do d(?:one|id) doing, add added adding, apply applied applying, place placed placing, submit submitted submitting,
file filed filing, lodge lodged lodging, register registered registering, request requested requesting,
process processed processing, complete completed completing, perform performed performing, carry carried carrying,
issue issued issuing, set set setting, put put putting, make made making, settle settled settling,
credit credited crediting, grant granted granting, start started starting, stop stopped stopping,
close closed closing, end ended ending, join joined joining, sort sorted sorting, fix fixed fixing,
handle handled handling, secure secured securing, correct corrected correcting, sign signed signing,
report reported reporting
"""
"""Deeds only with an object that can be dealt with: to do it, to make the change."""


def _joined(table: str, which: int) -> str:
    return "|".join(forms.split()[which] for forms in table.split(","))


_WHATEVER = [_joined(_FORMS, which) for which in range(3)]
_WITH = [_joined(_WITH_OBJECT, which) for which in range(3)]
_NOTES = (
    r"note|notes|question|questions|concern|concerns|complaint|feedback|remark|wish|suggestion|enquiry|inquiry|ticket|"
    r"details|rules?|polic(?:y|ies)|call|search|check|checks|calculation|math|maths|information|inquiries|attempt|"
    r"point|case|matter|mistake|exception request|conditions?|limits?|look|R\d+|B\d+"
)
_NO_DEED = (
    r"(?! (?:nothing|none|no\b|neither|not\b|my (?:mind|answer)|on\b|you (?:over|on to|through)|any(?:thing)?\b))"
)
_THING = (
    rf"(?= (?:(?:it|that|this|these|those|them|everything|both)\b(?! (?:up\b|down\b|aside|into account|clear|"
    rf"on record|to "
    rf"(?:a|my|our) \w+))|(?:your|the|an?|another|up (?:your|the|an?))(?: new)? (?!(?:[a-z]+ )?(?:{_NOTES})\b)|"
    rf"out (?:your|the)"
    r"|you (?:in|up|off|on (?:the|our) (?:waiting )?list)\b|so\b(?! far)|what you (?:ask|want|wish)))"
)
PAST = (
    rf"(?:(?:{_WHATEVER[1]})\b{_NO_DEED}|(?:{_WITH[1]})\b{_THING}|taken (?:care of|your|the payment|you off)|"
    rf"checked you in\b)"
)
"""`moved`, `made the change`."""
BASE = (
    rf"(?:(?:{_WHATEVER[0]})\b{_NO_DEED}|(?:{_WITH[0]})\b{_THING}"
    r"|take care of (?:it|this|that|your|the|everything)|see to (?:it|that|this)|take (?:your|the) payment"
    r"|(?:get|have) (?:it|this|that|your [a-z]+|everything) (?:all )?"
    rf"(?:done|sorted|settled|processed|submitted|set up|{_WHATEVER[1]})\b)"
)
"""`move`, `make the change`."""
GOING = rf"(?:(?:{_WHATEVER[2]})\b(?= (?:it|your|the|that|this|everything)\b)|(?:{_WITH[2]})\b{_THING})"
"""`moving it`."""
PLAIN_PAST = (
    rf"(?:{_WHATEVER[1]}|done|made|processed|completed|submitted|added|set up|filed|issued|placed|sorted|granted)"
)
"""Without regard to an object: what happened to something."""
DONE = (
    r"(?:done(?: and dusted)?|sorted(?: out)?|taken care of|settled|arranged|carried out|completed|finali[sz]ed|"
    r"set(?! (?:in|by|out|"
    r"at|down)))"
)
"""What is said of a deed that is finished."""


def compiled(pattern: str) -> re.Pattern[str]:
    """As all patterns of deeds are read."""
    return re.compile(pattern, re.IGNORECASE)
