"""Variants that do the task in another way: all pass."""

from collections.abc import Iterator

from evaluator.variants.arguments import arguments_of
from evaluator.variants.conversation import PLAIN_FORMAT, CallFormat, Variant, passing, transcript
from evaluator.variants.executor import VariantCall, VariantExecution, VariantExecutor
from evaluator.variants.words import all_facts, forms_of_fact
from skillweave.schema.contract import SESSION_TOOLS, Tool

_MOST_READS = 4
_MOST_TRIES = 12
PREFIX_SEPARATORS = ("__", ".")
"""Separators between a world's name and a tool's, if agents write both."""


def equivalents(executor: VariantExecutor) -> Iterator[Variant]:
    """Variants that depend on the values and rows of this task."""
    yield _told(executor, "golden", executor.golden)
    yield from _fact_formats(executor)
    for calls in reorderings(executor):
        yield from _if_right(executor, "reordered_writes", calls)


def call_formats(executor: VariantExecutor) -> Iterator[Variant]:
    """Variants that do not depend on them: other formats of calls, and additional calls."""
    together = _told(executor, "parallel", executor.golden, CallFormat(is_parallel=True))
    if any(len(message.tool_calls or ()) > 1 for message in together.messages):
        yield together
    for joint in PREFIX_SEPARATORS:
        yield _told(executor, "prefixed_names", executor.golden, CallFormat(prefix=f"{executor.task.world}{joint}"))
    yield _told(executor, "object_arguments", executor.golden, CallFormat(is_object=True))
    yield from _if_right(executor, "extra_reads", extra_reads(executor))
    yield from _if_right(executor, "failed_then_right", failed_then_right(executor))


def _if_right(executor: VariantExecutor, name: str, calls: list[VariantCall]) -> Iterator[Variant]:
    """A variant of these calls, if all golden calls succeed, no rule is broken, the goal is reached, and what the user
    has to be told is shown."""
    execution = executor.execute(calls)
    is_done = calls and not execution.unexecuted and executor.reaches_goal(execution.changes)
    if is_done and execution.is_lawful and executor.shows_facts(execution):
        yield _told(executor, name, execution)


def _told(
    executor: VariantExecutor, name: str, execution: VariantExecution, manner: CallFormat = PLAIN_FORMAT
) -> Variant:
    words = [all_facts(executor.task.criteria.communicate)]
    return passing(name, transcript(executor.task, execution.steps, words, manner))


def _fact_formats(executor: VariantExecutor) -> Iterator[Variant]:
    facts = executor.task.criteria.communicate
    for which in range(1, max((len(forms_of_fact(fact, fact.values[0])) for fact in facts), default=0)):
        yield passing("fact_formats", transcript(executor.task, executor.golden.steps, [all_facts(facts, which)]))


def reorderings(executor: VariantExecutor) -> Iterator[list[VariantCall]]:
    """The golden calls with a later write and its dependencies moved before an earlier, independent write."""
    for at, later in enumerate(executor.writes):
        needed = executor.depends_on(later)
        for earlier in executor.writes[:at]:
            if earlier not in needed:
                ahead = sorted(place for place in {*needed, later} if place > earlier)
                order = [*range(earlier), *ahead]
                yield [
                    executor.calls[place]
                    for place in [*order, *(p for p in range(earlier, later + 1) if p not in ahead)]
                ] + executor.calls[later + 1 :]


def extra_reads(executor: VariantExecutor) -> list[VariantCall]:
    """The golden calls, with needless reads after signing in and at the end."""
    start, reads = signed_in(executor), needless_reads(executor)
    return [*executor.calls[:start], *reads, *executor.calls[start:], *reads[:1]] if reads else []


def signed_in(executor: VariantExecutor) -> int:
    """How many golden calls sign the user in."""
    return min(int(executor.task.login == "conversation"), len(executor.calls))


def needless_reads(executor: VariantExecutor) -> list[VariantCall]:
    """Reads that succeed after signing in."""
    reads = [tool for tool in executor.tools if tool.kind == "read"]
    needless: list[VariantCall] = []
    with executor.session(signed_in(executor)) as session:
        for tool in executor.random("extra reads").sample(reads, len(reads)):
            tried = arguments_of(executor, tool, executor.random(f"extra read {tool.name}"), _MOST_TRIES)
            fitting = (arguments for arguments in tried if session.peek(tool.name, arguments).ok)
            arguments = next(fitting, None) if len(needless) < _MOST_READS else None
            needless += [VariantCall(tool.name, arguments)] if arguments is not None else []
    return needless


def failed_then_right(executor: VariantExecutor) -> list[VariantCall]:
    """The golden calls, with failing calls before the first write or the last call: an unknown tool, faulty
    arguments, a call that a guard refuses."""
    if not executor.calls:
        return []
    place = executor.writes[0] if executor.writes else len(executor.calls) - 1
    step = executor.golden.steps[place]
    wrong = [
        VariantCall(f"{step.call.tool}_now", step.arguments),
        VariantCall(step.call.tool, {}, is_malformed=True),
        VariantCall(step.call.tool, {**step.arguments, "urgently": True}),
    ]
    is_own = step.call.tool in SESSION_TOOLS
    refused = [] if is_own else _refused(executor, place, executor.world.blueprint.tool(step.call.tool))
    return [*executor.calls[:place], *wrong, *refused, *executor.calls[place:]]


def _refused(executor: VariantExecutor, place: int, tool: Tool) -> list[VariantCall]:
    """A call of the same tool with other values that one of its rules forbids."""
    with executor.session(place) as session:
        for arguments in arguments_of(executor, tool, executor.random("refused"), _MOST_TRIES):
            error = session.peek(tool.name, arguments).error
            if error is not None and error.rule is not None:
                return [VariantCall(tool.name, arguments)]
    return []
