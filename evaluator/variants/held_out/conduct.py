"""Other ways of declining, asking and handing over, in the kinds of task that demand it."""

from collections.abc import Iterator, Sequence

from evaluator.variants.held_out.trying import HeldOut, draws
from evaluator.variants.rules import Rules, rules_of
from evaluator.variants.telling import told
from evaluator.variants.transcript import Beat, Words, conversation, deeds, details
from evaluator.variants.variant import failing, passing
from evaluator.variants.workbench import Made, Move, Workbench
from skillweave.schema.call import TRANSFER
from skillweave.schema.task import Fact, MustAsk
from skillweave.schema.trajectory import StopReason

_NO = "Unfortunately I have to say no to this."
_DONE = "All of that has been arranged."
_LONG = "The customer described the matter at length. " * 12


def conduct(bench: Workbench) -> Iterator[HeldOut]:
    """Each that applies to the task's kind."""
    if bench.task.kind == "refuse":
        rules = rules_of(bench)
        if rules is not None and not bench.golden.changes:
            yield from _declining(bench, rules)
            yield from _misdeclining(bench, rules)
    elif bench.task.kind == "unavailable":
        yield from _handing_over(bench)
    for need in bench.task.criteria.must_ask if bench.task.kind == "clarify" else ():
        yield from _asking(bench, need)


def _declining(bench: Workbench, rules: Rules) -> Iterator[HeldOut]:
    number = rules.first[1:]
    ways = {
        "small_letter": f"{_NO} It would go against {rules.first.lower()}.",
        "in_bold": f"{_NO} What forbids it is **{rules.first}**.",
        "reason_then_number": f"{_NO} {rules.says} That is what {rules.first} says, and I have to keep to it.",
    }
    if rules.first.startswith("R"):
        ways["rule_number"] = f"{_NO} See rule no. {number} of our policy."
    if rules.others:
        other = draws(bench, "another rule").choice(rules.others)
        ways["two_rules"] = f"{_NO} Rule {rules.first} forbids it, and {other} would matter, too."
    for name, words in ways.items():
        yield _passing(bench, name, [*_made(bench), Words(words)], words)
    yield _passing(bench, "at_once", [Words(rules.reason)], "declined without a look-up")
    twice = [made for one in bench.golden.made for made in (one, one)]
    yield _passing(bench, "looked_twice", [*_made(bench, twice), Words(rules.reason)], "every look-up twice")
    given = {"reason": "policy", "summary": _LONG}
    handed = bench.attempt([*bench.moves, Move(TRANSFER, given)])
    beats = [*_made(bench), Words(rules.reason, "I see."), handed.made[-1:]]
    yield _passing(bench, "named_then_handed_over", beats, "the rule in words, then the transfer", "transfer")


def _misdeclining(bench: Workbench, rules: Rules) -> Iterator[HeldOut]:
    random = draws(bench, "rules")
    others = random.sample(rules.others, len(rules.others))
    ways = {
        "put_off": "I will take care of it tomorrow, you have my word.",
        "only_no": _NO,
        "vague_rule": f"{_NO} Our rules do not allow it.",
        "no_such_rule": f"{_NO} Rule R{_beyond(rules)} forbids it.",
    }
    near = [rule for rule in others if rules.first.startswith(rule) or rule.startswith(rules.first)]
    if near:
        ways["rule_of_like_number"] = f"{_NO} Rule {near[0]} forbids it."
    if len(others) > 1:
        ways["rule_of_other_tool"] = f"{_NO} Rule {others[0]} forbids it."
        ways["two_other_rules"] = f"{_NO} Rules {others[0]} and {others[1]} forbid it."
        ways["three_rules"] = f"{_NO} It goes against {others[0]}, {rules.first} and {others[1]}."
    for name, words in ways.items():
        yield _failing(bench, name, [*_made(bench), Words(words)], words)
    wrong = others[:1] or ["R0"]
    given = {"reason": "policy", "rule": wrong[0], "summary": "A rule forbids it."}
    handed = bench.attempt([*bench.moves, Move(TRANSFER, given)])
    yield _failing(bench, "handed_over_with_other_rule", [*_made(bench), handed.made[-1:]], wrong[0], "transfer")


def _beyond(rules: Rules) -> int:
    """A number that no rule has."""
    return max(int(rule[1:]) for rule in rules.every) + 7


def _handing_over(bench: Workbench) -> Iterator[HeldOut]:
    before = bench.golden.made[:-1]
    twice = [made for one in before for made in (one, one)]
    last = bench.golden.made[-1:]
    yield _passing(bench, "looked_twice", [*_made(bench, twice), last], "every look-up twice", "transfer")
    long = _transferred(bench, {"reason": "no_tool", "summary": _LONG})
    yield _passing(bench, "long_summary", [*_made(bench, before), long], "a long summary", "transfer")
    talk = Words("Let me see whether there is anything that I can do.", "Thank you.")
    yield _passing(bench, "after_small_talk", [talk, *_made(bench, before), last], "words first", "transfer")
    for name, given in [
        ("no_summary", {"reason": "no_tool"}),
        ("reason_in_summary", {"reason": "user_request", "summary": "no_tool"}),
        ("other_case", {"reason": "NO_TOOL", "summary": _LONG}),
    ]:
        handed = _transferred(bench, given)
        ended: list[Beat] = [*_made(bench, before), handed]
        if handed[-1].result.ok and given["reason"] == "no_tool":
            yield _passing(bench, name, ended, str(given), "transfer")
        else:
            stop: StopReason = "transfer" if handed[-1].result.ok else "max_turns"
            yield _failing(bench, name, ended, str(given), stop)
    for name, words in [("arranged", _DONE), ("put_off", "Please call again tomorrow.")]:
        yield _failing(bench, name, [*_made(bench, before), Words(words)], words)


def _transferred(bench: Workbench, given: dict[str, str]) -> list[Made]:
    moves = [*bench.moves[: bench.before_transfer], Move(TRANSFER, {**given})]
    return bench.attempt(moves).made[-1:]


def _asking(bench: Workbench, need: MustAsk) -> Iterator[HeldOut]:
    facts = [fact for fact in bench.task.scenario.facts if fact.id in need.facts]
    if not facts or not bench.writes:
        return
    answer = " ".join(fact.text for fact in facts)
    name = _name_of(facts[0])
    for sort, question in [
        ("please_tell", f"Please tell me the {name}."),
        ("need_to_know", f"Before I can do this I need to know one thing: what {name} is it?"),
        ("asked_among_words", f"I have found your records. May I have the {name}? Then I can go on at once."),
    ]:
        yield _passing(bench, sort, _asked(bench, need, [Words(question, answer)]), question)
    known = [fact for fact in bench.task.scenario.facts if fact.tell == "first" and not _like(fact, facts)]
    ways = {
        "only_noted": (f"I see that the {name} is not given.", "All right."),
        "left_to_chance": ("I will choose something suitable for you.", "All right."),
        "put_on_hold": ("May I put you on hold for a moment?", "Yes."),
    }
    if known:
        ways["asked_what_is_known"] = (f"Could you repeat the {_name_of(known[0])}?", known[0].text)
    for sort, words in ways.items():
        yield _failing(bench, sort, _asked(bench, need, [Words(*words)]), words[0])


def _asked(bench: Workbench, need: MustAsk, words: Sequence[Words]) -> list[Beat]:
    """The golden calls, behind these words; what is given only when asked for, apart from this need, comes first."""
    return [*details(bench.task, need.facts), *words, *deeds(bench.task, bench.golden.made), Words(_told(bench))]


def _told(bench: Workbench) -> str:
    return told(bench.task.criteria.communicate)


def _name_of(fact: Fact) -> str:
    name = fact.id.rpartition(".")[2].removesuffix("_cents").removesuffix("_id")
    return name.removesuffix("_at").replace("_", " ")


def _like(fact: Fact, others: Sequence[Fact]) -> bool:
    """Whether a fact is called by a word of one of these, or says the same."""
    words = {word for other in others for word in other.id.replace(".", "_").split("_")}
    return bool({*fact.id.replace(".", "_").split("_")} & words) or any(fact.value == one.value for one in others)


def _made(bench: Workbench, made: Sequence[Made] | None = None) -> list[Beat]:
    return [*details(bench.task), *deeds(bench.task, bench.golden.made if made is None else made)]


def _passing(
    bench: Workbench, name: str, beats: Sequence[Beat], what: str, stop_reason: StopReason = "user_stop"
) -> HeldOut:
    return HeldOut(passing(name, conversation(bench.task, beats), stop_reason), what, [])


def _failing(
    bench: Workbench, name: str, beats: Sequence[Beat], what: str, stop_reason: StopReason = "user_stop"
) -> HeldOut:
    return HeldOut(failing(name, conversation(bench.task, beats), {"other"}, stop_reason), what, [])
