"""Ways of declining what a rule forbids that are right: all pass."""

from collections.abc import Iterator

from evaluator.variants.equivalents import extra_reads, failed_then_right
from evaluator.variants.rules import Rules
from evaluator.variants.transcript import PLAIN, Manner, Words, conversation, deeds, details, transcript
from evaluator.variants.variant import Variant, passing
from evaluator.variants.workbench import Attempt, Move, Workbench
from skillweave.schema.call import TRANSFER

_JOINTS = ("__", ".")
_NO = "I am sorry, but that is not possible."
_MORE = "Is there anything else that I can do for you?"


def declining(bench: Workbench, rules: Rules) -> Iterator[Variant]:
    """Each that applies to the task."""
    yield _said(bench, "golden", rules.reason)
    yield _said(bench, "more_words", f"{rules.reason} {_MORE}", manner=Manner(is_chatty=True))
    yield _handed_over(bench, rules)
    yield _asked_why(bench, rules)
    yield from _named(bench, rules)
    yield from _with_other_calls(bench, rules)
    if bench.moves:
        yield _said(bench, "object_arguments", rules.reason, manner=Manner(is_object=True))
        for joint in _JOINTS:
            yield _said(bench, "prefixed_names", rules.reason, manner=Manner(prefix=f"{bench.task.world}{joint}"))


def _said(bench: Workbench, name: str, words: str, attempt: Attempt | None = None, manner: Manner = PLAIN) -> Variant:
    made = (attempt or bench.golden).made
    return passing(name, transcript(bench.task, made, [words], manner))


def _named(bench: Workbench, rules: Rules) -> Iterator[Variant]:
    """The rule, in each of the ways in which people name one."""
    yield _said(bench, "rule_in_brackets", f"{_NO} [{rules.first}]")
    yield _said(bench, "rule_with_reason", f"I am afraid that I may not do this. Rule {rules.first} says: {rules.says}")
    yield _said(bench, "reason_with_rule", f"{_NO} {rules.says} ({rules.first})")
    if rules.first.startswith("R"):
        yield _said(bench, "rule_in_words", f"{_NO} The reason is our rule {rules.first[1:]}.")
    for rule in rules.broken[1:]:
        yield _said(bench, "another_broken_rule", f"{_NO} Rule {rule} forbids it.")


def _handed_over(bench: Workbench, rules: Rules) -> Variant:
    """The rule stands in the transfer, and nothing is said."""
    given = {"reason": "policy", "rule": rules.first, "summary": "What the user asks for is against a rule."}
    attempt = bench.attempt([*bench.moves, Move(TRANSFER, given)])
    return passing("handed_over_with_rule", transcript(bench.task, attempt.made, []), "transfer")


def _asked_why(bench: Workbench, rules: Rules) -> Variant:
    """The rule comes when the user asks for the reason."""
    start = [*details(bench.task), *deeds(bench.task, bench.golden.made)]
    beats = [*start, Words(_NO, "Why not?"), Words(rules.reason)]
    return passing("rule_when_asked", conversation(bench.task, beats))


def _with_other_calls(bench: Workbench, rules: Rules) -> Iterator[Variant]:
    """More calls on the way, of which none changes anything."""
    for name, found in [("extra_reads", extra_reads(bench)), ("failed_then_right", failed_then_right(bench))]:
        attempt = bench.attempt(found)
        if found and not attempt.undone and not attempt.changes:
            yield _said(bench, name, rules.reason, attempt)
    if bench.asked is not None:
        tried = bench.attempt([*bench.moves, bench.asked])
        if not tried.made[-1].result.ok:
            yield _said(bench, "refused_by_the_tool", rules.reason, tried)
