"""Variants that do everything and tell the facts wrongly, or not at all: all fail."""

import re
from collections.abc import Iterator, Sequence

from evaluator.variants.telling import PARTING, form, others, rivals, tell, told
from evaluator.variants.transcript import transcript
from evaluator.variants.variant import Variant, failing
from evaluator.variants.workbench import Move, Workbench
from skillweave.schema.message import Message
from skillweave.schema.result import FailureClass
from skillweave.schema.task import FactToTell

_MOST_RIVALS = 5
_STEM = 4
"""Letters that two words of one root share."""
_WORD = re.compile(r"[^\W_]+")


def untold(bench: Workbench) -> Iterator[Variant]:
    """Each that applies to the task; of several facts one at a time is told wrongly."""
    facts = bench.task.criteria.communicate
    if not facts:
        return
    yield _said(bench, "told_nothing", [PARTING], "did_not_tell")
    yield _only_in_call(bench)
    yield _user_echoed(bench)
    if len(facts) > 1 and not any(_names_itself(fact) for fact in facts):
        bare = " ".join(f"It is {form(fact, fact.values[0])}." for fact in facts)
        yield _said(bench, "value_without_noun", [bare], "did_not_tell", "told_wrong")
    for place, fact in enumerate(facts):
        rest = [told([other for other in facts if other is not fact])] if len(facts) > 1 else []
        yield from _told_wrongly(bench, place, rest)


def _told_wrongly(bench: Workbench, place: int, rest: Sequence[str]) -> Iterator[Variant]:
    fact = bench.task.criteria.communicate[place]
    right = form(fact, fact.values[0])
    near = [form(fact, value) for value in rivals(fact)]
    wrong = [form(fact, value) for value in others(bench, fact)]
    if near:
        yield _said(bench, "neighbour_value", [*rest, tell(fact, near[0])], "told_wrong")
        several = " or ".join(sorted([right, *near[:_MOST_RIVALS]]))
        yield _said(bench, "all_candidates", [*rest, tell(fact, several)], "told_wrong")
    elif wrong:
        yield _said(bench, "other_value", [*rest, tell(fact, wrong[0])], "told_wrong")
    if wrong:
        correction = f"I am sorry, I was wrong. {tell(fact, wrong[0])}"
        yield _said(bench, "right_then_another", [*rest, tell(fact, right), correction], "told_wrong")


def _said(bench: Workbench, name: str, words: Sequence[str], *classes: FailureClass) -> Variant:
    return failing(name, transcript(bench.task, bench.golden.made, words), classes)


def _only_in_call(bench: Workbench) -> Variant:
    """The values stand in the arguments of a call alone."""
    facts = bench.task.criteria.communicate
    tool = next((tool.name for tool in bench.tools if tool.kind == "read"), "look_up")
    note = Move(tool, {"note": told(facts)})
    attempt = bench.attempt([*bench.moves, note])
    return failing("only_in_call", transcript(bench.task, attempt.made, [PARTING]), {"did_not_tell"})


def _user_echoed(bench: Workbench) -> Variant:
    """The user alone says the values, and the agent does not take them up."""
    facts = bench.task.criteria.communicate
    messages = transcript(bench.task, bench.golden.made, [PARTING])
    echo = Message(role="user", content=f"I have heard this: {told(facts)}")
    reply = Message(role="assistant", content="Thank you for telling me. Have a nice day!")
    return failing("user_echoed", [*messages[:-1], echo, reply, messages[-1]], {"did_not_tell"})


def _names_itself(fact: FactToTell) -> bool:
    """Whether the value's own words name the fact: `Gate A4` is a gate."""
    return bool(_stems(str(fact.values[0])) & _stems(" ".join([fact.noun, *fact.names])))


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in _WORD.findall(text.casefold())}
