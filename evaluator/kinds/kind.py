"""The base of all kinds of task: what a kind decides, with the answers for a request that tools carry out.

A kind of one's own is a subclass. Its module registers an instance:

    from evaluator.kinds import KINDS, TaskKind

    class Callback(TaskKind):
        rubric_question = "Did the agent promise a call back, and say when?"

    KINDS.register("callback", Callback())

Whatever it does not override holds as for `do`.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal, NamedTuple

from evaluator.kinds.conduct import (
    AgentConduct,
    RecordedDecline,
    decline_faults,
    foresight_faults,
    question_faults,
)
from evaluator.replay.execution import ExecutedCall
from evaluator.variants.conversation import Variant
from evaluator.variants.declines import declined_variants, ways_of_recording
from evaluator.variants.equivalents import call_formats, equivalents
from evaluator.variants.executor import VariantExecutor
from evaluator.variants.held_out import HeldOutVariant
from evaluator.variants.held_out_calls import changed_calls, needless_declines
from evaluator.variants.held_out_declines import other_records, wrong_records
from evaluator.variants.held_out_forms import other_forms_of_facts, other_orders
from evaluator.variants.mutants import further_writes, mutants, told_wrongly, unfinished, untold
from skillweave.schema.contract import DECLINE
from skillweave.schema.result import FailureClass
from skillweave.schema.task import Task

Mistake = Literal[
    "wrong_argument", "skipped_call", "extra_write", "invented_tool", "gives_up", "guesses",
    "nothing_recorded", "wrong_rule", "wrong_reason",
]  # fmt: skip
"""What the careless scripted agent can do wrong."""


class Misconduct(NamedTuple):
    """How a broken policy is explained."""

    failure: FailureClass
    expected: str
    """What the agent had to do instead, in words."""


class TaskKind:
    """What follows from a task's kind. One instance serves all tasks of the kind; it keeps nothing."""

    is_goal: ClassVar[bool] = False
    """Whether authors write goals of this kind; tasks of the other kinds are derived from goals."""
    is_carried_out: ClassVar[bool] = True
    """Whether tools carry the request out; where not, the agent declines or transfers it."""
    ending: ClassVar[str | None] = None
    """The tool with which the golden calls end: `decline_request`, `transfer_to_human`, or None. Calls of a kind of
    which tools carry out one part may end with a decline of the other."""
    rubric_question: ClassVar[str | None] = None
    """What a judge is asked about tasks of this kind, to be answered with yes or no."""
    mistakes: ClassVar[tuple[Mistake, ...]] = (
        "wrong_argument",
        "skipped_call",
        "extra_write",
        "invented_tool",
        "gives_up",
    )
    """What the careless scripted agent does wrong; the order is part of what its seed draws."""

    def task_fault(self, task: Task) -> str | None:
        """Why a task of this kind cannot be scored; None where it can."""
        return None

    def ending_of(self, task: Task) -> str | None:
        """The tool with which a task's golden calls end; None if with one of the world's."""
        return self.ending or (DECLINE if task.criteria.declined is not None else None)

    def conduct_faults(self, conduct: AgentConduct) -> Iterator[str]:
        """What the policy check holds against the agent, beside broken rules; a line each."""
        yield from decline_faults(conduct)
        yield from question_faults(conduct)
        yield from foresight_faults(conduct)

    def needs_messages(self, task: Task, calls: Sequence[ExecutedCall]) -> bool:
        """Whether only the conversation can show that the agent kept to the policy."""
        is_foretold = any(call.asked_later for call in task.golden)
        return bool(task.criteria.must_ask) or task.criteria.declined is not None or is_foretold

    def misconduct(self, task: Task, declines: Sequence[RecordedDecline]) -> Misconduct:
        """How the first of the conduct's faults is explained.

        Args:
            declines: What the agent recorded as declined.
        """
        demanded = task.criteria.declined
        if demanded is None and declines:
            return Misconduct("wrongly_declined", "nothing recorded as declined")
        if demanded is not None:
            is_wrong = any(rule not in demanded.accepted for _, rule in declines)
            expected = f'{DECLINE}(rule="{demanded.rule}"), and words to the user'
            return Misconduct("wrong_rule" if is_wrong else "not_declined", expected)
        if task.criteria.must_ask:
            expected = "the user's word on what they left out, before the write that needs it"
            return Misconduct("did_not_ask", expected)
        return Misconduct("policy_violation", "what the policy asks")

    def variants(self, executor: VariantExecutor) -> Iterator[Variant]:
        """Variants of a task's golden conversation that depend on its values and rows, in a fixed order."""
        yield from equivalents(executor)
        yield from mutants(executor)
        yield from told_wrongly(executor)
        yield from declined_variants(executor)

    def conduct_variants(self, executor: VariantExecutor) -> Iterator[Variant]:
        """Variants that are alike for all tasks of one conduct: how calls are written, what is written besides,
        what is recorded and told when, who is asked. In a fixed order."""
        yield from call_formats(executor)
        if self.is_goal:
            yield from further_writes(executor)
        yield from unfinished(executor)
        yield from untold(executor)
        yield from ways_of_recording(executor)

    def held_out_variants(self, executor: VariantExecutor) -> Iterator[HeldOutVariant]:
        """Variants of the second set, by which no task is kept or dropped, in a fixed order."""
        yield from needless_declines(executor)
        yield from other_records(executor)
        yield from wrong_records(executor)
        yield from self.held_out_work(executor)

    def held_out_work(self, executor: VariantExecutor) -> Iterator[HeldOutVariant]:
        """Those of the second set that carry the request out, rightly or wrongly."""
        yield from other_orders(executor)
        yield from changed_calls(executor)
        yield from other_forms_of_facts(executor)


class Do(TaskKind):
    """A request for writes that tools and policy allow. Look-ups serve them."""

    is_goal = True


class Inform(TaskKind):
    """A question that look-ups answer. What the user must be told stands in `criteria.communicate`."""

    is_goal = True
