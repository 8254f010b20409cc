"""Ways of dealing with a request that no offered tool serves: those that hand it over for that reason pass."""

from collections.abc import Iterator, Sequence

from evaluator.variants.equivalents import needless_reads
from evaluator.variants.further import found_writes
from evaluator.variants.not_declined import handed_over_early
from evaluator.variants.rules import a_rule
from evaluator.variants.transcript import PLAIN, Manner, Words, conversation, deeds, details, transcript
from evaluator.variants.variant import Variant, failing, passing
from evaluator.variants.workbench import Attempt, Move, Workbench
from skillweave.schema.call import TRANSFER
from skillweave.schema.result import FailureClass

_JOINTS = ("__", ".")
_REASONS = ("policy", "cannot_verify", "user_request")
"""Why else one hands over."""
_SORRY = "I am sorry, but there is no tool with which I could do that."
_FORWARD = "I would hand you over to a colleague who can. Is that all right?"
_SUMMARY = "No tool does what the user wants."
_RIGHT = Move(TRANSFER, {"reason": "no_tool", "summary": _SUMMARY})
_NOT_DECLINED: frozenset[FailureClass] = frozenset({"not_declined"})
_CHANGED: frozenset[FailureClass] = frozenset({"extra_write", "policy_violation"})


def handed_over(bench: Workbench) -> Iterator[Variant]:
    """Each that is right: it ends with the transfer."""
    yield _ended(bench, "golden", bench.golden)
    yield _ended(bench, "other_summary", _attempt(bench, [_RIGHT]))
    yield _ended(bench, "more_words", bench.golden, Manner(is_chatty=True))
    yield _ended(bench, "object_arguments", bench.golden, Manner(is_object=True))
    for joint in _JOINTS:
        yield _ended(bench, "prefixed_names", bench.golden, Manner(prefix=f"{bench.task.world}{joint}"))
    for name, words in [("apologised_first", Words(_SORRY, "Oh, I see.")), ("asked_first", Words(_FORWARD, "Yes."))]:
        made = bench.golden.made
        beats = [*details(bench.task), *deeds(bench.task, made[:-1]), words, made[-1:]]
        yield passing(name, conversation(bench.task, beats), "transfer")
    yield from _with_other_calls(bench)


def _with_other_calls(bench: Workbench) -> Iterator[Variant]:
    """Reads that nobody needs, the tool that is not offered, and arguments that nobody takes."""
    reads, asked = needless_reads(bench), bench.asked
    if reads:
        yield _ended(bench, "extra_reads", _attempt(bench, [*reads, _RIGHT]))
    if asked is not None:
        yield _ended(bench, "tried_first", _attempt(bench, [asked, _RIGHT]))
    faulty = [Move(TRANSFER, {}, is_malformed=True), Move(TRANSFER, {"reason": "no tool", "summary": _SUMMARY})]
    yield _ended(bench, "failed_then_right", _attempt(bench, [*faulty, _RIGHT]))


def not_handed_over(bench: Workbench) -> Iterator[Variant]:
    """Each that is wrong."""
    yield failing("nothing", transcript(bench.task, [], ["Thank you for getting in touch."]), _NOT_DECLINED)
    yield _said(bench, "words_only", f"{_SORRY} A colleague will call you.")
    yield _said(bench, "call_in_words", f'{TRANSFER}(reason="no_tool", summary="{_SUMMARY}")')
    yield _said(bench, "claimed_done", "That is done now.")
    yield _said(bench, "refused", f"I am sorry, but rule {a_rule(bench)} does not allow that.")
    yield _said(bench, "invented_transfer", _SORRY, [Move(f"{TRANSFER}_now", _RIGHT.arguments)])
    for reason in _REASONS:
        wrong = _attempt(bench, [Move(TRANSFER, {"reason": reason, "summary": _SUMMARY})])
        yield failing("wrong_reason", transcript(bench.task, wrong.made, []), _NOT_DECLINED, "transfer")
    yield handed_over_early(bench, _RIGHT.arguments, _NOT_DECLINED)
    move = found_writes(bench, ["extra_write"]).get("extra_write")
    if move is not None:
        changed = _attempt(bench, [move, _RIGHT])
        yield failing("changed_something_else", transcript(bench.task, changed.made, []), _CHANGED, "transfer")


def _attempt(bench: Workbench, moves: Sequence[Move]) -> Attempt:
    """These calls in the place of the transfer."""
    return bench.attempt([*bench.moves[: bench.before_transfer], *moves])


def _ended(bench: Workbench, name: str, attempt: Attempt, manner: Manner = PLAIN) -> Variant:
    return passing(name, transcript(bench.task, attempt.made, [], manner), "transfer")


def _said(bench: Workbench, name: str, words: str, moves: Sequence[Move] = ()) -> Variant:
    return failing(name, transcript(bench.task, _attempt(bench, moves).made, [words]), _NOT_DECLINED)
