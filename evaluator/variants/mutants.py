"""Variants that all fail: wrong, missing or additional calls, unfinished work, and wrong or untold facts."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

from evaluator.variants.arguments import arguments_of, changed_calls
from evaluator.variants.conversation import (
    Utterance,
    Variant,
    VariantConversation,
    asked_details,
    confirmed_calls,
    conversation,
    failing,
    transcript,
)
from evaluator.variants.equivalents import reorderings
from evaluator.variants.executor import VariantCall, VariantExecution, VariantExecutor
from evaluator.variants.words import (
    PARTING_WORDS,
    all_facts,
    fact_sentence,
    other_values,
    part_values,
    rival_values,
    tells_value,
    value_in_words,
)
from skillweave.schema.contract import DECLINE, TRANSFER, RowChange, Tool
from skillweave.schema.criteria import FactToTell
from skillweave.schema.result import FailureClass
from skillweave.world.canonical import dump
from skillweave.world.diff import delta
from skillweave.world.session import ContractSession
from skillweave.world.sql import parse
from skillweave.world.world import World

WriteSort = Literal["extra_write", "undone", "broken_rule"]
_MOST_TRIES = 16
"""Most calls to try of one tool."""
_ROUNDS = 8
"""Number of equal calls in a loop."""
_WORDS = "Thank you for getting in touch. I hope that this helps you."
_NO = "I am sorry, but a rule does not allow that."
_HAND_OVER = {"reason": "user_request", "summary": "The customer needs help."}
_DECLINED: frozenset[FailureClass] = frozenset({"wrongly_declined", "wrong_rule"})
"""The second, where something else is to be declined."""
MOST_RULES = 8
"""Rules to record at once in the place of every rule: each wrong one is a fault, so more of them show nothing more."""
_MOST_BESIDE = 2
"""Most rival values to tell together with the right value."""
_UNTOLD: frozenset[FailureClass] = frozenset({"did_not_tell"})
_WRONG: frozenset[FailureClass] = frozenset({"told_wrong"})


def mutants(executor: VariantExecutor) -> Iterator[Variant]:
    """Variants that depend on the values and rows of this task."""
    yield from _left_out(executor)
    yield from _demanded_left_out(executor)
    yield from _half_batches(executor)
    yield from changed_calls(executor)
    yield from _swapped(executor)
    yield from _written_twice(executor)


def _left_out(executor: VariantExecutor) -> Iterator[Variant]:
    for place in executor.writes:
        execution = executor.execute(_without(executor, {place}))
        if not executor.reaches_goal(execution.changes):
            name = "delete_left_out" if _deletes(executor, place) else "write_left_out"
            yield _failing(executor, name, execution, {"missing_write"})


def _demanded_left_out(executor: VariantExecutor) -> Iterator[Variant]:
    """Leave out the calls that bridge rules demand, with the reads that only these need. Calls that a tool then refuses
    stay in the conversation."""
    omitted = {place for place, call in enumerate(executor.task.golden) if call.demanded_by is not None}
    if not omitted:
        return
    for place in reversed(range(len(executor.calls))):
        users = {user for user in range(place + 1, len(executor.calls)) if place in executor.takes_from(user)}
        if users and users <= omitted and place not in executor.writes:
            omitted.add(place)
    calls = _without(executor, omitted)
    refused = executor.execute(calls).unexecuted
    tried = [VariantCall(call.tool, executor.task.golden[call.golden or 0].arguments) for call in calls]
    execution = executor.execute(
        [own if call.golden in refused else call for call, own in zip(calls, tried, strict=True)]
    )
    if not executor.reaches_goal(execution.changes):
        yield _failing(executor, "demanded_left_out", execution, {"missing_write"})


def _half_batches(executor: VariantExecutor) -> Iterator[Variant]:
    """Leave out the later half of several writes of one tool."""
    by_tool: dict[str, list[int]] = {}
    for place in executor.writes:
        by_tool.setdefault(executor.task.golden[place].tool, []).append(place)
    for places in by_tool.values():
        execution = executor.execute(_without(executor, {*places[(len(places) + 1) // 2 :]}))
        if len(places) > 1 and not executor.reaches_goal(execution.changes):
            yield _failing(executor, "half_batch", execution, {"missing_write"})


def _swapped(executor: VariantExecutor) -> Iterator[Variant]:
    """Writes in another order, if that leads to another state or breaks a rule that only the policy states."""
    for calls in reorderings(executor):
        execution = executor.execute(calls)
        is_against_policy = not execution.is_lawful and "policy" in executor.task.criteria.reward_basis
        if not execution.unexecuted and (is_against_policy or not executor.reaches_goal(execution.changes)):
            yield _failing(executor, "swapped_writes", execution, {"wrong_order"})


def _written_twice(executor: VariantExecutor) -> Iterator[Variant]:
    """Each write once more at the end, if the tool accepts it and the end state is another."""
    for place in executor.writes:
        step = executor.golden.steps[place]
        execution = executor.execute([*executor.calls, VariantCall(step.call.tool, step.arguments)])
        if execution.steps[-1].result.ok and not executor.reaches_goal(execution.changes):
            yield _failing(executor, "written_twice", execution, {"extra_write"})


def _without(executor: VariantExecutor, places: set[int]) -> list[VariantCall]:
    return [call for call in executor.calls if call.golden not in places]


def _deletes(executor: VariantExecutor, place: int) -> bool:
    """Whether a golden call deletes a row that existed at the start."""
    with executor.session(place) as session:
        before = sum(change.op == "delete" for change in session.diff())
        step = executor.golden.steps[place]
        session.call(step.call.tool, step.arguments)
        return sum(change.op == "delete" for change in session.diff()) > before


def _failing(
    executor: VariantExecutor, name: str, execution: VariantExecution, classes: Iterable[FailureClass]
) -> Variant:
    """A failing variant. If it breaks a rule, its failure class may be that too."""
    broken: set[FailureClass] = set() if execution.is_lawful else {"policy_violation"}
    words = [all_facts(executor.task.criteria.communicate)]
    return failing(name, transcript(executor.task, execution.steps, words), {*classes, *broken})


def further_writes(executor: VariantExecutor) -> Iterator[Variant]:
    """One additional write of each sort, after the golden calls. If there is no plain extra write, one that undoes a
    golden change takes its place."""
    writes = found_writes(executor, ("extra_write", "undone", "broken_rule"))
    if "undone" in writes:
        writes.setdefault("extra_write", writes["undone"])
    for sort, call in writes.items():
        execution = executor.execute([*executor.calls, call])
        words = [all_facts(executor.task.criteria.communicate)]
        yield failing(sort, transcript(executor.task, execution.steps, words), _classes(executor, sort))


def found_writes(executor: VariantExecutor, sorts: Collection[WriteSort]) -> dict[WriteSort, VariantCall]:
    """Writes after the golden calls that lead to another end state: the first of each of these sorts. The tools take
    turns in a random order."""
    by_sort: dict[WriteSort, VariantCall] = {}
    writes = [tool for tool in executor.tools if tool.kind == "write"]
    with executor.session(len(executor.world_calls)) as session:
        before = session.diff()
        touched = {_row(change) for change in before}
        tables = {change.table for change in before}
        fallback: set[WriteSort] = {"undone"} if "extra_write" in sorts else set()
        for tool in executor.random("further writes").sample(writes, len(writes)):
            sought = {sort for sort in sorts if _is_possible(executor.world, sort, tool, tables)}
            for call in _calls(executor, tool):
                if sought <= by_sort.keys():
                    break
                open_sorts = {*sorts, *fallback} - by_sort.keys()
                sort = _sort_of(executor, session, call, before, touched, open_sorts)
                if sort is not None:
                    by_sort[sort] = call
    return by_sort


def _is_possible(world: World, sort: WriteSort, tool: Tool, touched: Collection[str]) -> bool:
    """Whether a tool may give a write of this sort. To undo a change it has to write a table that was changed, or a
    view, whose tables are not looked up."""
    if sort == "broken_rule":
        return any(guard.enforced_by == "agent" for guard in tool.guards)
    undoing = {*touched, *(view.entity.table for view in world.blueprint.views)}
    return sort != "undone" or any(parse(effect.sql).target in undoing for effect in tool.effects)


def _classes(executor: VariantExecutor, sort: WriteSort) -> set[FailureClass]:
    """The failure classes of a sort; a broken rule is an extra write if the reward does not count the policy check."""
    if sort != "broken_rule":
        return {"extra_write"}
    return (
        {"policy_violation"} if "policy" in executor.task.criteria.reward_basis else {"policy_violation", "extra_write"}
    )


def _calls(executor: VariantExecutor, tool: Tool) -> Iterator[VariantCall]:
    random = executor.random(f"further {tool.name}")
    return (VariantCall(tool.name, arguments) for arguments in arguments_of(executor, tool, random, _MOST_TRIES))


def _sort_of(
    executor: VariantExecutor,
    session: ContractSession,
    call: VariantCall,
    before: list[RowChange],
    touched: set[str],
    wanted: set[WriteSort],
) -> WriteSort | None:
    """The sort of a write, which is executed and rolled back; None if it fails, reaches the goal, or is not wanted."""
    mark = session.mark()
    try:
        result = session.call(call.tool, call.arguments)
        if not result.ok or not any(result.changed):
            return None
        sort: WriteSort = "broken_rule" if result.violations else "extra_write"
        if sort == "extra_write" and not wanted.isdisjoint(("extra_write", "undone")):
            is_undoing = any(_row(change) in touched for change in delta(before, session.diff()))
            sort = "undone" if is_undoing else sort
        return sort if sort in wanted and not executor.reaches_goal(session.canonical()) else None
    finally:
        session.forget(mark)


def _row(change: RowChange) -> str:
    return dump([change.table, change.key])


def unfinished(executor: VariantExecutor) -> Iterator[Variant]:
    """The variants that apply to the task."""
    yield from declined_needlessly(executor)
    if executor.reaches_goal([]) and not executor.task.criteria.communicate:
        return
    missing: set[FailureClass] = {"missing_write"} if executor.writes else {"did_not_tell"}
    yield failing("nothing", transcript(executor.task, [], [_WORDS]), missing)
    start = min([*executor.writes, *executor.delayed_writes], default=len(executor.calls))
    begun = executor.calls[:start]
    handed = executor.execute([*begun, VariantCall(TRANSFER, _HAND_OVER)])
    yield failing("handed_over", transcript(executor.task, handed.steps, []), {"gave_up_early"}, "transfer")
    if begun:
        yield failing("out_of_turns", _open(executor, executor.execute(begun)), {"ran_out"}, "max_turns")
        looped = executor.execute([*begun, *[begun[-1]] * _ROUNDS])
        yield failing("looped", _open(executor, looped), {"loop"}, "max_calls")
    if executor.writes:
        yield _unreadable(executor)


def declined_needlessly(executor: VariantExecutor) -> Iterator[Variant]:
    """Decline what is possible: instead of the work, in addition to it, and by many rules."""
    rules = executor.wrong_rules
    if not rules:
        return
    missing: set[FailureClass] = {"missing_write"} if executor.writes else {"did_not_tell"}
    first, every = decline_calls(rules[:1]), decline_calls(rules[:MOST_RULES])
    words = all_facts(executor.task.criteria.communicate)
    for name, calls, utterances, classes in [
        ("declined", first, _NO, _DECLINED | missing),
        ("declined_and_done", [*executor.calls, *first], words, _DECLINED),
        ("declined_by_every_rule", every, _NO, _DECLINED | missing),
        ("declined_by_every_rule", [*every, *executor.calls], words, _DECLINED),
    ]:
        yield failing(name, transcript(executor.task, executor.execute(calls).steps, [utterances]), classes)


def decline_calls(rules: list[str]) -> list[VariantCall]:
    """A decline for each rule."""
    return [VariantCall(DECLINE, {"rule": rule}) for rule in rules]


def _open(executor: VariantExecutor, execution: VariantExecution) -> VariantConversation:
    """A conversation that ends after a call."""
    return transcript(executor.task, execution.steps, [])


def _unreadable(executor: VariantExecutor) -> Variant:
    """Make every write with unreadable arguments."""
    writes = {*executor.writes, *executor.delayed_writes}
    calls = [
        call._replace(golden=None, is_malformed=True) if call.golden in writes else call for call in executor.calls
    ]
    execution = executor.execute(calls)
    words = [all_facts(executor.task.criteria.communicate)]
    return failing("malformed_calls", transcript(executor.task, execution.steps, words), {"malformed_call"})


def untold(executor: VariantExecutor) -> Iterator[Variant]:
    """Do not tell the user the facts, or tell them before anybody could know them."""
    facts, steps = executor.task.criteria.communicate, executor.golden.steps
    if not facts:
        return
    yield failing("told_nothing", transcript(executor.task, steps, [PARTING_WORDS]), _UNTOLD)
    thought = f"<think>{all_facts(facts)}</think>{PARTING_WORDS}"
    yield failing("told_in_thought", transcript(executor.task, steps, [thought]), _UNTOLD)
    tool = next((tool.name for tool in executor.tools if tool.kind == "read"), "look_up")
    noted = executor.execute([*executor.calls, VariantCall(tool, {"note": all_facts(facts)})])
    yield failing("told_in_call", transcript(executor.task, noted.steps, [PARTING_WORDS]), _UNTOLD)
    start, end = (
        [*asked_details(executor.task), *confirmed_calls(executor.task, steps)],
        Utterance("Thank you for telling me."),
    )
    echoed = conversation(
        executor.task, [*start, Utterance(PARTING_WORDS, f"I have heard this: {all_facts(facts)}"), end]
    )
    yield failing("told_by_user", echoed, _UNTOLD)
    # What the policy alone may give away can be known from the start.
    if any(fact.shown for fact in facts):
        guessed = conversation(executor.task, [Utterance(all_facts(facts)), *start, Utterance(PARTING_WORDS)])
        yield failing("told_before_known", guessed, _UNTOLD | _WRONG)


def told_wrongly(executor: VariantExecutor) -> Iterator[Variant]:
    """Tell a wrong value, for one fact at a time; only rivals, where the words for other facts tell it as well."""
    facts = executor.task.criteria.communicate
    for fact in facts:
        rest = [all_facts([other for other in facts if other is not fact])] if len(facts) > 1 else []
        is_told = any(tells_value(fact, words) for words in rest)
        for name, words in _wrong_words(executor, fact):
            is_unseen = name in ("other_value", "parts_alone")
            classes = _WRONG | _UNTOLD if is_unseen else _WRONG
            if not (is_unseen and is_told):
                yield failing(name, transcript(executor.task, executor.golden.steps, [*rest, *words]), classes)


def _wrong_words(executor: VariantExecutor, fact: FactToTell) -> Iterator[tuple[str, Sequence[str]]]:
    right = value_in_words(fact, fact.values[0])
    near = [value_in_words(fact, value) for value in rival_values(fact)]
    wrong = [value_in_words(fact, value) for value in other_values(executor, fact)]
    if near:
        yield "neighbour_value", [fact_sentence(fact, near[0])]
        yield (
            "right_then_another",
            [fact_sentence(fact, right), f"I am sorry, I was wrong. {fact_sentence(fact, near[0])}"],
        )
    elif wrong:
        yield "other_value", [fact_sentence(fact, wrong[0])]
    parts = [value_in_words(fact, value) for value in part_values(fact)]
    if parts:
        yield "parts_alone", [f"What counts for the {fact.noun}: {', '.join(parts)}."]
    if len(near) > _MOST_BESIDE:
        yield "all_candidates", [fact_sentence(fact, " or ".join(sorted([right, *near])))]
