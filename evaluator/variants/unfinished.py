"""Variants in which the work is not done, each for a reason of its own: all fail."""

from collections.abc import Iterator

from evaluator.variants.rules import a_rule
from evaluator.variants.telling import told
from evaluator.variants.transcript import transcript
from evaluator.variants.variant import Variant, failing
from evaluator.variants.workbench import Attempt, Move, Workbench
from skillweave.schema.call import TRANSFER
from skillweave.schema.message import Message
from skillweave.schema.result import FailureClass

_ROUNDS = 8
"""How often an agent in a loop makes its call."""
_WORDS = "Thank you for getting in touch. I hope that this helps you."
_HAND_OVER = {"reason": "user_request", "summary": "The customer needs help."}


def unfinished(bench: Workbench) -> Iterator[Variant]:
    """Each that applies to the task."""
    if bench.reaches_goal([]) and not bench.task.criteria.communicate:
        return
    missing: set[FailureClass] = {"missing_write"} if bench.writes else {"did_not_tell"}
    yield failing("nothing", transcript(bench.task, [], [_WORDS]), missing)
    excuse = f"I am sorry, but rule {a_rule(bench)} does not allow that."
    yield failing("refused", transcript(bench.task, [], [excuse]), missing | {"gave_up_early"})
    start = min([*bench.writes, *bench.held_up], default=len(bench.moves))
    begun = bench.moves[:start]
    handed = bench.attempt([*begun, Move(TRANSFER, _HAND_OVER)])
    yield failing("handed_over", transcript(bench.task, handed.made, []), {"gave_up_early"}, "transfer")
    if begun:
        cut = bench.attempt(begun)
        yield failing("out_of_turns", _open(bench, cut), {"ran_out"}, "max_turns")
        looped = bench.attempt([*begun, *[begun[-1]] * _ROUNDS])
        yield failing("looped", _open(bench, looped), {"loop"}, "max_calls")
    if bench.writes:
        yield _unreadable(bench)


def _open(bench: Workbench, attempt: Attempt) -> list[Message]:
    """A conversation that breaks off after a call."""
    return transcript(bench.task, attempt.made, [])


def _unreadable(bench: Workbench) -> Variant:
    """Every write is tried with arguments that nobody can read."""
    writes = {*bench.writes, *bench.held_up}
    moves = [move._replace(golden=None, is_malformed=True) if move.golden in writes else move for move in bench.moves]
    attempt = bench.attempt(moves)
    words = [told(bench.task.criteria.communicate)]
    return failing("malformed_calls", transcript(bench.task, attempt.made, words), {"malformed_call"})
