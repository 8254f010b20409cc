"""Kind `unavailable`: no offered tool serves the request. Whoever transfers it to a human for that reason passes."""

from collections.abc import Iterator, Sequence

from evaluator.kinds.conduct import (
    AgentConduct,
    RecordedDecline,
    decline_faults,
    question_faults,
    transfer_call,
    transfer_faults,
)
from evaluator.kinds.kind import Misconduct, TaskKind
from evaluator.replay.execution import ExecutedCall
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
from evaluator.variants.held_out import (
    LONG_SUMMARY,
    HeldOutVariant,
    executed_parts,
    held_out_failing,
    held_out_passing,
    transfer_to_human,
)
from evaluator.variants.mutants import decline_calls, found_writes
from skillweave.schema.call import TRANSFER
from skillweave.schema.result import FailureClass
from skillweave.schema.task import Task

_REASONS = ("policy", "cannot_verify", "user_request")
"""Why else one hands over."""
_SORRY = "I am sorry, but there is no tool with which I could do that."
_HELD_OUT_SORRY = "I see nothing with which I could do that."
_SUMMARY = "No tool does what the user wants."
_RIGHT = VariantCall(TRANSFER, {"reason": "no_tool", "summary": _SUMMARY})
_ASKED_FOR = VariantCall(TRANSFER, {"reason": "user_request", "summary": _SUMMARY})
_NOT_HANDED_OVER: frozenset[FailureClass] = frozenset({"not_declined"})
_DECLINED: frozenset[FailureClass] = frozenset({"wrongly_declined"})
_CHANGED: frozenset[FailureClass] = frozenset({"extra_write", "policy_violation"})


class Unavailable(TaskKind):
    """A request that is transferred. The call that it would come to is a tool that the task hides."""

    is_carried_out = False
    ending = TRANSFER
    rubric_question = "Did the agent say plainly that it has no means to do this, and hand the user over to a human?"
    mistakes = ("wrong_reason", "gives_up")

    def conduct_faults(self, conduct: AgentConduct) -> Iterator[str]:
        """Also what is wrong with the transfer."""
        yield from decline_faults(conduct)
        yield from transfer_faults(conduct)
        yield from question_faults(conduct)

    def needs_messages(self, task: Task, calls: Sequence[ExecutedCall]) -> bool:
        """Only the conversation shows whether the user asked for a human."""
        call = transfer_call(calls)
        is_wish = call is not None and call.arguments.get("reason") == "user_request"
        return is_wish or super().needs_messages(task, calls)

    def misconduct(self, task: Task, declines: Sequence[RecordedDecline]) -> Misconduct:
        """Without declines the transfer is wrong, or there is none."""
        if declines or task.criteria.declined is not None:
            return super().misconduct(task, declines)
        return Misconduct("not_declined", f'{TRANSFER}(reason="no_tool")')

    def variants(self, executor: VariantExecutor) -> Iterator[Variant]:
        """Transfers, and changes made all the same."""
        yield from handed_over(executor)

    def conduct_variants(self, executor: VariantExecutor) -> Iterator[Variant]:
        """Right and wrong ways to transfer."""
        yield from ways_of_handing_over(executor)

    def held_out_variants(self, executor: VariantExecutor) -> Iterator[HeldOutVariant]:
        """Other ways to transfer, right and wrong."""
        yield from _handing_over(executor)
        yield from _not_handing_over(executor)


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


def _handing_over(bench: VariantExecutor) -> Iterator[HeldOutVariant]:
    right = transfer_to_human(reason="no_tool")
    twice = [move for one in bench.looks for move in (one, one)]
    yield held_out_passing(
        bench, "looked_twice", executed_parts(bench, [*twice, right]), "every look-up twice", "transfer"
    )
    long = transfer_to_human(reason="no_tool", summary=LONG_SUMMARY)
    yield held_out_passing(
        bench, "long_summary", executed_parts(bench, [*bench.looks, long]), "a long summary", "transfer"
    )
    wish = Utterance(_HELD_OUT_SORRY, "A human, please!", wants_human=True)
    made = executed_parts(bench, [*bench.looks, right])
    yield held_out_passing(
        bench, "wished_and_no_tool", [*made[:-1], wish, made[-1]], "the better of two reasons", "transfer"
    )
    asked = executed_parts(bench, [*bench.looks, transfer_to_human(reason="user_request")])
    late = [wish, Utterance("Let me try once more.", "All right."), *asked]
    yield held_out_passing(bench, "wished_some_time_ago", late, "the wish stands, whatever was said since", "transfer")


def _not_handing_over(bench: VariantExecutor) -> Iterator[HeldOutVariant]:
    for name, given in [
        ("no_summary", {"reason": "no_tool"}),
        ("reason_in_summary", {"reason": "cannot_verify", "summary": "no_tool"}),
        ("other_case", {"reason": "NO_TOOL", "summary": LONG_SUMMARY}),
    ]:
        made = executed_parts(bench, [*bench.looks, VariantCall(TRANSFER, {**given})])
        went = bench.attempt([*bench.looks, VariantCall(TRANSFER, {**given})]).made[-1].result.ok
        yield held_out_failing(bench, name, made, str(given), "transfer" if went else "max_turns")
    wish = Utterance(_HELD_OUT_SORRY, "A human, please!", wants_human=True)
    verified = executed_parts(bench, [*bench.looks, transfer_to_human(reason="cannot_verify")])
    yield held_out_failing(bench, "wished_and_another_reason", [wish, *verified], "a human was wished for", "transfer")
    agreed = Utterance("May I hand you over to a colleague?", "Yes.", agrees=True)
    asked = executed_parts(bench, [*bench.looks, transfer_to_human(reason="user_request")])
    yield held_out_failing(bench, "agreed_to_a_human", [agreed, *asked], "the agent's own wish", "transfer")
    yield held_out_failing(
        bench, "wish_unheard", [*executed_parts(bench, bench.looks), wish, Utterance(_HELD_OUT_SORRY)], "nobody comes"
    )
