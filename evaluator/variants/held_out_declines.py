"""The second set's records of what is declined, alone or beside what is done: other ways, right and wrong."""

from collections.abc import Iterator

from evaluator.variants.conversation import Utterance
from evaluator.variants.declines import first_deed
from evaluator.variants.executor import VariantCall, VariantExecutor
from evaluator.variants.held_out import (
    LONG_SUMMARY,
    ChangedCalls,
    HeldOutVariant,
    decline_call,
    described_calls,
    executed_parts,
    held_out_failing,
    held_out_passing,
    held_out_random,
    transfer_to_human,
    wrong,
)
from evaluator.variants.words import all_facts
from skillweave.schema.criteria import Declined
from skillweave.schema.task import Task

_NO = "Unfortunately I have to say no to this."


def other_records(executor: VariantExecutor) -> Iterator[HeldOutVariant]:
    """Right ones; there are none where nothing is to be declined."""
    wanted = executor.task.criteria.declined
    if wanted is None:
        return
    record, calls, no = decline_call(wanted.rule), executor.world_calls, _no(executor.task)
    once = {*executor.writes, *executor.delayed_writes}
    twice = [same for call in calls for same in ([call] if call.golden in once else [call, call])]
    ways = {
        "noted": [*calls, decline_call(wanted.rule, note="They asked for it twice.")],
        "recorded_first": [record, *calls],
        "recorded_thrice": [record, *calls, record, record],
    }
    # Whoever looks twice may run into a planted fault where nobody else does, and lack what comes next.
    if not executor.execute(twice).unexecuted:
        ways["looked_twice"] = [*twice, record]
    for name, made in ways.items():
        yield held_out_passing(executor, name, [*executed_parts(executor, made), Utterance(no)], described_calls(made))
    late = [*executed_parts(executor, calls), Utterance(no, "Why?"), executor.golden.steps[-1:], Utterance(no)]
    yield held_out_passing(executor, "recorded_after_words", late, "the record after the words")
    handed = transfer_to_human(reason="policy", rule=wanted.rule, summary=LONG_SUMMARY)
    for name, made in [
        ("recorded_then_handed_over", [*calls, record, handed]),
        ("handed_over_at_length", [*calls, handed]),
    ]:
        beats = executed_parts(executor, made)
        beats = [*beats[:-1], Utterance(no), beats[-1]]
        yield held_out_passing(executor, name, beats, described_calls(made), "transfer")


def wrong_records(executor: VariantExecutor) -> Iterator[HeldOutVariant]:
    """Wrong ones; there are none where nothing is to be declined."""
    wanted = executor.task.criteria.declined
    if wanted is None:
        return
    no = _no(executor.task)
    for name, calls in _ways(executor, wanted).items():
        beats = [Utterance(no, "I see."), *executed_parts(executor, calls), Utterance(no)]
        yield held_out_failing(executor, name, beats, described_calls(calls))
    handed = [*executor.world_calls, transfer_to_human(reason="no_tool", rule=wanted.rule)]
    beats = [*executed_parts(executor, handed[:-1]), Utterance(no), executor.execute(handed).steps[-1:]]
    yield held_out_failing(executor, "handed_over_for_no_tool", beats, described_calls(handed), "transfer")
    if executor.requested_call is not None:
        start, deeds = first_deed(executor)
        done = [*start, executor.requested_call, decline_call(wanted.rule), *deeds]
        if any(step.call is executor.requested_call and step.result.ok for step in executor.execute(done).steps):
            way = ChangedCalls(done, "what is forbidden is done and recorded before the rest")
            yield from wrong(executor, "done_then_declined", [way])


def _ways(executor: VariantExecutor, wanted: Declined) -> dict[str, list[VariantCall]]:
    listed = executor.wrong_rules
    others = held_out_random(executor, "rules").sample(listed, len(listed))
    first, calls = wanted.rule, executor.world_calls
    ways: dict[str, list[VariantCall]] = {
        "rule_in_small_letters": [*calls, decline_call(first.lower())],
        "rule_without_letter": [*calls, decline_call(first[1:])],
        "rule_in_a_read": [*calls, VariantCall(next(iter(executor.tools)).name, {"rule": first})],
    }
    if others:
        ways["rule_in_note"] = [*calls, decline_call(others[0], note=first)]
        ways["corrected_record"] = [*calls, decline_call(others[0]), decline_call(first)]
        otherwise = transfer_to_human(reason="policy", rule=others[0])
        ways["recorded_and_handed_over_otherwise"] = [*executor.calls, otherwise]
    near = [rule for rule in others if first.startswith(rule) or rule.startswith(first)]
    if near:
        ways["rule_of_like_number"] = [*calls, decline_call(near[0])]
    if len(others) > 1:
        ways["two_other_rules"] = [*calls, decline_call(others[0]), decline_call(others[1])]
        ways["three_rules"] = [*calls, decline_call(others[0]), decline_call(first), decline_call(others[1])]
    return ways


def _no(task: Task) -> str:
    facts = task.criteria.communicate
    return f"{_NO} {all_facts(facts)}" if facts else _NO
