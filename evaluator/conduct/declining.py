"""How an agent declines: after the request was heard, and with the rule that forbids it.

A rule is named by its number, `R7` or `rule 7`, to the user or in the transfer. Only numbers that the policy has count.
What is numbered alike is no rule (Gate B1, the rule 24 hours), and neither is one that is said not to stand in the way,
or that is only asked about.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from evaluator.execution import Step
from evaluator.ledger.wording import plain
from evaluator.words.markup import folded
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import TRANSFER
from skillweave.schema.message import Message
from skillweave.schema.record import Json
from skillweave.schema.task import Task

MOST_NAMED = 2
"""Rules that who declines may name: reciting all tells nothing."""
WIDEST = 20
"""Rules of a range, `rules 7 to 9`, that are read."""
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+", re.IGNORECASE)
_ASKED = re.compile(
    r"(?:^|(?<=[.!?\n]))[^\S\n]*(?:is|are|was|were|do|does|did|can|could|would|will|may|might|shall|should|has|have)\b"
    r"[^.!?\n]*\?",
    re.IGNORECASE,
)
_THINGS = (
    "gates?|rooms?|vitamins?|seats?|bays?|terminals?|platforms?|zones?|areas?|blocks?|buildings?|rows?|routes?|roads?|"
    "flights?|buses|bus|units?|lockers?|wards?|levels?|floors?|forms?|boxes|box|piers?|desks?|stands?|halls?|lots?|"
    "spaces?|stops?|exits?|doors?|shelf|counters?|lanes?|channels?|slots?|class|size|type|model|version|plan"
)
"""What people number as the policy numbers its rules."""
_UNIT = (
    r"(?:working|business|calendar|full|more|whole)?[\s-]{0,3}"
    r"(?:hours?|hrs?|h|days?|weeks?|months?|minutes?|mins?|years?|times|nights?|percent|per cent|euros?|"
    r"dollars?|cents?|"
    r"pounds?|people|persons?|guests?|bags?|kg|km|miles?|[ap]\.?m)\b"
)
_NUMBER = rf"\d{{1,3}}(?!\w|\s*%|[.:,]\d|[\s-]{{0,3}}{_UNIT})"
_JOINT = r"\s*(?:[,&/\u2010-\u2015-]|\band\b|\bor\b|\bto\b|\bthrough\b)+(?:\s*(?:and|or)\b)?\s*"
_RULE = re.compile(
    rf"(?<!\w)(?:(?P<thing>{_THINGS})\s+)?(?P<letter>[rb][\u2010-\u2015-]?|(?-i:[RB])\s)(?P<number>\d{{1,3}})(?!\w)"
    rf"|(?<!\bas a )\brules?\b(?:\s*(?:numbers?|nos?\b\.?|"
    rf"nr\b\.?))?[\s:#(\[]*(?P<plain>{_NUMBER}(?:{_JOINT}{_NUMBER})*)",
    re.IGNORECASE,
)
"""`R7`, `[B2]`, `rule 7`, `rules 7 to 9`."""
_PART = re.compile(r"(?P<range>(?:\bto\b|\bthrough\b|[\u2010-\u2015-])\s*)?(?P<number>\d+)", re.IGNORECASE)
_STANDS_ASIDE = re.compile(
    r"[\])\"'*]*(?:\s*\([^)]{0,80}\))?\s*(?:itself |here |alone )?(?:"
    r"(?:is|are|was|were)(?:n't| not| no) (?:(?:really|even|actually) )?(?:in the way|(?:an? |the )?"
    r"(?:obstacle|problem|issue|hindrance|reason|cause|bar)\b|relevant|broken|violated|breached|at issue|applicable|"
    r"concerned|affected|what|why)"
    r"|(?:does|do|did|would|will)(?:n't| not) (?:(?:really|even|actually) )?(?:apply|forbid|prohibit|prevent|stop|bar|"
    r"block|stand in|matter|concern|affect|hinder|exclude|rule (?:it|this|that) out)\b"
    r"|(?:has|have|had) nothing to do"
    r"|(?:allows?|permits?) (?:it|this|that)(?=\s*(?:[.,;!]|$|but\b|though\b))"
    r")",
    re.IGNORECASE,
)
_SET_ASIDE = re.compile(
    r"\b(?:not (?:because of|due to|on account of|under|by)|nothing to do with|regardless of|irrespective of|"
    r"apart from|other than|(?:do not|don't) (?:care|mind|worry|bother)(?: about| with)?)"
    r"(?: the)?(?: rules?)?[\s\[(*\"']*$",
    re.IGNORECASE,
)
_BEFORE = 60
"""Characters before a rule in which it may be set aside."""


def unheard(steps: Sequence[Step], transfer: Mapping[str, Json] | None, messages: Sequence[Message]) -> list[str]:
    """What is wrong where there was no request, or it was handed over before anybody made one."""
    request = _request(messages)
    if request is None:
        return ["the request was not heard"]
    handed_over = next((step.message for step in reversed(steps) if step.tool == TRANSFER and step.ok), len(messages))
    return ["handed over before the request was heard"] if transfer is not None and 0 <= handed_over < request else []


def not_declined(
    task: Task,
    transfer: Mapping[str, Json] | None,
    messages: Sequence[Message],
    known: Collection[str] | None = None,
) -> list[str]:
    """What is wrong with how a request was declined that a rule forbids. `known` are the policy's rules; None: any."""
    said = [folded(message.content or "") for message in _of_agent(messages[_request(messages) or 0 :])]
    named = {rule for text in said for rule in rules_in(text, known)}
    rule = folded(str((transfer or {}).get("rule") or ""))
    named.update(rules_in(f"rule {rule}" if rule[:1].isdecimal() else rule, known))
    broken = {ban.rule for ban in task.criteria.must_not}
    if not named & broken:
        return [f"the broken rule ({', '.join(sorted(broken))}) is not named"]
    return [f"names {len(named)} rules where at most {MOST_NAMED} may be"] if len(named) > MOST_NAMED else []


def rules_of(blueprint: Blueprint) -> frozenset[str]:
    """The rules that the policy prints: of guards, and of effects."""
    guards = [guard.rule for tool in blueprint.tools for guard in tool.guards]
    return frozenset([*guards, *(effect.rule for tool in blueprint.tools for effect in tool.effects)])


def rules_in(text: str, known: Collection[str] | None = None) -> Iterator[str]:
    """The rules that a text names as what forbids something; with `known`, of these alone."""
    text = _ASKED.sub(" ", _ADDRESS.sub(" ", text))
    if "rule" in text.casefold():
        text = plain(text)
    for match in _RULE.finditer(text):
        if match["thing"] or _is_set_aside(text, match):
            continue
        yield from (rule for rule in _named(match) if known is None or rule in known)


def _is_set_aside(text: str, match: re.Match[str]) -> bool:
    before = text[max(match.start() - _BEFORE, 0) : match.start()]
    return bool(_STANDS_ASIDE.match(text, match.end()) or _SET_ASIDE.search(before))


def _named(match: re.Match[str]) -> Iterator[str]:
    """A rule that is named by its number alone is one of the policy's own."""
    if not match["plain"]:
        yield f"{match['letter'][0].upper()}{int(match['number'])}"
        return
    last = 0
    for part in _PART.finditer(match["plain"]):
        number = int(part["number"])
        is_range = part["range"] and last < number <= last + WIDEST
        yield from (f"R{one}" for one in (range(last + 1, number + 1) if is_range else [number]))
        last = number


def _request(messages: Sequence[Message]) -> int | None:
    """The user's first message."""
    return next((place for place, message in enumerate(messages) if message.role == "user"), None)


def _of_agent(messages: Sequence[Message]) -> list[Message]:
    return [message for message in messages if message.role == "assistant"]
