"""Other ways of recording declines, hearing what was left out, and handing over."""

from collections.abc import Iterator, Mapping, Sequence

from evaluator.variants.asking import unsaid
from evaluator.variants.conversation import (
    ConversationPart,
    Utterance,
    all_facts,
    asked_details,
    confirmed_calls,
    conversation,
    failing,
    passing,
)
from evaluator.variants.declining import other_rules
from evaluator.variants.executor import VariantCall, VariantExecutor
from evaluator.variants.held_out.trying import HeldOutVariant, held_out_random
from skillweave.schema.call import DECLINE, TRANSFER
from skillweave.schema.record import Json
from skillweave.schema.task import Declined, MustAsk
from skillweave.schema.trajectory import StopReason

_NO = "Unfortunately I have to say no to this."
_SORRY = "I see nothing with which I could do that."
_LONG = "The customer described the matter at length. " * 12
_ASKED = "user_request"


def conduct(bench: VariantExecutor) -> Iterator[HeldOutVariant]:
    """Each that applies to the task's kind."""
    wanted = bench.task.criteria.declined
    if wanted is not None and not bench.golden.changes:
        yield from _declining(bench, wanted)
        yield from _misdeclining(bench, wanted)
    elif bench.task.kind == "unavailable":
        yield from _handing_over(bench)
        yield from _not_handing_over(bench)
    elif bench.world.blueprint.rules:
        yield from _needlessly(bench)
    for need in bench.task.criteria.must_ask:
        yield from _hearing(bench, need)


def _declining(bench: VariantExecutor, wanted: Declined) -> Iterator[HeldOutVariant]:
    record, looks = _record(wanted.rule), bench.looks
    twice = [move for one in looks for move in (one, one)]
    ways = {
        "noted": [*looks, _record(wanted.rule, note="They asked for it twice.")],
        "looked_twice": [*twice, record],
        "recorded_first": [record, *looks],
        "recorded_thrice": [record, *looks, record, record],
    }
    for name, moves in ways.items():
        yield _passing(bench, name, [*_made(bench, moves), Utterance(_NO)], _named(moves))
    late: list[ConversationPart] = [
        *_made(bench, looks),
        Utterance(_NO, "Why?"),
        *_made(bench, [record])[-1:],
        Utterance(_NO),
    ]
    yield _passing(bench, "recorded_after_words", late, "the record after the words")
    handed = [*looks, record, _transfer(reason="policy", rule=wanted.rule)]
    made = _made(bench, handed)
    yield _passing(
        bench, "recorded_then_handed_over", [*made[:-1], Utterance(_NO), made[-1]], _named(handed), "transfer"
    )


def _misdeclining(bench: VariantExecutor, wanted: Declined) -> Iterator[HeldOutVariant]:
    listed = other_rules(bench, wanted.accepted)
    others = held_out_random(bench, "rules").sample(listed, len(listed))
    first, looks = wanted.rule, bench.looks
    ways: dict[str, list[VariantCall]] = {
        "rule_in_small_letters": [*looks, _record(first.lower())],
        "rule_without_letter": [*looks, _record(first[1:])],
        "rule_in_a_read": [*looks, VariantCall(next(iter(bench.tools)).name, {"rule": first})],
    }
    if others:
        ways["rule_in_note"] = [*looks, _record(others[0], note=first)]
        ways["corrected_record"] = [*looks, _record(others[0]), _record(first)]
        ways["recorded_and_handed_over_otherwise"] = [*bench.moves, _transfer(reason="policy", rule=others[0])]
    near = [rule for rule in others if first.startswith(rule) or rule.startswith(first)]
    if near:
        ways["rule_of_like_number"] = [*looks, _record(near[0])]
    if len(others) > 1:
        ways["two_other_rules"] = [*looks, _record(others[0]), _record(others[1])]
        ways["three_rules"] = [*looks, _record(others[0]), _record(first), _record(others[1])]
    for name, moves in ways.items():
        yield _failing(bench, name, [Utterance(_NO, "I see."), *_made(bench, moves), Utterance(_NO)], _named(moves))
    handed = [*looks, _transfer(reason="no_tool", rule=first)]
    yield _failing(
        bench, "handed_over_for_no_tool", [Utterance(_NO), *_made(bench, handed)], _named(handed), "transfer"
    )


def _needlessly(bench: VariantExecutor) -> Iterator[HeldOutVariant]:
    """Of a request that can be carried out."""
    rule, words = held_out_random(bench, "rules").choice(bench.world.blueprint.rules), Utterance(_told(bench))
    last = _record(rule)
    ways = {"declined_in_between": [*bench.moves[:1], last, *bench.moves[1:]], "declined_first": [last, *bench.moves]}
    for name, moves in ways.items():
        yield _failing(bench, name, [*_made(bench, moves), words], _named(moves))
    after: list[ConversationPart] = [
        *_made(bench, bench.moves),
        words,
        *_made(bench, [*bench.moves, last])[-1:],
        Utterance(_NO),
    ]
    yield _failing(bench, "declined_afterwards", after, f"declined by {rule} when all is done")
    handed = [*bench.moves, _transfer(reason="policy", rule=rule)]
    beats = _made(bench, handed)
    yield _failing(bench, "done_and_handed_over_by_rule", [*beats[:-1], words, beats[-1]], _named(handed), "transfer")


def _handing_over(bench: VariantExecutor) -> Iterator[HeldOutVariant]:
    right = _transfer(reason="no_tool")
    twice = [move for one in bench.looks for move in (one, one)]
    yield _passing(bench, "looked_twice", _made(bench, [*twice, right]), "every look-up twice", "transfer")
    long = _transfer(reason="no_tool", summary=_LONG)
    yield _passing(bench, "long_summary", _made(bench, [*bench.looks, long]), "a long summary", "transfer")
    wish = Utterance(_SORRY, "A human, please!", wants_human=True)
    made = _made(bench, [*bench.looks, right])
    yield _passing(bench, "wished_and_no_tool", [*made[:-1], wish, made[-1]], "the better of two reasons", "transfer")
    asked = _made(bench, [*bench.looks, _transfer(reason=_ASKED)])
    late = [wish, Utterance("Let me try once more.", "All right."), *asked]
    yield _passing(bench, "wished_some_time_ago", late, "the wish stands, whatever was said since", "transfer")


def _not_handing_over(bench: VariantExecutor) -> Iterator[HeldOutVariant]:
    for name, given in [
        ("no_summary", {"reason": "no_tool"}),
        ("reason_in_summary", {"reason": "cannot_verify", "summary": "no_tool"}),
        ("other_case", {"reason": "NO_TOOL", "summary": _LONG}),
    ]:
        made = _made(bench, [*bench.looks, VariantCall(TRANSFER, {**given})])
        went = bench.attempt([*bench.looks, VariantCall(TRANSFER, {**given})]).made[-1].result.ok
        yield _failing(bench, name, made, str(given), "transfer" if went else "max_turns")
    wish = Utterance(_SORRY, "A human, please!", wants_human=True)
    verified = _made(bench, [*bench.looks, _transfer(reason="cannot_verify")])
    yield _failing(bench, "wished_and_another_reason", [wish, *verified], "a human was wished for", "transfer")
    agreed = Utterance("May I hand you over to a colleague?", "Yes.", agrees=True)
    asked = _made(bench, [*bench.looks, _transfer(reason=_ASKED)])
    yield _failing(bench, "agreed_to_a_human", [agreed, *asked], "the agent's own wish", "transfer")
    yield _failing(bench, "wish_unheard", [*_made(bench, bench.looks), wish, Utterance(_SORRY)], "nobody comes")


def _hearing(bench: VariantExecutor, need: MustAsk) -> Iterator[HeldOutVariant]:
    facts = [fact for fact in bench.task.scenario.facts if fact.id in need.facts]
    if not facts or need.tool not in {made.move.tool for made in bench.golden.made}:
        return
    every, one = " ".join(fact.text for fact in facts), facts[0].text
    vague = Utterance("I will choose something suitable for you.", "Yes, do.", agrees=True)
    right = {
        "told_in_passing": [
            Utterance("One moment.", f"By the way, and that is why I am here: {every} Is it warm there?")
        ],
        "agreed_to_several": [Utterance(f"Let me sum up. {every} I have your records, too.", "Right.", agrees=True)],
        "told_after_a_vague_yes": [vague, Utterance("Anything else?", every)],
    }
    wrong = {
        "agreed_before": [Utterance("May I go on?", "Yes.", agrees=True), Utterance(f"So: {one}", "What is that?")],
        "left_to_chance": [vague],
        "refused_twice": [Utterance(one, "No.", agrees=False), Utterance(one, "No!", agrees=False)],
        "repeated_by_the_agent": [Utterance(one, "Hm."), Utterance(one, "I am not sure.")],
    }
    known = [fact for fact in bench.task.scenario.facts if fact.tell == "first" and fact.id not in unsaid(bench, need)]
    wrong |= {"told_what_is_known": [Utterance("What was it again?", known[0].text)]} if known else {}
    for name, words in right.items():
        yield _passing(bench, name, _heard(bench, need, words), words[-1].reply)
    for name, words in wrong.items():
        yield _failing(bench, name, _heard(bench, need, words), words[-1].text)


def _heard(bench: VariantExecutor, need: MustAsk, words: Sequence[Utterance]) -> list[ConversationPart]:
    """The golden calls, behind these words; what is given only when asked for, apart from this need, comes first."""
    start = asked_details(bench.task, unsaid(bench, need))
    return [*start, *words, *confirmed_calls(bench.task, bench.golden.made), Utterance(_told(bench))]


def _told(bench: VariantExecutor) -> str:
    return all_facts(bench.task.criteria.communicate)


def _record(rule: str, **more: str) -> VariantCall:
    return VariantCall(DECLINE, {"rule": rule, **more})


def _transfer(**given: str) -> VariantCall:
    arguments: Mapping[str, Json] = {"summary": "As the customer asked.", **given}
    return VariantCall(TRANSFER, arguments)


def _made(bench: VariantExecutor, moves: Sequence[VariantCall]) -> list[ConversationPart]:
    return [*asked_details(bench.task), *confirmed_calls(bench.task, bench.attempt(moves).made)]


def _named(moves: Sequence[VariantCall]) -> str:
    return ", ".join(f"{move.tool} {dict(move.arguments)}" if move.golden is None else move.tool for move in moves)


def _passing(
    bench: VariantExecutor,
    name: str,
    beats: Sequence[ConversationPart],
    what: str,
    stop_reason: StopReason = "user_stop",
) -> HeldOutVariant:
    return HeldOutVariant(passing(name, conversation(bench.task, beats), stop_reason), what, [])


def _failing(
    bench: VariantExecutor,
    name: str,
    beats: Sequence[ConversationPart],
    what: str,
    stop_reason: StopReason = "user_stop",
) -> HeldOutVariant:
    return HeldOutVariant(failing(name, conversation(bench.task, beats), {"other"}, stop_reason), what, [])
