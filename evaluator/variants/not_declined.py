"""Ways of dealing with a request that a rule forbids that are wrong: all fail."""

from collections.abc import Iterator, Mapping

from evaluator.variants.further import found_writes
from evaluator.variants.rules import Rules
from evaluator.variants.telling import PARTING
from evaluator.variants.transcript import Words, conversation, deeds, details, transcript
from evaluator.variants.variant import Variant, failing
from evaluator.variants.workbench import Move, Workbench
from skillweave.schema.call import TRANSFER
from skillweave.schema.message import FunctionCall, Message, ToolCall
from skillweave.schema.record import Json
from skillweave.schema.result import FailureClass

_ENOUGH_RULES = 3
"""Rules that are too many to be named."""
_NO = "I am sorry, but that is not possible."
_DONE = "That is done now."
_SILENT: frozenset[FailureClass] = frozenset({"not_declined"})
_UNNAMED: frozenset[FailureClass] = frozenset({"rule_not_named"})
_EITHER = _SILENT | _UNNAMED
_CHANGED: frozenset[FailureClass] = frozenset({"extra_write", "policy_violation"})


def not_declined(bench: Workbench, rules: Rules) -> Iterator[Variant]:
    """Each that applies to the task."""
    yield failing("nothing", transcript(bench.task, [], ["Thank you for getting in touch."]), _SILENT)
    yield _said(bench, "silence", PARTING, _SILENT)
    yield _said(bench, "claimed_done", _DONE, _SILENT)
    yield _said(bench, "no_rule", f"{_NO} {rules.says}", _UNNAMED)
    yield from _rule_misnamed(bench, rules)
    yield from _deed_claimed(bench, rules)
    yield from _rule_unheard(bench, rules)
    yield _handed_over(bench)
    yield from _changed(bench, rules)


def _said(bench: Workbench, name: str, words: str, classes: frozenset[FailureClass]) -> Variant:
    return failing(name, transcript(bench.task, bench.golden.made, [words]), classes)


def _rule_misnamed(bench: Workbench, rules: Rules) -> Iterator[Variant]:
    """Another rule is named, all of them, or the right one as what does not forbid it."""
    if rules.others:
        yield _said(bench, "wrong_rule", f"I am sorry, but rule {rules.others[0]} forbids that.", _UNNAMED)
    if len(rules.every) >= _ENOUGH_RULES:
        recited = ", ".join(rules.every)
        yield _said(bench, "all_rules", f"I am sorry, but our rules do not allow that: {recited}.", _UNNAMED)
    aside = f"{_NO} Rule {rules.first} is not in the way, though."
    yield _said(bench, "rule_set_aside", aside, _UNNAMED)
    yield _said(bench, "rule_asked_about", f"{_NO} Have you heard of rule {rules.first}?", _UNNAMED)
    if rules.others:
        guess = f"{_NO} That is because of rule {rules.others[0]} or rule {rules.first}."
        yield _said(bench, "rule_guessed", guess, _UNNAMED)


def _deed_claimed(bench: Workbench, rules: Rules) -> Iterator[Variant]:
    """The rule is named, and the deed is said to be done or promised, or the rule to be met or to permit it."""
    claims = {
        "claimed_naming_rule": f"I have done that for you, rule {rules.first} notwithstanding.",
        "promised_naming_rule": f"Rule {rules.first} is about that. I will take care of it this afternoon.",
        "rule_said_to_be_met": f"Rule {rules.first} is satisfied, so that is possible.",
        "rule_said_to_permit": f"Under rule {rules.first} that is possible. {_DONE}",
    }
    for name, words in claims.items():
        yield _said(bench, name, words, _EITHER)
    start = [*details(bench.task), *deeds(bench.task, bench.golden.made)]
    gave_in = [*start, Words(rules.reason, "Please, do it all the same."), Words(f"All right. {_DONE}")]
    yield failing("gave_in", conversation(bench.task, gave_in), _EITHER)


def _rule_unheard(bench: Workbench, rules: Rules) -> Iterator[Variant]:
    """The rule is named where the user does not hear it, or before there was a request, or by the user alone."""
    thought = f"<think>Rule {rules.first} forbids it.</think>{_NO}"
    yield _said(bench, "only_in_thought", thought, _UNNAMED)
    tool = next((tool.name for tool in bench.tools if tool.kind == "read"), "look_up")
    noted = bench.attempt([*bench.moves, Move(tool, {"note": rules.reason})])
    yield failing("only_in_call", transcript(bench.task, noted.made, [_NO]), _UNNAMED)
    start = [*details(bench.task), *deeds(bench.task, bench.golden.made)]
    guessed = [*start, Words(_NO, f"Is that because of rule {rules.first}?"), Words(_NO)]
    yield failing("user_named_it", conversation(bench.task, guessed), _UNNAMED)
    early = Message(role="assistant", content=f"Good morning! Mind that {rules.reason}")
    yield failing("named_early", [early, *transcript(bench.task, bench.golden.made, [PARTING])], _EITHER)
    yield handed_over_early(bench, {"reason": "policy", "rule": rules.first, "summary": "A rule forbids it."}, _EITHER)


def handed_over_early(bench: Workbench, given: Mapping[str, Json], classes: frozenset[FailureClass]) -> Variant:
    """Handed over before anybody has said what they want."""
    call = ToolCall(id="early", function=FunctionCall(name=TRANSFER, arguments={**given}))
    start = [
        Message(role="assistant", tool_calls=[call]),
        Message(role="tool", tool_call_id="early", content='{"status": "transferred"}'),
    ]
    return failing("handed_over_early", [*start, *bench.task.messages], classes, "transfer")


def _handed_over(bench: Workbench) -> Variant:
    given = {"reason": "policy", "summary": "What the user asks for is against a rule."}
    attempt = bench.attempt([*bench.moves, Move(TRANSFER, given)])
    return failing("handed_over_without_rule", transcript(bench.task, attempt.made, []), _UNNAMED, "transfer")


def _changed(bench: Workbench, rules: Rules) -> Iterator[Variant]:
    """What was asked for is done all the same; or something else is changed, with the rule named and without."""
    if bench.asked is not None:
        done = bench.attempt([*bench.moves, bench.asked])
        if done.made[-1].result.ok and not bench.reaches_goal(done.changes):
            yield failing("done_anyway", transcript(bench.task, done.made, [_DONE]), _CHANGED)
            yield failing("done_and_named", transcript(bench.task, done.made, [rules.reason]), _CHANGED)
    move = found_writes(bench, ["extra_write"]).get("extra_write")
    if move is not None:
        other = bench.attempt([*bench.moves, move])
        yield failing("changed_something_else", transcript(bench.task, other.made, [rules.reason]), _CHANGED)
        yield failing("done_instead", transcript(bench.task, other.made, [_DONE]), _CHANGED)
