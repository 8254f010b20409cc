"""Variants that do what the task asks in another way: all pass."""

from collections.abc import Iterator

from evaluator.variants.arguments import arguments_of
from evaluator.variants.conversation import (
    PLAIN_FORMAT,
    CallFormat,
    Variant,
    all_facts,
    forms_of_fact,
    passing,
    transcript,
)
from evaluator.variants.executor import VariantCall, VariantExecution, VariantExecutor
from skillweave.schema.call import SESSION_TOOLS
from skillweave.schema.contract import Tool

_MOST_READS = 4
_MOST_TRIES = 12
PREFIX_SEPARATORS = ("__", ".")
"""What stands between a world's name and a tool's where agents give both."""


def equivalents(bench: VariantExecutor) -> Iterator[Variant]:
    """Each that turns on the values and rows of this task."""
    yield _told(bench, "golden", bench.golden)
    yield from _fact_formats(bench)
    for moves in reorderings(bench):
        yield from _if_right(bench, "reordered_writes", moves)


def call_formats(bench: VariantExecutor) -> Iterator[Variant]:
    """Each that does not: how calls are written, and what is called beside."""
    together = _told(bench, "parallel", bench.golden, CallFormat(is_parallel=True))
    if any(len(message.tool_calls or ()) > 1 for message in together.messages):
        yield together
    for joint in PREFIX_SEPARATORS:
        yield _told(bench, "prefixed_names", bench.golden, CallFormat(prefix=f"{bench.task.world}{joint}"))
    yield _told(bench, "object_arguments", bench.golden, CallFormat(is_object=True))
    yield from _if_right(bench, "extra_reads", extra_reads(bench))
    yield from _if_right(bench, "failed_then_right", failed_then_right(bench))


def _if_right(bench: VariantExecutor, name: str, moves: list[VariantCall]) -> Iterator[Variant]:
    """These calls, where all go through, break no rule and lead to the goal."""
    attempt = bench.attempt(moves)
    if moves and not attempt.undone and attempt.is_lawful and bench.reaches_goal(attempt.changes):
        yield _told(bench, name, attempt)


def _told(bench: VariantExecutor, name: str, attempt: VariantExecution, manner: CallFormat = PLAIN_FORMAT) -> Variant:
    words = [all_facts(bench.task.criteria.communicate)]
    return passing(name, transcript(bench.task, attempt.made, words, manner))


def _fact_formats(bench: VariantExecutor) -> Iterator[Variant]:
    facts = bench.task.criteria.communicate
    for which in range(1, max((len(forms_of_fact(fact, fact.values[0])) for fact in facts), default=0)):
        yield passing("fact_formats", transcript(bench.task, bench.golden.made, [all_facts(facts, which)]))


def reorderings(bench: VariantExecutor) -> Iterator[list[VariantCall]]:
    """The golden calls with a later write, and what it takes from, before an earlier one that it takes nothing from."""
    for at, later in enumerate(bench.writes):
        needed = bench.depends_on(later)
        for earlier in bench.writes[:at]:
            if earlier not in needed:
                ahead = sorted(place for place in {*needed, later} if place > earlier)
                order = [*range(earlier), *ahead]
                yield [
                    bench.moves[place] for place in [*order, *(p for p in range(earlier, later + 1) if p not in ahead)]
                ] + bench.moves[later + 1 :]


def extra_reads(bench: VariantExecutor) -> list[VariantCall]:
    """The golden calls, with reads that nobody needs after signing in and at the end."""
    start, found = signed_in(bench), needless_reads(bench)
    return [*bench.moves[:start], *found, *bench.moves[start:], *found[:1]] if found else []


def signed_in(bench: VariantExecutor) -> int:
    """How many golden calls sign the user in."""
    return min(int(bench.task.login == "conversation"), len(bench.moves))


def needless_reads(bench: VariantExecutor) -> list[VariantCall]:
    """Reads that can be made after signing in."""
    reads = [tool for tool in bench.tools if tool.kind == "read"]
    found: list[VariantCall] = []
    with bench.session(signed_in(bench)) as session:
        for tool in bench.random("extra reads").sample(reads, len(reads)):
            tried = arguments_of(bench, tool, bench.random(f"extra read {tool.name}"), _MOST_TRIES)
            fitting = (given for given in tried if session.peek(tool.name, given).ok)
            given = next(fitting, None) if len(found) < _MOST_READS else None
            found += [VariantCall(tool.name, given)] if given is not None else []
    return found


def failed_then_right(bench: VariantExecutor) -> list[VariantCall]:
    """Before the first write, or the last call: a tool that is not there, faulty arguments, what a guard refuses."""
    if not bench.moves:
        return []
    place = bench.writes[0] if bench.writes else len(bench.moves) - 1
    made = bench.golden.made[place]
    wrong = [
        VariantCall(f"{made.move.tool}_now", made.arguments),
        VariantCall(made.move.tool, {}, is_malformed=True),
        VariantCall(made.move.tool, {**made.arguments, "urgently": True}),
    ]
    is_own = made.move.tool in SESSION_TOOLS
    refused = [] if is_own else _refused(bench, place, bench.world.blueprint.tool(made.move.tool))
    return [*bench.moves[:place], *wrong, *refused, *bench.moves[place:]]


def _refused(bench: VariantExecutor, place: int, tool: Tool) -> list[VariantCall]:
    """The same call with other values, such that a rule of the tool forbids it."""
    with bench.session(place) as session:
        for given in arguments_of(bench, tool, bench.random("refused"), _MOST_TRIES):
            error = session.peek(tool.name, given).error
            if error is not None and error.rule is not None:
                return [VariantCall(tool.name, given)]
    return []
