"""English for the forms of requests: the first of several rows, several rows at once, limits, sums, differences."""

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from skillweave.schema.combination import Condition, Superlative
from skillweave.schema.request import Intent, KnownFact, KnownRow, KnownRows
from synth.contracts.wording import is_status, name_in_words
from synth.offline.services import EntityTalk, Talk
from synth.offline.wording import NAMED, WHOLE, phrases, refer, talk_of, tidy

_HEAD = re.compile(r"(?P<head>.+?)(?P<rest> (?:on|of|for|with|at|to|in) .*)?")
_PLURALS = ((re.compile(r"([^aeiou])y$"), r"\1ies"), (re.compile(r"(s|x|ch|sh)$"), r"\1es"), (re.compile(r"$"), "s"))
_VERBS = {"is": "are", "was": "were", "has": "have", "does": "do"}
_RELATIVE = re.compile(r"\bthat(?: (?P<verb>is|was|has|does|\w+s)\b|'s\b)")
_WOULD = re.compile(r"^(what|how much) (the .+?) would (be|come|add)\b")
"""How a clause of what would be begins."""
_PAPERS = frozenset({"invoice", "statement", "payment"})
"""What an amount is of, by itself: of anything else there is a bill."""
_OTHER_SIDE = {"above": "at_most", "at_most": "above"}


def forms() -> dict[str, Any]:
    """The phrases for forms of requests."""
    return phrases("forms")


def plural(noun: str) -> str:
    """`places on the waiting list`, `policies`."""
    match = _HEAD.fullmatch(noun)
    head, rest = (match["head"], match["rest"] or "") if match else (noun, "")
    pattern, ending = next((pattern, ending) for pattern, ending in _PLURALS if pattern.search(head))
    return pattern.sub(ending, head, count=1) + rest


def thing_of(noun: str) -> str:
    """A value in words, without an article: `amount still to pay`."""
    name = name_in_words(noun)
    return str(forms()["things"].get(name, name))


def verb_of(name: str, noun: str = "") -> str:
    """What happens at a moment, by its column's name: `starts`.

    Args:
        noun: To what it happens, if it has words of its own for that: an `order` is due.
    """
    moments: dict[str, str] = forms()["moments"] | forms()["moments_of"].get(noun, {})
    return moments.get(name_in_words(name), moments["other"])


def is_moment_name(name: str) -> bool:
    """Whether a column's name in words is no noun but says that something happens: `starts at`."""
    return name_in_words(name) in forms()["moments"]


def first_of_kind(talk: Talk, row: KnownRow, best: Superlative, words: Mapping[str, str], random: Random) -> str:
    """A row that is the first of its kind: `the earliest slot with Dr Novak`, `the room that costs least`."""
    own = talk_of(talk, row.entity)
    if best.foreseen:
        return _whichever(talk, row, best, words, random)
    plain = best.model_copy(update={"allowed": False})
    if best.allowed:
        allowed = random.choice(forms()["allowed_own" if own.mine else "allowed"])
        return f"{first_of_kind(talk, row, plain, words, random)} {allowed}"
    sort = _sort_of(best.column)
    owner = "my" if own.mine else "the"
    # Of what one has already, `the last` may be the one that was booked last: a verb says what is meant.
    if random.random() < 0.6 and not (own.mine and sort == "moment"):
        adjective = random.choice(forms()["superlatives"][sort][best.order])
        named = EntityTalk(noun=own.noun, qualifiers=_adjectival(own, row.columns, words))
        noun = refer(_with_noun(talk, row.entity, named), row, words, random).removeprefix("the ")
        return f"{owner} {adjective} {noun}"
    clause = random.choice(forms()["clauses"][sort][best.order])
    clause = clause.format(verb=verb_of(best.column, own.noun), thing=thing_of(best.column))
    named = own.model_copy(update={"qualifiers": _adjectival(own, row.columns, words)})
    return f"{refer(_with(talk, row.entity, named), row, words, random)} {clause}"


def _whichever(talk: Talk, row: KnownRow, best: Superlative, words: Mapping[str, str], random: Random) -> str:
    """A row by what would come of it: `whichever of my orders would bring the lowest cancellation fee`."""
    together = rows_together(talk, KnownRows(entity=row.entity, columns=row.columns), words, random, alone=True)
    way = str(random.choice(forms()["whichever"][best.order]))
    allowed = str(forms()["whichever_allowed"]) if best.allowed else ""
    return way.format(rows=together, thing=thing_of(best.column)) + allowed


def rows_together(
    talk: Talk, rows: KnownRows, words: Mapping[str, str], random: Random, *, is_sum: bool = False, alone: bool = False
) -> str:
    """Several rows at once: `all my appointments in April except the cleaning one`.

    Args:
        alone: Whether one of them is meant: `my appointments`, without `all`.
        is_sum: Whether they are added up, rather than dealt with one by one.
    """
    own, parts = talk_of(talk, rows.entity), forms()
    many = EntityTalk(noun=plural(own.noun), qualifiers=_adjectival(own, rows.columns, words))
    shared = KnownRow(entity=rows.entity, columns=rows.columns)
    named = refer(_with_noun(talk, rows.entity, many), shared, words, random).removeprefix("the ")
    named = _RELATIVE.sub(lambda match: f"that {_VERBS.get(match['verb'] or 'is', (match['verb'] or '')[:-1])}", named)
    all_of = "" if alone else random.choice(parts["all_added" if is_sum else "all"])
    said = [*([all_of] if all_of else []), "my" if own.mine else "the", named]
    said += [months] if (months := _months(rows, words, random, "in_month")) else []
    if rows.excepted:
        said.append(_left_out(talk, rows, words, random, parts["but"]))
    return tidy(" ".join(said))


def _months(rows: KnownRows, words: Mapping[str, str], random: Random, in_month: str) -> str:
    """`since January`, `in April`; empty if rows of all months are meant.

    Args:
        in_month: The frames for a single month.
    """
    ways = forms()[in_month if not rows.since else "from_month" if rows.ahead else "since_month"]
    return str(random.choice(ways)).format(month=words[rows.month]) if rows.month else ""


def up_to(talk: Talk, rows: KnownRows, words: Mapping[str, str], random: Random) -> str:
    """`, in order from the one that is due first, as long as the total stays within 200.00`; empty if all are meant."""
    if rows.first is None or rows.budget is None:
        return ""
    verb = verb_of(rows.first.column, talk_of(talk, rows.entity).noun)
    return str(random.choice(forms()["up_to"])).format(verb=verb, limit=words[rows.budget])


def _left_out(talk: Talk, rows: KnownRows, words: Mapping[str, str], random: Random, frames: Sequence[str]) -> str:
    """`except the cleaning one`, `leaving out the cancelled ones and the missed ones`."""
    without = " and ".join(one_of_them(talk, row, words, random) for row in rows.excepted)
    return random.choice(frames).format(rows=without)


def one_of_them(talk: Talk, row: KnownRow, words: Mapping[str, str], random: Random) -> str:
    """What is left out: `the cleaning one`, `the one on Friday 4 April`, `the cancelled ones`, `the refunds`."""
    if [*row.columns] == ["kind"]:
        return f"the {plural(words[row.columns['kind']])}"
    noun = "ones" if all(map(is_status, row.columns)) else "one"
    one = EntityTalk(noun=noun, qualifiers=_adjectival(talk_of(talk, row.entity), row.columns, words))
    return refer(_with_noun(talk, row.entity, one), row, words, random)


def sum_asked(talk: Talk, intent: Intent, words: Mapping[str, str], random: Random) -> str:
    """A noun clause that asks for a sum: `what all my invoices since January come to together`."""
    if intent.every is None:
        return intent.ask
    sums: dict[str, list[str]] = forms()["sums"]
    sort = "bill" if intent.noun in ("amount", "total") else intent.noun
    noun = talk_of(talk, intent.every.entity).noun
    sort = "billed" if intent.noun == "amount" and noun not in _PAPERS else sort
    # Whoever adds up all their payments asks what they have paid.
    is_plain = not intent.every.columns and all([*row.columns] == ["kind"] for row in intent.every.excepted)
    sort = "payments" if is_plain and noun == "payment" else sort
    way = random.choice(sums.get(sort, sums["other"]))
    rows = intent.every.model_copy(update={"excepted": []})
    named = rows_together(talk, rows, words, random, is_sum=True)
    when = _months(rows, words, random, "when_paid")
    asked = tidy(way.format(rows=named, thing=thing_of(intent.noun), when=when).rstrip())
    return (
        f"{asked}, {_left_out(talk, intent.every, words, random, forms()['without'])}"
        if intent.every.excepted
        else asked
    )


def foreseen_asked(request: str, intent: Intent, random: Random) -> str:
    """A noun clause that asks what something would come to: `what the refund would be if I were to cancel my visit`."""
    ways = forms()["what_ifs"]["all" if intent.every else "one"]
    return tidy(str(random.choice(ways)).format(thing=thing_of(intent.noun), request=request))


def direct_question(clause: str) -> dict[str, str]:
    """A clause of what would be, as a question: `what would the refund be if I were to cancel my visit`.

    Returns:
        The question within a sentence, and at its beginning.
    """
    asked = _WOULD.sub(r"\1 would \2 \3", clause, count=1)
    return {"question": asked, "Question": asked[:1].upper() + asked[1:]}


def difference_asked(noun: str, random: Random) -> str:
    """A noun clause that asks for a difference, with `{row}` and `{other}` for the two."""
    # What somebody pays may differ from the list.
    is_paid = _sort_of(noun) == "price" and not noun.startswith("list ")
    ways = forms()["differences"]["price" if is_paid else "other"]
    return str(random.choice(ways)).replace("{thing}", thing_of(noun))


def limits_of(
    condition: Condition, limit: KnownFact, subject: str, random: Random, *, is_alone: bool
) -> dict[str, str]:
    """A condition as it holds and as it fails, and what is told if it fails: `the price is over 50.00`.

    Args:
        subject: The row whose value decides: `the slot`.
        is_alone: Whether the wish is about no other row, which may have such a value, too.
    """
    is_day = limit.type in ("date", "datetime")
    name = name_in_words(condition.noun)
    sort = "amount" if not is_day else "moment" if is_moment_name(name) else "day"
    thing, verb = f"the {thing_of(name)}", verb_of(name, subject.removeprefix("the "))
    first = subject if sort == "moment" else thing if is_alone else f"{thing} of {subject}"
    ways: dict[str, list[str]] = forms()["limits"][sort]

    def said(side: str, it: str) -> str:
        return tidy(random.choice(ways[side]).format(limit=limit.words, it=it, verb=verb))

    if condition.foreseen:
        ways, first = forms()["limits"]["foreseen"], thing
    other = _OTHER_SIDE[condition.holds]
    # What is not done leaves the value as it is: asked is what it would be.
    values = ["what it would be", f"what {thing} would be then"] if condition.foreseen else [thing, "what it is"]
    tell = f"when it {verb}" if sort == "moment" else random.choice(values)
    return {
        "holds": said(condition.holds, first),
        "fails": said(other, first),
        "tell": tell,
    }


def frames_for(frames: str, condition: Condition, *, is_first: bool) -> list[str]:
    """The frames for a condition; of what would then be, of an amount or a day, or where something was said before,
    those that name the deed first: nobody would know of what `the amount` is.
    """
    ways: list[str] = forms()[frames]
    limits = ("{holds}", "{fails}")
    after = [way for way in ways if way.index("{request}") < min(way.index(one) for one in limits if one in way)]
    is_named = is_moment_name(name_in_words(condition.noun)) and not condition.foreseen
    return ways if is_first and is_named else after


def arguments_of(count: int, random: Random) -> list[str]:
    """What somebody says against a no, one text for each time."""
    return random.sample(forms()["insists"], count)


def _with_noun(talk: Talk, entity: str, own: EntityTalk) -> Talk:
    """The same words, with a noun for one entity that nobody calls their own, and that no value stands in for."""
    ways = {column: [way for way in ways if not way.startswith(WHOLE)] for column, ways in own.qualifiers.items()}
    return _with(
        talk, entity, EntityTalk(noun=own.noun, qualifiers={name: own or [NAMED] for name, own in ways.items()})
    )


def _with(talk: Talk, entity: str, own: EntityTalk) -> Talk:
    return talk.model_copy(update={"entities": {**talk.entities, entity: own}})


def _adjectival(own: EntityTalk, columns: Mapping[str, str], words: Mapping[str, str]) -> dict[str, list[str]]:
    """The ways to say columns, with a status of one word before the noun: `my open invoices`."""
    statuses = [name for name, fact in columns.items() if is_status(name) and " " not in words.get(fact, " ")]
    return {**own.qualifiers, **{name: ["{value} {noun}"] for name in statuses}}


def _sort_of(name: str) -> str:
    """Which words compare the values of a column."""
    words, parts = name_in_words(name), forms()
    last: Sequence[str] = words.split(" ")[-1:]
    if is_moment_name(name) or name.endswith(("_at", "_on", "_until")):
        return "moment"
    if words in parts["prices"] or last[0] in parts["prices"]:
        return "price"
    return "length" if words in parts["lengths"] else "amount"
