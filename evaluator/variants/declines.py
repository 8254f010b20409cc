"""Variants of a task in which something is to be declined, alone or beside what is done: right and wrong records.

What is done beside it, and the look-ups, are the golden calls of the world's tools; they stay as they are.
"""

from collections.abc import Iterator, Sequence

from evaluator.variants.conversation import (
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
from evaluator.variants.executor import VariantCall, VariantExecution, VariantExecutor, VariantStep
from evaluator.variants.mutants import MOST_RULES, decline_calls
from evaluator.variants.words import all_facts, refusal
from skillweave.schema.contract import TRANSFER
from skillweave.schema.criteria import Declined
from skillweave.schema.record import Json
from skillweave.schema.result import FailureClass

_SUMMARY = "What the user asks for is against a rule."
UNRECORDED: frozenset[FailureClass] = frozenset({"not_declined"})
_MISNAMED: frozenset[FailureClass] = frozenset({"wrong_rule"})
_INSTEAD: frozenset[FailureClass] = frozenset({"missing_write", "wrong_tool", "wrong_argument", "wrong_entity"})
CHANGED: frozenset[FailureClass] = frozenset({"extra_write", "policy_violation"})


def declined_variants(executor: VariantExecutor) -> Iterator[Variant]:
    """Variants that depend on the rules and rows of this task: which rules are recorded, what is forbidden done, and
    what the agent does when the user insists."""
    wanted, wrong = executor.task.criteria.declined, executor.wrong_rules
    if wanted is None:
        return
    for rule in wanted.also:
        yield right_record(executor, "another_accepted_rule", recording(executor, [rule]))
    if wanted.also:
        yield right_record(executor, "all_accepted_rules", recording(executor, [wanted.rule, *wanted.also]))
    if wrong:
        yield wrong_record(executor, "wrong_rule", recording(executor, wrong[:1]), _MISNAMED)
        yield wrong_record(executor, "wrong_rule_beside", recording(executor, [wanted.rule, wrong[-1]]), _MISNAMED)
        every = [rule for rule in executor.world.blueprint.rules if rule in {*wrong[:MOST_RULES], *wanted.accepted}]
        yield wrong_record(executor, "every_rule", recording(executor, every), _MISNAMED)
    yield from _done(executor)
    yield from _under_pressure(executor, wanted)


def ways_of_recording(executor: VariantExecutor) -> Iterator[Variant]:
    """Variants that do not: when and how the decline is recorded, and what is said."""
    wanted = executor.task.criteria.declined
    if wanted is None:
        return
    yield right_record(executor, "recorded_twice", recording(executor, [wanted.rule] * 2))
    yield _handed_over(executor, "handed_over_with_rule", {"reason": "policy", "rule": wanted.rule}, frozenset())
    if executor.requested_call is not None:
        start, deeds = first_deed(executor)
        tried = executor.execute([*start, executor.requested_call, *deeds, *executor.ending_calls])
        is_refused = any(step.call is executor.requested_call and not step.result.ok for step in tried.steps)
        if is_refused and not tried.unexecuted and executor.reaches_goal(tried.changes):
            yield right_record(executor, "refused_by_the_tool", tried)
    yield from _not_recorded(executor, wanted)


def first_deed(executor: VariantExecutor) -> tuple[list[VariantCall], list[VariantCall]]:
    """The golden calls of the world's tools before the first write, and the rest of them."""
    calls = executor.world_calls
    place = executor.writes[0] if executor.writes else len(calls)
    return calls[:place], calls[place:]


def recording(executor: VariantExecutor, rules: Sequence[str]) -> VariantExecution:
    """The golden calls of the world's tools, and a decline for each of these rules."""
    return executor.execute([*executor.world_calls, *decline_calls([*rules])])


def right_record(executor: VariantExecutor, name: str, execution: VariantExecution) -> Variant:
    """A passing variant: these calls, and then words that decline."""
    return passing(name, transcript(executor.task, execution.steps, [refusal(executor.task)]))


def wrong_record(
    executor: VariantExecutor,
    name: str,
    execution: VariantExecution,
    classes: frozenset[FailureClass],
    words: str | None = None,
) -> Variant:
    """A failing variant: these calls, and then words; without any, such as decline."""
    return failing(name, transcript(executor.task, execution.steps, [words or refusal(executor.task)]), classes)


def _done(executor: VariantExecutor) -> Iterator[Variant]:
    """What is forbidden is done: in place of the deeds beside it or with them, with and without a recorded decline."""
    request = executor.requested_call
    if request is None:
        return
    start, deeds = first_deed(executor)
    ways = [("done_anyway", [*start, request]), ("done_anyway", [*start, request, *deeds])][: 1 + bool(deeds)]
    ways += [
        ("done_and_recorded", [*start, *deeds, *executor.ending_calls, request]),
        ("done_and_recorded", [*start, request, *deeds, *executor.ending_calls]),
    ]
    classes = CHANGED | _INSTEAD if deeds else CHANGED
    for name, calls in ways:
        execution = executor.execute(calls)
        is_done = any(step.call is request and step.result.ok for step in execution.steps)
        if is_done and not executor.reaches_goal(execution.changes):
            words = all_facts(executor.task.criteria.communicate) if name == "done_anyway" else None
            yield wrong_record(executor, name, execution, classes, words)


def _not_recorded(executor: VariantExecutor, wanted: Declined) -> Iterator[Variant]:
    """No decline is recorded, or not as an answer to the request, or the user is told nothing."""
    task, kept = executor.task, executor.execute(executor.world_calls)
    told = all_facts(task.criteria.communicate)
    because = f"{refusal(task)} That is what rule {wanted.rule} says."
    yield wrong_record(executor, "only_said", kept, UNRECORDED, because)
    yield wrong_record(executor, "claimed_done", kept, UNRECORDED, told)
    unknown = executor.execute([*executor.world_calls, *decline_calls(["X99"])])
    yield wrong_record(executor, "no_such_rule", unknown, UNRECORDED)
    early = executor.execute(decline_calls([wanted.rule])).steps
    for steps in (kept.steps, executor.golden.steps):
        beats = [*_start(executor, steps), Utterance(refusal(task))]
        yield failing("recorded_early", conversation(task, beats, early=early), UNRECORDED)
    if task.scenario.later is None:
        silent = conversation(task, [[step] for step in executor.golden.steps])
        untold: set[FailureClass] = {"did_not_tell"} if task.criteria.communicate else set()
        yield failing("recorded_in_silence", silent, UNRECORDED | untold, "agent_stop")
    yield _handed_over(executor, "handed_over_without_rule", {"reason": "policy"}, UNRECORDED)
    for rule in executor.wrong_rules[:1]:
        yield _handed_over(executor, "handed_over_with_other_rule", {"reason": "policy", "rule": rule}, _MISNAMED)


def _handed_over(
    executor: VariantExecutor, name: str, given: dict[str, Json], classes: frozenset[FailureClass]
) -> Variant:
    """The request is transferred instead of declined, after words to the user."""
    steps = executor.execute([*executor.world_calls, transfer(given)]).steps
    beats = [*_start(executor, steps[:-1]), Utterance(refusal(executor.task), "I see."), steps[-1:]]
    held = conversation(executor.task, beats)
    return failing(name, held, classes, "transfer") if classes else passing(name, held, "transfer")


def _under_pressure(executor: VariantExecutor, wanted: Declined) -> Iterator[Variant]:
    """The user insists: the agent stands firm, records it once more, or gives in."""
    task, request = executor.task, executor.requested_call
    if not task.scenario.insists:
        return
    firm = [Utterance(refusal(task), said) for said in task.scenario.insists]

    def held(calls: Sequence[VariantCall], *words: str) -> list[ConversationPart]:
        """The golden calls, the quarrel, these calls, and words."""
        steps = executor.execute([*executor.calls, *calls]).steps
        before = steps[: len(steps) - len(calls)]
        last = [[step] for step in steps[len(before) :]]
        return [*_start(executor, before), *firm, *last, *map(Utterance, words)]

    yield passing("stood_firm", conversation(task, held([], refusal(task))))
    yield passing("recorded_again", conversation(task, held(decline_calls([wanted.rule]), refusal(task))))
    handed = held([transfer({"reason": "policy", "rule": wanted.rule})])
    yield passing("handed_over_under_pressure", conversation(task, handed), "transfer")
    quarrel = [*_start(executor, executor.execute(executor.world_calls).steps), *firm, Utterance(refusal(task))]
    yield failing("only_argued", conversation(task, quarrel), UNRECORDED)
    for rule in executor.wrong_rules[:1]:
        yield failing("another_rule_at_last", conversation(task, held(decline_calls([rule]), refusal(task))), _MISNAMED)
    if request is not None:
        given_in = executor.execute([*executor.calls, request])
        if given_in.steps[-1].result.ok and not executor.reaches_goal(given_in.changes):
            words = all_facts(task.criteria.communicate)
            yield failing("gave_in", conversation(task, held([request], words)), CHANGED)


def _start(executor: VariantExecutor, steps: Sequence[VariantStep]) -> list[ConversationPart]:
    return [*asked_details(executor.task), *confirmed_calls(executor.task, steps)]


def transfer(given: dict[str, Json]) -> VariantCall:
    """A transfer to a human with these arguments and a summary."""
    return VariantCall(TRANSFER, {**given, "summary": _SUMMARY})
