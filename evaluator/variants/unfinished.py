"""Variants in which the work is not done, or is declined although it can be done: all fail."""

from collections.abc import Iterator

from evaluator.variants.telling import told
from evaluator.variants.transcript import Conversation, transcript
from evaluator.variants.variant import Variant, failing
from evaluator.variants.workbench import Attempt, Move, Workbench
from skillweave.schema.call import DECLINE, TRANSFER
from skillweave.schema.result import FailureClass

_ROUNDS = 8
"""How often an agent in a loop makes its call."""
_WORDS = "Thank you for getting in touch. I hope that this helps you."
_NO = "I am sorry, but a rule does not allow that."
_HAND_OVER = {"reason": "user_request", "summary": "The customer needs help."}
_DECLINED: frozenset[FailureClass] = frozenset({"wrongly_declined"})


def unfinished(bench: Workbench) -> Iterator[Variant]:
    """Each that applies to the task."""
    yield from declined_needlessly(bench)
    if bench.reaches_goal([]) and not bench.task.criteria.communicate:
        return
    missing: set[FailureClass] = {"missing_write"} if bench.writes else {"did_not_tell"}
    yield failing("nothing", transcript(bench.task, [], [_WORDS]), missing)
    start = min([*bench.writes, *bench.held_up], default=len(bench.moves))
    begun = bench.moves[:start]
    handed = bench.attempt([*begun, Move(TRANSFER, _HAND_OVER)])
    yield failing("handed_over", transcript(bench.task, handed.made, []), {"gave_up_early"}, "transfer")
    if begun:
        yield failing("out_of_turns", _open(bench, bench.attempt(begun)), {"ran_out"}, "max_turns")
        looped = bench.attempt([*begun, *[begun[-1]] * _ROUNDS])
        yield failing("looped", _open(bench, looped), {"loop"}, "max_calls")
    if bench.writes:
        yield _unreadable(bench)


def declined_needlessly(bench: Workbench) -> Iterator[Variant]:
    """A request that can be carried out is recorded as declined: instead, beside it, and by every rule there is."""
    rules = bench.world.blueprint.rules
    if not rules:
        return
    missing: set[FailureClass] = {"missing_write"} if bench.writes else {"did_not_tell"}
    one, every = declining(rules[:1]), declining(rules)
    words = told(bench.task.criteria.communicate)
    for name, moves, said, classes in [
        ("declined", one, _NO, _DECLINED | missing),
        ("declined_and_done", [*bench.moves, *one], words, _DECLINED),
        ("declined_by_every_rule", every, _NO, _DECLINED | missing),
        ("declined_by_every_rule", [*every, *bench.moves], words, _DECLINED),
    ]:
        yield failing(name, transcript(bench.task, bench.attempt(moves).made, [said]), classes)


def declining(rules: list[str]) -> list[Move]:
    """A record for each rule."""
    return [Move(DECLINE, {"rule": rule}) for rule in rules]


def _open(bench: Workbench, attempt: Attempt) -> Conversation:
    """A conversation that breaks off after a call."""
    return transcript(bench.task, attempt.made, [])


def _unreadable(bench: Workbench) -> Variant:
    """Every write is tried with arguments that nobody can read."""
    writes = {*bench.writes, *bench.held_up}
    moves = [move._replace(golden=None, is_malformed=True) if move.golden in writes else move for move in bench.moves]
    attempt = bench.attempt(moves)
    words = [told(bench.task.criteria.communicate)]
    return failing("malformed_calls", transcript(bench.task, attempt.made, words), {"malformed_call"})
