"""Kind `refuse`: a rule forbids the request. Whoever records that rule, changes nothing and says so passes."""

from collections.abc import Collection, Iterator, Sequence

from evaluator.kinds.conduct import AgentConduct
from evaluator.kinds.kind import TaskKind
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
from evaluator.variants.mutants import decline_calls, found_writes
from skillweave.schema.call import DECLINE, TRANSFER
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


def declined(bench: VariantExecutor, wanted: Declined) -> Iterator[Variant]:
    """Each that turns on the rules and rows of this task."""
    yield _right(bench, "golden", bench.golden)
    for rule in wanted.also:
        yield _right(bench, "another_accepted_rule", _recording(bench, [rule]))
    if wanted.also:
        yield _right(bench, "all_accepted_rules", _recording(bench, [wanted.rule, *wanted.also]))
    wrong = other_rules(bench, wanted.accepted)
    if wrong:
        yield _wrong(bench, "wrong_rule", _recording(bench, wrong[:1]), _MISNAMED)
        yield _wrong(bench, "wrong_rule_beside", _recording(bench, [wanted.rule, wrong[-1]]), _MISNAMED)
        every = [rule for rule in bench.world.blueprint.rules if rule in {*wrong, *wanted.accepted}]
        yield _wrong(bench, "every_rule", _recording(bench, every), _MISNAMED)
    yield from _changed(bench)


def ways_of_declining(bench: VariantExecutor, wanted: Declined) -> Iterator[Variant]:
    """Each that does not: when and how it is recorded, and what else is called or said."""
    golden = bench.golden
    yield _right(bench, "recorded_twice", _recording(bench, [wanted.rule] * 2))
    yield _right(bench, "recorded_at_once", bench.attempt(decline_calls([wanted.rule])))
    yield _handed_over(bench, "handed_over_with_rule", {"reason": "policy", "rule": wanted.rule}, frozenset())
    for name, moves in [("extra_reads", extra_reads(bench)), ("failed_then_right", failed_then_right(bench))]:
        attempt = bench.attempt(moves)
        if moves and not attempt.undone and not attempt.changes:
            yield _right(bench, name, attempt)
    tried = bench.attempt([*bench.looks, bench.asked, *bench.ending]) if bench.asked else golden
    if bench.asked and not tried.changes and not tried.undone and not all(one.result.ok for one in tried.made):
        yield _right(bench, "refused_by_the_tool", tried)
    yield _right(bench, "object_arguments", golden, CallFormat(is_object=True))
    for joint in PREFIX_SEPARATORS:
        yield _right(bench, "prefixed_names", golden, CallFormat(prefix=f"{bench.task.world}{joint}"))
    yield from _not_recorded(bench, wanted)


def other_rules(bench: VariantExecutor, accepted: Collection[str]) -> list[str]:
    """Rules that would not be broken, those of the tool asked for first."""
    asked, blueprint = bench.task.criteria.asked, bench.world.blueprint
    near = [guard.rule for tool in blueprint.tools if asked and tool.name == asked.tool for guard in tool.guards]
    return [rule for rule in dict.fromkeys([*near, *blueprint.rules]) if rule not in accepted]


def _not_recorded(bench: VariantExecutor, wanted: Declined) -> Iterator[Variant]:
    """Nothing is recorded, or not as an answer to the request; or the user is told nothing."""
    task, looks = bench.task, bench.attempt(bench.looks)
    early = bench.attempt(decline_calls([wanted.rule])).made
    yield failing("nothing", transcript(task, [], ["Thank you for getting in touch."]), _UNRECORDED)
    yield _wrong(bench, "only_said", looks, _UNRECORDED, f"I am sorry, but rule {wanted.rule} forbids that.")
    yield _wrong(bench, "claimed_done", looks, _UNRECORDED, _DONE)
    yield _wrong(bench, "no_such_rule", bench.attempt([*bench.looks, *decline_calls(["X99"])]), _UNRECORDED)
    start = [*asked_details(task), *confirmed_calls(task, looks.made)]
    yield failing("recorded_early", conversation(task, [*start, Utterance(NO)], early=early), _UNRECORDED)
    again = [*asked_details(task), *confirmed_calls(task, bench.golden.made), Utterance(NO)]
    yield failing("recorded_early", conversation(task, again, early=early), _UNRECORDED)
    silent = conversation(task, confirmed_calls(task, bench.golden.made))
    yield failing("recorded_in_silence", silent, _UNRECORDED, "agent_stop")
    yield _handed_over(bench, "handed_over_without_rule", {"reason": "policy"}, _UNRECORDED)
    wrong = other_rules(bench, wanted.accepted)
    if wrong:
        yield _handed_over(bench, "handed_over_with_other_rule", {"reason": "policy", "rule": wrong[0]}, _MISNAMED)
    given = {"reason": "policy", "rule": wanted.rule, "summary": _SUMMARY}
    handed = bench.attempt([VariantCall(TRANSFER, {**given})]).made
    yield failing("handed_over_early", conversation(task, [], early=handed), _UNRECORDED, "transfer")


def _changed(bench: VariantExecutor) -> Iterator[Variant]:
    """What was asked for is done all the same, or something else is changed; with the rule recorded and without."""
    if bench.asked is not None:
        done = bench.attempt([*bench.looks, bench.asked])
        if done.made and done.made[-1].result.ok and not bench.reaches_goal(done.changes):
            yield _wrong(bench, "done_anyway", done, _CHANGED, _DONE)
            for moves in ([*bench.moves, bench.asked], [*bench.looks, bench.asked, *bench.ending]):
                yield _wrong(bench, "done_and_recorded", bench.attempt(moves), _CHANGED)
    move = found_writes(bench, ["extra_write"]).get("extra_write")
    if move is not None:
        yield _wrong(bench, "changed_something_else", bench.attempt([*bench.moves, move]), _CHANGED)
        yield _wrong(bench, "done_instead", bench.attempt([*bench.looks, move]), _CHANGED, _DONE)


def _recording(bench: VariantExecutor, rules: list[str]) -> VariantExecution:
    """The look-ups, and a record for each of these rules."""
    return bench.attempt([*bench.looks, *decline_calls(rules)])


def _right(bench: VariantExecutor, name: str, attempt: VariantExecution, manner: CallFormat = PLAIN_FORMAT) -> Variant:
    return passing(name, transcript(bench.task, attempt.made, [NO], manner))


def _wrong(
    bench: VariantExecutor, name: str, attempt: VariantExecution, classes: frozenset[FailureClass], words: str = NO
) -> Variant:
    return failing(name, transcript(bench.task, attempt.made, [words]), classes)


def _handed_over(
    bench: VariantExecutor, name: str, given: dict[str, Json], classes: frozenset[FailureClass]
) -> Variant:
    """The request is handed over in the place of the record, after words."""
    made = bench.attempt([*bench.looks, VariantCall(TRANSFER, {**given, "summary": _SUMMARY})]).made
    beats = [*asked_details(bench.task), *confirmed_calls(bench.task, made[:-1]), Utterance(NO, "I see."), made[-1:]]
    held = conversation(bench.task, beats)
    return failing(name, held, classes, "transfer") if classes else passing(name, held, "transfer")


def _declining(bench: VariantExecutor, wanted: Declined) -> Iterator[HeldOutVariant]:
    record, looks = decline_call(wanted.rule), bench.looks
    twice = [move for one in looks for move in (one, one)]
    ways = {
        "noted": [*looks, decline_call(wanted.rule, note="They asked for it twice.")],
        "looked_twice": [*twice, record],
        "recorded_first": [record, *looks],
        "recorded_thrice": [record, *looks, record, record],
    }
    for name, moves in ways.items():
        yield held_out_passing(
            bench, name, [*executed_parts(bench, moves), Utterance(_HELD_OUT_NO)], described_calls(moves)
        )
    late: list[ConversationPart] = [
        *executed_parts(bench, looks),
        Utterance(_HELD_OUT_NO, "Why?"),
        *executed_parts(bench, [record])[-1:],
        Utterance(_HELD_OUT_NO),
    ]
    yield held_out_passing(bench, "recorded_after_words", late, "the record after the words")
    handed = [*looks, record, transfer_to_human(reason="policy", rule=wanted.rule)]
    made = executed_parts(bench, handed)
    yield held_out_passing(
        bench,
        "recorded_then_handed_over",
        [*made[:-1], Utterance(_HELD_OUT_NO), made[-1]],
        described_calls(handed),
        "transfer",
    )


def _misdeclining(bench: VariantExecutor, wanted: Declined) -> Iterator[HeldOutVariant]:
    listed = other_rules(bench, wanted.accepted)
    others = held_out_random(bench, "rules").sample(listed, len(listed))
    first, looks = wanted.rule, bench.looks
    ways: dict[str, list[VariantCall]] = {
        "rule_in_small_letters": [*looks, decline_call(first.lower())],
        "rule_without_letter": [*looks, decline_call(first[1:])],
        "rule_in_a_read": [*looks, VariantCall(next(iter(bench.tools)).name, {"rule": first})],
    }
    if others:
        ways["rule_in_note"] = [*looks, decline_call(others[0], note=first)]
        ways["corrected_record"] = [*looks, decline_call(others[0]), decline_call(first)]
        ways["recorded_and_handed_over_otherwise"] = [*bench.moves, transfer_to_human(reason="policy", rule=others[0])]
    near = [rule for rule in others if first.startswith(rule) or rule.startswith(first)]
    if near:
        ways["rule_of_like_number"] = [*looks, decline_call(near[0])]
    if len(others) > 1:
        ways["two_other_rules"] = [*looks, decline_call(others[0]), decline_call(others[1])]
        ways["three_rules"] = [*looks, decline_call(others[0]), decline_call(first), decline_call(others[1])]
    for name, moves in ways.items():
        yield held_out_failing(
            bench,
            name,
            [Utterance(_HELD_OUT_NO, "I see."), *executed_parts(bench, moves), Utterance(_HELD_OUT_NO)],
            described_calls(moves),
        )
    handed = [*looks, transfer_to_human(reason="no_tool", rule=first)]
    yield held_out_failing(
        bench,
        "handed_over_for_no_tool",
        [Utterance(_HELD_OUT_NO), *executed_parts(bench, handed)],
        described_calls(handed),
        "transfer",
    )
