"""Kind `refuse`: a rule forbids the request. Whoever records that rule, changes nothing and says so passes."""

from collections.abc import Collection, Iterator, Sequence

from evaluator.kinds.kind import AgentConduct, TaskKind
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
from evaluator.variants.equivalents import PREFIX_SEPARATORS, extra_reads, failed_then_right
from evaluator.variants.executor import VariantCall, VariantExecution, VariantExecutor
from evaluator.variants.held_out import (
    HeldOutVariant,
    decline_call,
    described_calls,
    executed_parts,
    held_out_failing,
    held_out_passing,
    held_out_random,
    transfer_to_human,
)
from evaluator.variants.held_out_calls import needless_declines
from evaluator.variants.mutants import MOST_RULES, decline_calls, found_writes
from skillweave.schema.contract import DECLINE, TRANSFER
from skillweave.schema.record import Json
from skillweave.schema.result import FailureClass
from skillweave.schema.task import Declined, Task

NO = "I am sorry, but I may not do that."
_HELD_OUT_NO = "Unfortunately I have to say no to this."
_DONE = "That is done now."
_SUMMARY = "What the user asks for is against a rule."
_UNRECORDED: frozenset[FailureClass] = frozenset({"not_declined"})
_MISNAMED: frozenset[FailureClass] = frozenset({"wrong_rule"})
_CHANGED: frozenset[FailureClass] = frozenset({"extra_write", "policy_violation"})


class Refuse(TaskKind):
    """A request that is declined. The deciding rule stands in `criteria.declined`."""

    is_carried_out = False
    ending = DECLINE
    rubric_question = (
        "Did the agent decline what the company's rules forbid, and explain why in words that users understand?"
    )
    mistakes = ("nothing_recorded", "wrong_rule", "extra_write")

    def task_fault(self, task: Task) -> str | None:
        """A task without the deciding rule cannot be scored."""
        if task.criteria.declined is None:
            return "criteria.declined does not say which rule decides a request that is to be declined"
        return None

    def conduct_faults(self, conduct: AgentConduct) -> Iterator[str]:
        """Without a deciding rule no decline can be right."""
        if conduct.task.criteria.declined is None:
            yield "nothing says which rule decides it"
        yield from super().conduct_faults(conduct)

    def needs_messages(self, task: Task, calls: Sequence[ExecutedCall]) -> bool:
        """Only the conversation shows whether the user was told."""
        return True

    def variants(self, executor: VariantExecutor) -> Iterator[Variant]:
        """Declines with the right and with wrong rules, and changes made all the same."""
        wanted = executor.task.criteria.declined
        if wanted is not None and not executor.golden.changes:
            yield from declined(executor, wanted)

    def conduct_variants(self, executor: VariantExecutor) -> Iterator[Variant]:
        """When and how the decline is recorded, and what else is called or said."""
        wanted = executor.task.criteria.declined
        if wanted is not None and not executor.golden.changes:
            yield from ways_of_declining(executor, wanted)

    def held_out_variants(self, executor: VariantExecutor) -> Iterator[HeldOutVariant]:
        """Other ways of declining, right and wrong."""
        wanted = executor.task.criteria.declined
        if wanted is None or executor.golden.changes:
            yield from needless_declines(executor)
            return
        yield from _declining(executor, wanted)
        yield from _misdeclining(executor, wanted)


def declined(executor: VariantExecutor, wanted: Declined) -> Iterator[Variant]:
    """Variants that depend on the rules and rows of this task."""
    yield _right(executor, "golden", executor.golden)
    for rule in wanted.also:
        yield _right(executor, "another_accepted_rule", _recording(executor, [rule]))
    if wanted.also:
        yield _right(executor, "all_accepted_rules", _recording(executor, [wanted.rule, *wanted.also]))
    wrong = other_rules(executor, wanted.accepted)
    if wrong:
        yield _wrong(executor, "wrong_rule", _recording(executor, wrong[:1]), _MISNAMED)
        yield _wrong(executor, "wrong_rule_beside", _recording(executor, [wanted.rule, wrong[-1]]), _MISNAMED)
        every = [rule for rule in executor.world.blueprint.rules if rule in {*wrong[:MOST_RULES], *wanted.accepted}]
        yield _wrong(executor, "every_rule", _recording(executor, every), _MISNAMED)
    yield from _done(executor)


def ways_of_declining(executor: VariantExecutor, wanted: Declined) -> Iterator[Variant]:
    """Variants that do not: when and how the decline is recorded, and what else is called, changed or said."""
    golden = executor.golden
    yield _right(executor, "recorded_twice", _recording(executor, [wanted.rule] * 2))
    yield _right(executor, "recorded_at_once", executor.execute(decline_calls([wanted.rule])))
    yield _handed_over(executor, "handed_over_with_rule", {"reason": "policy", "rule": wanted.rule}, frozenset())
    for name, calls in [("extra_reads", extra_reads(executor)), ("failed_then_right", failed_then_right(executor))]:
        execution = executor.execute(calls)
        if calls and not execution.unexecuted and not execution.changes:
            yield _right(executor, name, execution)
    tried = (
        executor.execute([*executor.world_calls, executor.requested_call, *executor.ending_calls])
        if executor.requested_call
        else golden
    )
    if (
        executor.requested_call
        and not tried.changes
        and not tried.unexecuted
        and not all(one.result.ok for one in tried.steps)
    ):
        yield _right(executor, "refused_by_the_tool", tried)
    yield _right(executor, "object_arguments", golden, CallFormat(is_object=True))
    for joint in PREFIX_SEPARATORS:
        yield _right(executor, "prefixed_names", golden, CallFormat(prefix=f"{executor.task.world}{joint}"))
    yield from _changed_besides(executor)
    yield from _not_recorded(executor, wanted)


def other_rules(executor: VariantExecutor, accepted: Collection[str]) -> list[str]:
    """Rules that the request does not break; first those of the requested tool."""
    asked, blueprint = executor.task.criteria.asked, executor.world.blueprint
    near = [guard.rule for tool in blueprint.tools if asked and tool.name == asked.tool for guard in tool.guards]
    return [rule for rule in dict.fromkeys([*near, *blueprint.rules]) if rule not in accepted]


def _not_recorded(executor: VariantExecutor, wanted: Declined) -> Iterator[Variant]:
    """No decline is recorded, or not as an answer to the request, or the user is told nothing."""
    task, lookups = executor.task, executor.execute(executor.world_calls)
    early = executor.execute(decline_calls([wanted.rule])).steps
    yield failing("nothing", transcript(task, [], ["Thank you for getting in touch."]), _UNRECORDED)
    yield _wrong(executor, "only_said", lookups, _UNRECORDED, f"I am sorry, but rule {wanted.rule} forbids that.")
    yield _wrong(executor, "claimed_done", lookups, _UNRECORDED, _DONE)
    yield _wrong(
        executor, "no_such_rule", executor.execute([*executor.world_calls, *decline_calls(["X99"])]), _UNRECORDED
    )
    start = [*asked_details(task), *confirmed_calls(task, lookups.steps)]
    yield failing("recorded_early", conversation(task, [*start, Utterance(NO)], early=early), _UNRECORDED)
    again = [*asked_details(task), *confirmed_calls(task, executor.golden.steps), Utterance(NO)]
    yield failing("recorded_early", conversation(task, again, early=early), _UNRECORDED)
    silent = conversation(task, confirmed_calls(task, executor.golden.steps))
    yield failing("recorded_in_silence", silent, _UNRECORDED, "agent_stop")
    yield _handed_over(executor, "handed_over_without_rule", {"reason": "policy"}, _UNRECORDED)
    wrong = other_rules(executor, wanted.accepted)
    if wrong:
        yield _handed_over(executor, "handed_over_with_other_rule", {"reason": "policy", "rule": wrong[0]}, _MISNAMED)
    given = {"reason": "policy", "rule": wanted.rule, "summary": _SUMMARY}
    handed = executor.execute([VariantCall(TRANSFER, {**given})]).steps
    yield failing("handed_over_early", conversation(task, [], early=handed), _UNRECORDED, "transfer")


def _done(executor: VariantExecutor) -> Iterator[Variant]:
    """The request is carried out all the same, with and without a recorded decline."""
    if executor.requested_call is not None:
        done = executor.execute([*executor.world_calls, executor.requested_call])
        if done.steps and done.steps[-1].result.ok and not executor.reaches_goal(done.changes):
            yield _wrong(executor, "done_anyway", done, _CHANGED, _DONE)
            for calls in (
                [*executor.calls, executor.requested_call],
                [*executor.world_calls, executor.requested_call, *executor.ending_calls],
            ):
                yield _wrong(executor, "done_and_recorded", executor.execute(calls), _CHANGED)


def _changed_besides(executor: VariantExecutor) -> Iterator[Variant]:
    """Something else is changed, with and without a recorded decline."""
    call = found_writes(executor, ["extra_write"]).get("extra_write")
    if call is not None:
        yield _wrong(executor, "changed_something_else", executor.execute([*executor.calls, call]), _CHANGED)
        yield _wrong(executor, "done_instead", executor.execute([*executor.world_calls, call]), _CHANGED, _DONE)


def _recording(executor: VariantExecutor, rules: list[str]) -> VariantExecution:
    """The look-ups, and a decline for each of these rules."""
    return executor.execute([*executor.world_calls, *decline_calls(rules)])


def _right(
    executor: VariantExecutor, name: str, execution: VariantExecution, manner: CallFormat = PLAIN_FORMAT
) -> Variant:
    return passing(name, transcript(executor.task, execution.steps, [NO], manner))


def _wrong(
    executor: VariantExecutor, name: str, execution: VariantExecution, classes: frozenset[FailureClass], words: str = NO
) -> Variant:
    return failing(name, transcript(executor.task, execution.steps, [words]), classes)


def _handed_over(
    executor: VariantExecutor, name: str, given: dict[str, Json], classes: frozenset[FailureClass]
) -> Variant:
    """The request is transferred instead of declined, after words to the user."""
    steps = executor.execute([*executor.world_calls, VariantCall(TRANSFER, {**given, "summary": _SUMMARY})]).steps
    beats = [
        *asked_details(executor.task),
        *confirmed_calls(executor.task, steps[:-1]),
        Utterance(NO, "I see."),
        steps[-1:],
    ]
    held = conversation(executor.task, beats)
    return failing(name, held, classes, "transfer") if classes else passing(name, held, "transfer")


def _declining(executor: VariantExecutor, wanted: Declined) -> Iterator[HeldOutVariant]:
    record, lookups = decline_call(wanted.rule), executor.world_calls
    twice = [call for one in lookups for call in (one, one)]
    ways = {
        "noted": [*lookups, decline_call(wanted.rule, note="They asked for it twice.")],
        "looked_twice": [*twice, record],
        "recorded_first": [record, *lookups],
        "recorded_thrice": [record, *lookups, record, record],
    }
    for name, calls in ways.items():
        yield held_out_passing(
            executor, name, [*executed_parts(executor, calls), Utterance(_HELD_OUT_NO)], described_calls(calls)
        )
    late: list[ConversationPart] = [
        *executed_parts(executor, lookups),
        Utterance(_HELD_OUT_NO, "Why?"),
        *executed_parts(executor, [record])[-1:],
        Utterance(_HELD_OUT_NO),
    ]
    yield held_out_passing(executor, "recorded_after_words", late, "the record after the words")
    handed = [*lookups, record, transfer_to_human(reason="policy", rule=wanted.rule)]
    steps = executed_parts(executor, handed)
    yield held_out_passing(
        executor,
        "recorded_then_handed_over",
        [*steps[:-1], Utterance(_HELD_OUT_NO), steps[-1]],
        described_calls(handed),
        "transfer",
    )


def _misdeclining(executor: VariantExecutor, wanted: Declined) -> Iterator[HeldOutVariant]:
    listed = other_rules(executor, wanted.accepted)
    others = held_out_random(executor, "rules").sample(listed, len(listed))
    first, lookups = wanted.rule, executor.world_calls
    ways: dict[str, list[VariantCall]] = {
        "rule_in_small_letters": [*lookups, decline_call(first.lower())],
        "rule_without_letter": [*lookups, decline_call(first[1:])],
        "rule_in_a_read": [*lookups, VariantCall(next(iter(executor.tools)).name, {"rule": first})],
    }
    if others:
        ways["rule_in_note"] = [*lookups, decline_call(others[0], note=first)]
        ways["corrected_record"] = [*lookups, decline_call(others[0]), decline_call(first)]
        ways["recorded_and_handed_over_otherwise"] = [
            *executor.calls,
            transfer_to_human(reason="policy", rule=others[0]),
        ]
    near = [rule for rule in others if first.startswith(rule) or rule.startswith(first)]
    if near:
        ways["rule_of_like_number"] = [*lookups, decline_call(near[0])]
    if len(others) > 1:
        ways["two_other_rules"] = [*lookups, decline_call(others[0]), decline_call(others[1])]
        ways["three_rules"] = [*lookups, decline_call(others[0]), decline_call(first), decline_call(others[1])]
    for name, calls in ways.items():
        yield held_out_failing(
            executor,
            name,
            [Utterance(_HELD_OUT_NO, "I see."), *executed_parts(executor, calls), Utterance(_HELD_OUT_NO)],
            described_calls(calls),
        )
    handed = [*lookups, transfer_to_human(reason="no_tool", rule=first)]
    yield held_out_failing(
        executor,
        "handed_over_for_no_tool",
        [Utterance(_HELD_OUT_NO), *executed_parts(executor, handed)],
        described_calls(handed),
        "transfer",
    )
