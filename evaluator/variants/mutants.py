"""Variants that all fail: wrong, missing and additional calls, work not done, and facts told wrongly or not at all."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

from evaluator.variants.arguments import arguments_of, changed_calls
from evaluator.variants.conversation import (
    PARTING_WORDS,
    Utterance,
    Variant,
    VariantConversation,
    all_facts,
    asked_details,
    confirmed_calls,
    conversation,
    fact_sentence,
    failing,
    other_values,
    rival_values,
    transcript,
    value_in_words,
)
from evaluator.variants.equivalents import reorderings
from evaluator.variants.executor import VariantCall, VariantExecution, VariantExecutor
from skillweave.schema.call import DECLINE, TRANSFER, RowChange
from skillweave.schema.contract import Tool
from skillweave.schema.result import FailureClass
from skillweave.schema.task import FactToTell
from skillweave.world.canonical import canonical, dump
from skillweave.world.diff import delta
from skillweave.world.session import ContractSession

Sort = Literal["extra_write", "undone", "broken_rule"]
_MOST_TRIES = 16
"""Calls of one tool that are tried."""


def further_writes(bench: VariantExecutor, sorts: Sequence[Sort]) -> Iterator[Variant]:
    """One of each of these sorts, after the golden calls. One that spoils is an extra write where no other is."""
    found = found_writes(bench, sorts)
    if "undone" in found:
        found.setdefault("extra_write", found["undone"])
    for sort in sorts:
        if sort in found:
            attempt = bench.attempt([*bench.moves, found[sort]])
            words = [all_facts(bench.task.criteria.communicate)]
            yield failing(sort, transcript(bench.task, attempt.made, words), _classes(bench, sort))


def found_writes(bench: VariantExecutor, sorts: Collection[Sort]) -> dict[Sort, VariantCall]:
    """Writes that can be made after the golden calls and lead elsewhere: the first of each of these sorts, tools taking
    turns in a drawn order."""
    found: dict[Sort, VariantCall] = {}
    writes = [tool for tool in bench.tools if tool.kind == "write"]
    with bench.session(len(bench.looks)) as session:
        before = session.diff()
        touched = {_row(change) for change in before}
        for tool in bench.random("further writes").sample(writes, len(writes)):
            sought = {sort for sort in sorts if _is_possible(sort, tool, touched)}
            for move in _calls(bench, tool):
                if sought <= found.keys():
                    break
                sort = _sort_of(bench, session, move, before, touched)
                if sort is not None:
                    found.setdefault(sort, move)
    return found


def _is_possible(sort: Sort, tool: Tool, touched: Collection[str]) -> bool:
    """Whether a tool can break a rule that the agent alone holds, or there is something to undo."""
    if sort == "broken_rule":
        return any(guard.enforced_by == "agent" for guard in tool.guards)
    return sort != "undone" or bool(touched)


def _classes(bench: VariantExecutor, sort: Sort) -> set[FailureClass]:
    """Breaking a rule is one where the policy counts; elsewhere the write is too much all the same."""
    if sort != "broken_rule":
        return {"extra_write"}
    return {"policy_violation"} if "policy" in bench.task.criteria.reward_basis else {"policy_violation", "extra_write"}


def _calls(bench: VariantExecutor, tool: Tool) -> Iterator[VariantCall]:
    random = bench.random(f"further {tool.name}")
    return (VariantCall(tool.name, given) for given in arguments_of(bench, tool, random, _MOST_TRIES))


def _sort_of(
    bench: VariantExecutor, session: ContractSession, move: VariantCall, before: list[RowChange], touched: set[str]
) -> Sort | None:
    """What a write is, made now; nothing of it stays. None where it fails or changes nothing that counts."""
    mark = session.mark()
    try:
        result = session.call(move.tool, move.arguments)
        if not result.ok or not any(result.changed):
            return None
        after = session.diff()
        if bench.reaches_goal(canonical(after, session.minted)):
            return None
        if result.violations:
            return "broken_rule"
        return "undone" if any(_row(change) in touched for change in delta(before, after)) else "extra_write"
    finally:
        session.forget(mark)


def _row(change: RowChange) -> str:
    return dump([change.table, change.key])


_ROUNDS = 8
"""How often an agent in a loop makes its call."""
_WORDS = "Thank you for getting in touch. I hope that this helps you."
_NO = "I am sorry, but a rule does not allow that."
_HAND_OVER = {"reason": "user_request", "summary": "The customer needs help."}
_DECLINED: frozenset[FailureClass] = frozenset({"wrongly_declined"})


def unfinished(bench: VariantExecutor) -> Iterator[Variant]:
    """Each that applies to the task."""
    yield from declined_needlessly(bench)
    if bench.reaches_goal([]) and not bench.task.criteria.communicate:
        return
    missing: set[FailureClass] = {"missing_write"} if bench.writes else {"did_not_tell"}
    yield failing("nothing", transcript(bench.task, [], [_WORDS]), missing)
    start = min([*bench.writes, *bench.held_up], default=len(bench.moves))
    begun = bench.moves[:start]
    handed = bench.attempt([*begun, VariantCall(TRANSFER, _HAND_OVER)])
    yield failing("handed_over", transcript(bench.task, handed.made, []), {"gave_up_early"}, "transfer")
    if begun:
        yield failing("out_of_turns", _open(bench, bench.attempt(begun)), {"ran_out"}, "max_turns")
        looped = bench.attempt([*begun, *[begun[-1]] * _ROUNDS])
        yield failing("looped", _open(bench, looped), {"loop"}, "max_calls")
    if bench.writes:
        yield _unreadable(bench)


def declined_needlessly(bench: VariantExecutor) -> Iterator[Variant]:
    """A request that can be carried out is recorded as declined: instead, beside it, and by every rule there is."""
    rules = bench.world.blueprint.rules
    if not rules:
        return
    missing: set[FailureClass] = {"missing_write"} if bench.writes else {"did_not_tell"}
    one, every = decline_calls(rules[:1]), decline_calls(rules)
    words = all_facts(bench.task.criteria.communicate)
    for name, moves, said, classes in [
        ("declined", one, _NO, _DECLINED | missing),
        ("declined_and_done", [*bench.moves, *one], words, _DECLINED),
        ("declined_by_every_rule", every, _NO, _DECLINED | missing),
        ("declined_by_every_rule", [*every, *bench.moves], words, _DECLINED),
    ]:
        yield failing(name, transcript(bench.task, bench.attempt(moves).made, [said]), classes)


def decline_calls(rules: list[str]) -> list[VariantCall]:
    """A record for each rule."""
    return [VariantCall(DECLINE, {"rule": rule}) for rule in rules]


def _open(bench: VariantExecutor, attempt: VariantExecution) -> VariantConversation:
    """A conversation that breaks off after a call."""
    return transcript(bench.task, attempt.made, [])


def _unreadable(bench: VariantExecutor) -> Variant:
    """Every write is tried with arguments that nobody can read."""
    writes = {*bench.writes, *bench.held_up}
    moves = [move._replace(golden=None, is_malformed=True) if move.golden in writes else move for move in bench.moves]
    attempt = bench.attempt(moves)
    words = [all_facts(bench.task.criteria.communicate)]
    return failing("malformed_calls", transcript(bench.task, attempt.made, words), {"malformed_call"})


_MOST_BESIDE = 2
"""Rivals that may be told beside the value without spoiling it."""
_UNTOLD: frozenset[FailureClass] = frozenset({"did_not_tell"})
_WRONG: frozenset[FailureClass] = frozenset({"told_wrong"})


def untold(bench: VariantExecutor) -> Iterator[Variant]:
    """Nothing is told to the user, or at a time when nobody could know it."""
    facts, made = bench.task.criteria.communicate, bench.golden.made
    if not facts:
        return
    yield failing("told_nothing", transcript(bench.task, made, [PARTING_WORDS]), _UNTOLD)
    thought = f"<think>{all_facts(facts)}</think>{PARTING_WORDS}"
    yield failing("told_in_thought", transcript(bench.task, made, [thought]), _UNTOLD)
    tool = next((tool.name for tool in bench.tools if tool.kind == "read"), "look_up")
    noted = bench.attempt([*bench.moves, VariantCall(tool, {"note": all_facts(facts)})])
    yield failing("told_in_call", transcript(bench.task, noted.made, [PARTING_WORDS]), _UNTOLD)
    start, end = (
        [*asked_details(bench.task), *confirmed_calls(bench.task, made)],
        Utterance("Thank you for telling me."),
    )
    echoed = conversation(bench.task, [*start, Utterance(PARTING_WORDS, f"I have heard this: {all_facts(facts)}"), end])
    yield failing("told_by_user", echoed, _UNTOLD)
    guessed = conversation(bench.task, [Utterance(all_facts(facts)), *start, Utterance(PARTING_WORDS)])
    yield failing("told_before_known", guessed, _UNTOLD | _WRONG)


def told_wrongly(bench: VariantExecutor) -> Iterator[Variant]:
    """Another value is told; of several facts one at a time."""
    facts = bench.task.criteria.communicate
    for fact in facts:
        rest = [all_facts([other for other in facts if other is not fact])] if len(facts) > 1 else []
        for name, words in _wrong_words(bench, fact):
            classes = _WRONG | _UNTOLD if name == "other_value" else _WRONG
            yield failing(name, transcript(bench.task, bench.golden.made, [*rest, *words]), classes)


def _wrong_words(bench: VariantExecutor, fact: FactToTell) -> Iterator[tuple[str, Sequence[str]]]:
    right = value_in_words(fact, fact.values[0])
    near = [value_in_words(fact, value) for value in rival_values(fact)]
    wrong = [value_in_words(fact, value) for value in other_values(bench, fact)]
    if near:
        yield "neighbour_value", [fact_sentence(fact, near[0])]
        yield (
            "right_then_another",
            [fact_sentence(fact, right), f"I am sorry, I was wrong. {fact_sentence(fact, near[0])}"],
        )
    elif wrong:
        yield "other_value", [fact_sentence(fact, wrong[0])]
    if len(near) > _MOST_BESIDE:
        yield "all_candidates", [fact_sentence(fact, " or ".join(sorted([right, *near])))]


def mutants(bench: VariantExecutor) -> Iterator[Variant]:
    """Each that turns on the values and rows of this task."""
    yield from _left_out(bench)
    yield from _demanded_left_out(bench)
    yield from _half_batches(bench)
    yield from changed_calls(bench)
    yield from _swapped(bench)
    yield from _written_twice(bench)
    yield from further_writes(bench, ["extra_write"])


def _left_out(bench: VariantExecutor) -> Iterator[Variant]:
    for place in bench.writes:
        attempt = bench.attempt(_without(bench, {place}))
        if not bench.reaches_goal(attempt.changes):
            name = "delete_left_out" if _deletes(bench, place) else "write_left_out"
            yield _failing(bench, name, attempt, {"missing_write"})


def _demanded_left_out(bench: VariantExecutor) -> Iterator[Variant]:
    """What was done for the sake of bridge rules is left out, with the reads that only this needs; the calls that the
    tools then refuse are tried."""
    left = {place for place, call in enumerate(bench.task.golden) if call.demanded_by is not None}
    if not left:
        return
    for place in reversed(range(len(bench.moves))):
        users = {user for user in range(place + 1, len(bench.moves)) if place in bench.takes_from(user)}
        if users and users <= left and place not in bench.writes:
            left.add(place)
    moves = _without(bench, left)
    refused = bench.attempt(moves).undone
    tried = [VariantCall(move.tool, bench.task.golden[move.golden or 0].arguments) for move in moves]
    attempt = bench.attempt([own if move.golden in refused else move for move, own in zip(moves, tried, strict=True)])
    if not bench.reaches_goal(attempt.changes):
        yield _failing(bench, "demanded_left_out", attempt, {"missing_write"})


def _half_batches(bench: VariantExecutor) -> Iterator[Variant]:
    """Of several writes of one tool the later half is left out."""
    by_tool: dict[str, list[int]] = {}
    for place in bench.writes:
        by_tool.setdefault(bench.task.golden[place].tool, []).append(place)
    for places in by_tool.values():
        attempt = bench.attempt(_without(bench, {*places[(len(places) + 1) // 2 :]}))
        if len(places) > 1 and not bench.reaches_goal(attempt.changes):
            yield _failing(bench, "half_batch", attempt, {"missing_write"})


def _swapped(bench: VariantExecutor) -> Iterator[Variant]:
    """Writes in another order, where that leads elsewhere, or breaks a rule that only the policy holds."""
    for moves in reorderings(bench):
        attempt = bench.attempt(moves)
        is_against_policy = not attempt.is_lawful and "policy" in bench.task.criteria.reward_basis
        if not attempt.undone and (is_against_policy or not bench.reaches_goal(attempt.changes)):
            yield _failing(bench, "swapped_writes", attempt, {"wrong_order"})


def _written_twice(bench: VariantExecutor) -> Iterator[Variant]:
    """Each write once more at the end, where the tool carries it out again and that leads elsewhere."""
    for place in bench.writes:
        made = bench.golden.made[place]
        attempt = bench.attempt([*bench.moves, VariantCall(made.move.tool, made.arguments)])
        if attempt.made[-1].result.ok and not bench.reaches_goal(attempt.changes):
            yield _failing(bench, "written_twice", attempt, {"extra_write"})


def _without(bench: VariantExecutor, places: set[int]) -> list[VariantCall]:
    return [move for move in bench.moves if move.golden not in places]


def _deletes(bench: VariantExecutor, place: int) -> bool:
    """Whether a golden call removes a row that was there at the start."""
    with bench.session(place) as session:
        before = sum(change.op == "delete" for change in session.diff())
        made = bench.golden.made[place]
        session.call(made.move.tool, made.arguments)
        return sum(change.op == "delete" for change in session.diff()) > before


def _failing(bench: VariantExecutor, name: str, attempt: VariantExecution, classes: Iterable[FailureClass]) -> Variant:
    """A rule broken on the way may be what it is called for."""
    broken: set[FailureClass] = set() if attempt.is_lawful else {"policy_violation"}
    words = [all_facts(bench.task.criteria.communicate)]
    return failing(name, transcript(bench.task, attempt.made, words), {*classes, *broken})
