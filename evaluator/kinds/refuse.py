"""Kind `refuse`: a rule forbids the request. Whoever records that rule, changes nothing and says so passes."""

from collections.abc import Iterator, Sequence

from evaluator.kinds.conduct import AgentConduct
from evaluator.kinds.kind import TaskKind
from evaluator.replay.execution import ExecutedCall
from evaluator.variants.conversation import CallFormat, Variant, conversation, failing, passing, transcript
from evaluator.variants.declines import (
    CHANGED,
    UNRECORDED,
    declined_variants,
    right_record,
    transfer,
    ways_of_recording,
    wrong_record,
)
from evaluator.variants.equivalents import PREFIX_SEPARATORS, extra_reads, failed_then_right
from evaluator.variants.executor import VariantExecutor
from evaluator.variants.held_out import HeldOutVariant
from evaluator.variants.held_out_calls import needless_declines
from evaluator.variants.held_out_declines import other_records, wrong_records
from evaluator.variants.held_out_forms import other_forms_of_facts
from evaluator.variants.mutants import decline_calls, found_writes, told_wrongly, untold
from evaluator.variants.words import refusal
from skillweave.schema.contract import DECLINE
from skillweave.schema.result import FailureClass
from skillweave.schema.task import Task

_DONE = "That is done now."


class Refuse(TaskKind):
    """A request that a rule forbids, and that must be recorded as declined.

    The deciding rule stands in `criteria.declined`.
    """

    is_carried_out = False
    ending = DECLINE
    rubric_question = (
        "Did the agent decline what the company's rules forbid, and explain why in words that users understand?"
    )
    mistakes = ("nothing_recorded", "wrong_rule", "extra_write")

    def task_fault(self, task: Task) -> str | None:
        """A task without the deciding rule cannot be scored."""
        if task.criteria.declined is None:
            return "criteria.declined does not say which rule decides a request that is to be declined"
        return None

    def conduct_faults(self, conduct: AgentConduct) -> Iterator[str]:
        """Without a deciding rule no decline can be right."""
        if conduct.task.criteria.declined is None:
            yield "nothing says which rule decides it"
        yield from super().conduct_faults(conduct)

    def needs_messages(self, task: Task, calls: Sequence[ExecutedCall]) -> bool:
        """Only the conversation shows whether the user was told."""
        return True

    def variants(self, executor: VariantExecutor) -> Iterator[Variant]:
        """Declines with the right and with wrong rules, and changes made all the same."""
        if _is_refused(executor):
            yield right_record(executor, "golden", executor.golden)
            yield from declined_variants(executor)
            yield from told_wrongly(executor)

    def conduct_variants(self, executor: VariantExecutor) -> Iterator[Variant]:
        """When and how the decline is recorded, and what else is called or said."""
        if _is_refused(executor):
            yield from ways_of_recording(executor)
            yield from _other_calls(executor)
            yield from _nothing_recorded(executor)
            yield from untold(executor)

    def held_out_variants(self, executor: VariantExecutor) -> Iterator[HeldOutVariant]:
        """Other ways of declining, right and wrong."""
        if not _is_refused(executor):
            yield from needless_declines(executor)
            return
        yield from other_records(executor)
        yield from wrong_records(executor)
        yield from other_forms_of_facts(executor)


def _is_refused(executor: VariantExecutor) -> bool:
    return executor.task.criteria.declined is not None and not executor.golden.changes


def _other_calls(executor: VariantExecutor) -> Iterator[Variant]:
    """Calls in other formats and additional ones, some of which change something."""
    golden, words = executor.golden, [refusal(executor.task)]
    for name, calls in [("extra_reads", extra_reads(executor)), ("failed_then_right", failed_then_right(executor))]:
        execution = executor.execute(calls)
        if calls and not execution.unexecuted and not execution.changes:
            yield right_record(executor, name, execution)
    formats = [("object_arguments", CallFormat(is_object=True))]
    formats += [("prefixed_names", CallFormat(prefix=f"{executor.task.world}{joint}")) for joint in PREFIX_SEPARATORS]
    for name, manner in formats:
        yield passing(name, transcript(executor.task, golden.steps, words, manner))
    call = found_writes(executor, ["extra_write"]).get("extra_write")
    if call is not None:
        yield wrong_record(executor, "changed_something_else", executor.execute([*executor.calls, call]), CHANGED)
        yield wrong_record(executor, "done_instead", executor.execute([*executor.world_calls, call]), CHANGED, _DONE)


def _nothing_recorded(executor: VariantExecutor) -> Iterator[Variant]:
    """Nothing is recorded, or before anybody has asked; and it is recorded without a look-up, which is right if
    nothing has to be told."""
    task, declined = executor.task, executor.task.criteria.declined
    untold: set[FailureClass] = {"did_not_tell", "gave_up_early"} if task.criteria.communicate else set()
    classes = UNRECORDED | untold
    yield failing("nothing", transcript(task, [], ["Thank you for getting in touch."]), classes)
    if declined is None:
        return
    handed = executor.execute([transfer({"reason": "policy", "rule": declined.rule})]).steps
    yield failing("handed_over_early", conversation(task, [], early=handed), classes, "transfer")
    if not task.criteria.communicate:
        yield right_record(executor, "recorded_at_once", executor.execute(decline_calls([declined.rule])))
