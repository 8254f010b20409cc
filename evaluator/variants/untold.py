"""Variants that do everything and tell the facts wrongly, or not at all: all fail."""

from collections.abc import Iterator, Sequence

from evaluator.variants.telling import PARTING, form, others, rivals, tell, told
from evaluator.variants.transcript import Words, conversation, deeds, details, transcript
from evaluator.variants.variant import Variant, failing
from evaluator.variants.workbench import Move, Workbench
from skillweave.schema.result import FailureClass
from skillweave.schema.task import FactToTell

_MOST_BESIDE = 2
"""Rivals that may be told beside the value without spoiling it."""
_UNTOLD: frozenset[FailureClass] = frozenset({"did_not_tell"})
_WRONG: frozenset[FailureClass] = frozenset({"told_wrong"})


def untold(bench: Workbench) -> Iterator[Variant]:
    """Nothing is told to the user, or at a time when nobody could know it."""
    facts, made = bench.task.criteria.communicate, bench.golden.made
    if not facts:
        return
    yield failing("told_nothing", transcript(bench.task, made, [PARTING]), _UNTOLD)
    thought = f"<think>{told(facts)}</think>{PARTING}"
    yield failing("told_in_thought", transcript(bench.task, made, [thought]), _UNTOLD)
    tool = next((tool.name for tool in bench.tools if tool.kind == "read"), "look_up")
    noted = bench.attempt([*bench.moves, Move(tool, {"note": told(facts)})])
    yield failing("told_in_call", transcript(bench.task, noted.made, [PARTING]), _UNTOLD)
    start, end = [*details(bench.task), *deeds(bench.task, made)], Words("Thank you for telling me.")
    echoed = conversation(bench.task, [*start, Words(PARTING, f"I have heard this: {told(facts)}"), end])
    yield failing("told_by_user", echoed, _UNTOLD)
    guessed = conversation(bench.task, [Words(told(facts)), *start, Words(PARTING)])
    yield failing("told_before_known", guessed, _UNTOLD | _WRONG)


def told_wrongly(bench: Workbench) -> Iterator[Variant]:
    """Another value is told; of several facts one at a time."""
    facts = bench.task.criteria.communicate
    for fact in facts:
        rest = [told([other for other in facts if other is not fact])] if len(facts) > 1 else []
        for name, words in _wrong_words(bench, fact):
            classes = _WRONG | _UNTOLD if name == "other_value" else _WRONG
            yield failing(name, transcript(bench.task, bench.golden.made, [*rest, *words]), classes)


def _wrong_words(bench: Workbench, fact: FactToTell) -> Iterator[tuple[str, Sequence[str]]]:
    right = form(fact, fact.values[0])
    near = [form(fact, value) for value in rivals(fact)]
    wrong = [form(fact, value) for value in others(bench, fact)]
    if near:
        yield "neighbour_value", [tell(fact, near[0])]
        yield "right_then_another", [tell(fact, right), f"I am sorry, I was wrong. {tell(fact, near[0])}"]
    elif wrong:
        yield "other_value", [tell(fact, wrong[0])]
    if len(near) > _MOST_BESIDE:
        yield "all_candidates", [tell(fact, " or ".join(sorted([right, *near])))]
