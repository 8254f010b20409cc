"""Ways of dealing with a request that a rule forbids: those that record that rule, and change nothing, pass."""

from collections.abc import Collection, Iterator

from evaluator.variants.conversation import (
    PLAIN_FORMAT,
    CallFormat,
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
from evaluator.variants.mutants import decline_calls, found_writes
from skillweave.schema.call import TRANSFER
from skillweave.schema.record import Json
from skillweave.schema.result import FailureClass
from skillweave.schema.task import Declined

NO = "I am sorry, but I may not do that."
_DONE = "That is done now."
_SUMMARY = "What the user asks for is against a rule."
_UNRECORDED: frozenset[FailureClass] = frozenset({"not_declined"})
_MISNAMED: frozenset[FailureClass] = frozenset({"wrong_rule"})
_CHANGED: frozenset[FailureClass] = frozenset({"extra_write", "policy_violation"})


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
