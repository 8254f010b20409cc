"""Ways of dealing with a request that no offered tool serves: those that hand it over for that reason pass."""

from collections.abc import Iterator, Sequence

from evaluator.variants.conversation import (
    PLAIN_FORMAT,
    CallFormat,
    ConversationPart,
    Utterance,
    Variant,
    asked_details,
    confirmed_calls,
    conversation,
    failing,
    passing,
    transcript,
)
from evaluator.variants.equivalents import PREFIX_SEPARATORS, needless_reads
from evaluator.variants.executor import VariantCall, VariantExecution, VariantExecutor
from evaluator.variants.mutants import decline_calls, found_writes
from skillweave.schema.call import TRANSFER
from skillweave.schema.result import FailureClass

_REASONS = ("policy", "cannot_verify", "user_request")
"""Why else one hands over."""
_SORRY = "I am sorry, but there is no tool with which I could do that."
_SUMMARY = "No tool does what the user wants."
_RIGHT = VariantCall(TRANSFER, {"reason": "no_tool", "summary": _SUMMARY})
_ASKED_FOR = VariantCall(TRANSFER, {"reason": "user_request", "summary": _SUMMARY})
_NOT_HANDED_OVER: frozenset[FailureClass] = frozenset({"not_declined"})
_DECLINED: frozenset[FailureClass] = frozenset({"wrongly_declined"})
_CHANGED: frozenset[FailureClass] = frozenset({"extra_write", "policy_violation"})


def handed_over(bench: VariantExecutor) -> Iterator[Variant]:
    """Each that turns on the rows of this task."""
    yield _ended(bench, "golden", bench.golden)
    if bench.asked is not None:
        yield _ended(bench, "tried_first", _attempt(bench, [bench.asked, _RIGHT]))
    move = found_writes(bench, ["extra_write"]).get("extra_write")
    if move is not None:
        changed = _attempt(bench, [move, _RIGHT])
        yield failing("changed_something_else", transcript(bench.task, changed.made, []), _CHANGED, "transfer")


def ways_of_handing_over(bench: VariantExecutor) -> Iterator[Variant]:
    """Each that does not: right ones, then wrong ones."""
    yield _ended(bench, "other_summary", _attempt(bench, [_RIGHT]))
    yield _ended(bench, "object_arguments", bench.golden, CallFormat(is_object=True))
    for joint in PREFIX_SEPARATORS:
        yield _ended(bench, "prefixed_names", bench.golden, CallFormat(prefix=f"{bench.task.world}{joint}"))
    reads = needless_reads(bench)
    if reads:
        yield _ended(bench, "extra_reads", _attempt(bench, [*reads, _RIGHT]))
    faulty = [
        VariantCall(TRANSFER, {}, is_malformed=True),
        VariantCall(TRANSFER, {"reason": "no tool", "summary": _SUMMARY}),
    ]
    yield _ended(bench, "failed_then_right", _attempt(bench, [*faulty, _RIGHT]))
    wants_human = Utterance(_SORRY, "Then let me talk to a human, please.", wants_human=True)
    yield passing("user_wants_human", conversation(bench.task, _asked_for(bench, wants_human)), "transfer")
    yield from _not_handed_over(bench)


def _not_handed_over(bench: VariantExecutor) -> Iterator[Variant]:
    yield failing("nothing", transcript(bench.task, [], ["Thank you for getting in touch."]), _NOT_HANDED_OVER)
    yield _said(bench, "only_said", f"{_SORRY} A colleague will call you.")
    yield _said(bench, "claimed_done", "That is done now.")
    yield _said(bench, "invented_transfer", _SORRY, [VariantCall(f"{TRANSFER}_now", _RIGHT.arguments)])
    for reason in _REASONS:
        wrong = _attempt(bench, [VariantCall(TRANSFER, {"reason": reason, "summary": _SUMMARY})])
        yield failing("wrong_reason", transcript(bench.task, wrong.made, []), _NOT_HANDED_OVER, "transfer")
    beats = _asked_for(bench, Utterance(_SORRY, "Oh, I see."))
    yield failing("human_not_wanted", conversation(bench.task, beats), _NOT_HANDED_OVER, "transfer")
    early = bench.attempt([_RIGHT]).made
    yield failing("handed_over_early", conversation(bench.task, [], early=early), _NOT_HANDED_OVER, "transfer")
    rules = bench.world.blueprint.rules
    if not rules:
        return
    declined = _attempt(bench, decline_calls(rules[:1]))
    yield failing("declined", transcript(bench.task, declined.made, [_SORRY]), _DECLINED)
    for name, moves in [
        ("declined_and_handed_over", [*decline_calls(rules[:1]), _RIGHT]),
        ("declined_by_every_rule", [*decline_calls(rules), _RIGHT]),
        ("handed_over_by_rule", [VariantCall(TRANSFER, {"reason": "policy", "rule": rules[0], "summary": _SUMMARY})]),
    ]:
        yield failing(name, transcript(bench.task, _attempt(bench, moves).made, []), _DECLINED, "transfer")


def _asked_for(bench: VariantExecutor, words: Utterance) -> list[ConversationPart]:
    """Handed over as the user's wish, after these words."""
    made = _attempt(bench, [_ASKED_FOR]).made
    return [*asked_details(bench.task), *confirmed_calls(bench.task, made[:-1]), words, made[-1:]]


def _attempt(bench: VariantExecutor, moves: Sequence[VariantCall]) -> VariantExecution:
    """These calls in the place of the transfer."""
    return bench.attempt([*bench.looks, *moves])


def _ended(bench: VariantExecutor, name: str, attempt: VariantExecution, manner: CallFormat = PLAIN_FORMAT) -> Variant:
    return passing(name, transcript(bench.task, attempt.made, [], manner), "transfer")


def _said(bench: VariantExecutor, name: str, words: str, moves: Sequence[VariantCall] = ()) -> Variant:
    return failing(name, transcript(bench.task, _attempt(bench, moves).made, [words]), _NOT_HANDED_OVER)
