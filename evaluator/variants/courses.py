"""Variants that a task's forms bring with them: their courses, right and wrong.

Tasks with planted faults have none: what a fault spoils has to be called again, and courses are whole lists of calls.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evaluator.variants.conversation import (
    ConversationPart,
    Utterance,
    Variant,
    asked_details,
    confirmed_calls,
    conversation,
    failing,
    later_wish,
    passing,
)
from evaluator.variants.executor import VariantCall, VariantExecutor, VariantStep
from evaluator.variants.held_out import ChangedCalls, HeldOutVariant, described_calls, reaches, wrong
from evaluator.variants.words import PARTING_WORDS, all_facts, refusal
from skillweave.schema.contract import TRANSFER
from skillweave.schema.result import FAILURE_CLASSES
from skillweave.schema.task import Task
from skillweave.schema.trajectory import StopReason

_ANY_CLASS = frozenset(FAILURE_CLASSES)


class _NamedCourse(NamedTuple):
    name: str
    """Name of the form, and of the course."""
    passes: bool
    calls: list[VariantCall]
    is_told: bool


def courses(executor: VariantExecutor) -> Iterator[Variant]:
    """A variant for each course: a right one has to pass and a wrong one to fail, whatever becomes of its calls."""
    for one in _courses(executor.task):
        words = _words(executor.task) if one.is_told else PARTING_WORDS
        yield _variant(executor, one, executor.execute(one.calls).steps, words)


def unasked(executor: VariantExecutor) -> Iterator[Variant]:
    """All that the user asks for later is done or declined before they have asked."""
    task, is_declined = executor.task, executor.task.criteria.is_declined_later
    if is_declined or _is_done_later(executor):
        held = conversation(task, [*_golden(executor), later_wish(task), Utterance(_words(task))])
        yield failing("unasked", held, {"not_declined"} if is_declined else {"policy_violation"})


def never_asked(executor: VariantExecutor) -> Iterator[HeldOutVariant]:
    """Of the second set: all is done or declined, and the user never asks for what they want later."""
    task = executor.task
    if task.criteria.is_declined_later or _is_done_later(executor):
        beats = [*_golden(executor), Utterance(_words(task, 1))]
        held = conversation(task, beats, is_complete=False)
        yield HeldOutVariant(failing("never_asked", held, {"other"}), "all is done unasked", [])


def _is_done_later(executor: VariantExecutor) -> bool:
    return any(executor.task.golden[place].asked_later for place in executor.writes)


def _golden(executor: VariantExecutor) -> list[ConversationPart]:
    return [*asked_details(executor.task), *confirmed_calls(executor.task, executor.golden.steps)]


def other_courses(executor: VariantExecutor) -> Iterator[HeldOutVariant]:
    """Of the second set: right courses with every look-up twice and facts in another form; golden calls with the
    writes of a wrong course besides."""
    for one in _courses(executor.task):
        if not one.passes:
            besides = [*executor.calls, *_new_writes(executor, one.calls)]
            yield from wrong(executor, f"{one.name}_besides", [ChangedCalls(besides, described_calls(besides))])
        elif one.is_told:
            calls = _with_reads_twice(executor, one.calls)
            execution = executor.execute(calls)
            if execution.is_lawful and reaches(executor, execution.changes):
                twice = one._replace(name=f"{one.name}_looked_twice")
                variant = _variant(executor, twice, execution.steps, _words(executor.task, 1))
                yield HeldOutVariant(variant, described_calls(calls), [])


def _courses(task: Task) -> Iterator[_NamedCourse]:
    for form in task.forms if task.noise is None else ():
        for passes, courses in ((False, form.wrong), (True, form.right)):
            for course in courses:
                calls = [VariantCall(call.tool, call.arguments) for call in course.calls]
                yield _NamedCourse(f"{form.name}_{course.name}", passes, calls, course.told)


def _variant(executor: VariantExecutor, one: _NamedCourse, steps: Sequence[VariantStep], words: str) -> Variant:
    """The calls, and then the words; a transfer comes after them, because it ends the conversation."""
    count = len(steps) - (1 if steps and steps[-1].call.tool == TRANSFER else 0)
    beats: list[ConversationPart] = [
        *asked_details(executor.task),
        *confirmed_calls(executor.task, steps[:count]),
        Utterance(words),
        *([steps[count:]] if steps[count:] else []),
    ]
    held = conversation(executor.task, beats)
    stop: StopReason = "transfer" if steps[count:] else "user_stop"
    return passing(one.name, held, stop) if one.passes else failing(one.name, held, _ANY_CLASS, stop)


def _words(task: Task, which: int = 0) -> str:
    is_declined = task.criteria.declined is not None
    return refusal(task, which) if is_declined else all_facts(task.criteria.communicate, which)


def _is_a(executor: VariantExecutor, call: VariantCall, kind: str) -> bool:
    return executor.world.has_tool(call.tool) and executor.world.blueprint.tool(call.tool).kind == kind


def _with_reads_twice(executor: VariantExecutor, calls: Sequence[VariantCall]) -> list[VariantCall]:
    return [same for call in calls for same in ((call, call) if _is_a(executor, call, "read") else (call,))]


def _new_writes(executor: VariantExecutor, calls: Sequence[VariantCall]) -> list[VariantCall]:
    """The writes that are not golden ones."""
    golden = [(step.call.tool, step.arguments) for step in executor.golden.steps]
    writes = [call for call in calls if _is_a(executor, call, "write")]
    return [call for call in writes if (call.tool, {**call.arguments}) not in golden]
