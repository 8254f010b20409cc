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
from evaluator.variants.mutants import MOST_RULES, decline_calls, found_writes
from skillweave.schema.contract import TRANSFER
from skillweave.schema.result import FailureClass
from skillweave.schema.task import Task

_REASONS = ("policy", "cannot_verify", "user_request")
"""Other reasons for a transfer."""
_SORRY = "I am sorry, but there is no tool with which I could do that."
_HELD_OUT_SORRY = "I see nothing with which I could do that."
_SUMMARY = "No tool does what the user wants."
_RIGHT = VariantCall(TRANSFER, {"reason": "no_tool", "summary": _SUMMARY})
_ASKED_FOR = VariantCall(TRANSFER, {"reason": "user_request", "summary": _SUMMARY})
_NOT_HANDED_OVER: frozenset[FailureClass] = frozenset({"not_declined"})
_DECLINED: frozenset[FailureClass] = frozenset({"wrongly_declined"})
_CHANGED: frozenset[FailureClass] = frozenset({"extra_write", "policy_violation"})


class Unavailable(TaskKind):
    """A request that no offered tool serves, and that is handed over to a human.

    The call that it would come to is a tool that the task hides.
    """

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
        """Transfers, at once and after the requested call."""
        yield from handed_over(executor)

    def conduct_variants(self, executor: VariantExecutor) -> Iterator[Variant]:
        """Right and wrong ways to transfer, and changes made all the same."""
        yield from ways_of_handing_over(executor)

    def held_out_variants(self, executor: VariantExecutor) -> Iterator[HeldOutVariant]:
        """Other ways to transfer, right and wrong."""
        yield from _handing_over(executor)
        yield from _not_handing_over(executor)


def handed_over(executor: VariantExecutor) -> Iterator[Variant]:
    """Variants that depend on the rows of this task."""
    yield _ended(executor, "golden", executor.golden)
    if executor.requested_call is not None:
        yield _ended(executor, "tried_first", _execution(executor, [executor.requested_call, _RIGHT]))


def ways_of_handing_over(executor: VariantExecutor) -> Iterator[Variant]:
    """Variants that do not: right ones, then wrong ones."""
    yield _ended(executor, "other_summary", _execution(executor, [_RIGHT]))
    yield _ended(executor, "object_arguments", executor.golden, CallFormat(is_object=True))
    for joint in PREFIX_SEPARATORS:
        yield _ended(executor, "prefixed_names", executor.golden, CallFormat(prefix=f"{executor.task.world}{joint}"))
    reads = needless_reads(executor)
    if reads:
        yield _ended(executor, "extra_reads", _execution(executor, [*reads, _RIGHT]))
    faulty = [
        VariantCall(TRANSFER, {}, is_malformed=True),
        VariantCall(TRANSFER, {"reason": "no tool", "summary": _SUMMARY}),
    ]
    yield _ended(executor, "failed_then_right", _execution(executor, [*faulty, _RIGHT]))
    wants_human = Utterance(_SORRY, "Then let me talk to a human, please.", wants_human=True)
    yield passing("user_wants_human", conversation(executor.task, _asked_for(executor, wants_human)), "transfer")
    call = found_writes(executor, ["extra_write"]).get("extra_write")
    if call is not None:
        changed = _execution(executor, [call, _RIGHT])
        yield failing("changed_something_else", transcript(executor.task, changed.steps, []), _CHANGED, "transfer")
    yield from _not_handed_over(executor)


def _not_handed_over(executor: VariantExecutor) -> Iterator[Variant]:
    yield failing("nothing", transcript(executor.task, [], ["Thank you for getting in touch."]), _NOT_HANDED_OVER)
    yield _said(executor, "only_said", f"{_SORRY} A colleague will call you.")
    yield _said(executor, "claimed_done", "That is done now.")
    yield _said(executor, "invented_transfer", _SORRY, [VariantCall(f"{TRANSFER}_now", _RIGHT.arguments)])
    for reason in _REASONS:
        wrong = _execution(executor, [VariantCall(TRANSFER, {"reason": reason, "summary": _SUMMARY})])
        yield failing("wrong_reason", transcript(executor.task, wrong.steps, []), _NOT_HANDED_OVER, "transfer")
    beats = _asked_for(executor, Utterance(_SORRY, "Oh, I see."))
    yield failing("human_not_wanted", conversation(executor.task, beats), _NOT_HANDED_OVER, "transfer")
    early = executor.execute([_RIGHT]).steps
    yield failing("handed_over_early", conversation(executor.task, [], early=early), _NOT_HANDED_OVER, "transfer")
    rules = executor.world.blueprint.rules
    if not rules:
        return
    declined = _execution(executor, decline_calls(rules[:1]))
    yield failing("declined", transcript(executor.task, declined.steps, [_SORRY]), _DECLINED)
    for name, calls in [
        ("declined_and_handed_over", [*decline_calls(rules[:1]), _RIGHT]),
        ("declined_by_every_rule", [*decline_calls(rules[:MOST_RULES]), _RIGHT]),
        ("handed_over_by_rule", [VariantCall(TRANSFER, {"reason": "policy", "rule": rules[0], "summary": _SUMMARY})]),
    ]:
        yield failing(name, transcript(executor.task, _execution(executor, calls).steps, []), _DECLINED, "transfer")


def _asked_for(executor: VariantExecutor, words: Utterance) -> list[ConversationPart]:
    """A transfer because the user asked for a human, after these words."""
    steps = _execution(executor, [_ASKED_FOR]).steps
    return [*asked_details(executor.task), *confirmed_calls(executor.task, steps[:-1]), words, steps[-1:]]


def _execution(executor: VariantExecutor, calls: Sequence[VariantCall]) -> VariantExecution:
    """These calls in place of the transfer."""
    return executor.execute([*executor.world_calls, *calls])


def _ended(
    executor: VariantExecutor, name: str, execution: VariantExecution, manner: CallFormat = PLAIN_FORMAT
) -> Variant:
    return passing(name, transcript(executor.task, execution.steps, [], manner), "transfer")


def _said(executor: VariantExecutor, name: str, words: str, calls: Sequence[VariantCall] = ()) -> Variant:
    return failing(name, transcript(executor.task, _execution(executor, calls).steps, [words]), _NOT_HANDED_OVER)


def _handing_over(executor: VariantExecutor) -> Iterator[HeldOutVariant]:
    right = transfer_to_human(reason="no_tool")
    twice = [call for one in executor.world_calls for call in (one, one)]
    yield held_out_passing(
        executor, "looked_twice", executed_parts(executor, [*twice, right]), "every look-up twice", "transfer"
    )
    long = transfer_to_human(reason="no_tool", summary=LONG_SUMMARY)
    yield held_out_passing(
        executor, "long_summary", executed_parts(executor, [*executor.world_calls, long]), "a long summary", "transfer"
    )
    wish = Utterance(_HELD_OUT_SORRY, "A human, please!", wants_human=True)
    steps = executed_parts(executor, [*executor.world_calls, right])
    yield held_out_passing(
        executor, "wished_and_no_tool", [*steps[:-1], wish, steps[-1]], "the better of two reasons", "transfer"
    )
    asked = executed_parts(executor, [*executor.world_calls, transfer_to_human(reason="user_request")])
    late = [wish, Utterance("Let me try once more.", "All right."), *asked]
    yield held_out_passing(
        executor, "wished_some_time_ago", late, "the wish stands, whatever was said since", "transfer"
    )


def _not_handing_over(executor: VariantExecutor) -> Iterator[HeldOutVariant]:
    for name, given in [
        ("no_summary", {"reason": "no_tool"}),
        ("reason_in_summary", {"reason": "cannot_verify", "summary": "no_tool"}),
        ("other_case", {"reason": "NO_TOOL", "summary": LONG_SUMMARY}),
    ]:
        steps = executed_parts(executor, [*executor.world_calls, VariantCall(TRANSFER, {**given})])
        went = executor.execute([*executor.world_calls, VariantCall(TRANSFER, {**given})]).steps[-1].result.ok
        yield held_out_failing(executor, name, steps, str(given), "transfer" if went else "max_turns")
    wish = Utterance(_HELD_OUT_SORRY, "A human, please!", wants_human=True)
    verified = executed_parts(executor, [*executor.world_calls, transfer_to_human(reason="cannot_verify")])
    yield held_out_failing(
        executor, "wished_and_another_reason", [wish, *verified], "a human was wished for", "transfer"
    )
    agreed = Utterance("May I hand you over to a colleague?", "Yes.", agrees=True)
    asked = executed_parts(executor, [*executor.world_calls, transfer_to_human(reason="user_request")])
    yield held_out_failing(executor, "agreed_to_a_human", [agreed, *asked], "the agent's own wish", "transfer")
    yield held_out_failing(
        executor,
        "wish_unheard",
        [*executed_parts(executor, executor.world_calls), wish, Utterance(_HELD_OUT_SORRY)],
        "nobody comes",
    )
