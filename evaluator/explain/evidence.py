"""What an explanation rests on: both executions, the checks, and ways to name a point of the trajectory."""

from collections.abc import Sequence
from functools import cached_property

from evaluator.checks.actions import check_actions
from evaluator.execution import Step
from evaluator.explain.text import LONGEST, call_text, made_text, quoted, shortened
from evaluator.trial import Scored, Trial
from skillweave.schema.message import Message
from skillweave.schema.result import Divergence, FailureClass, FailureRecord
from skillweave.schema.score import ActionsCheck
from skillweave.schema.task import Basis

NO_MORE = "no more writes"


class Evidence:
    """A trial that failed, as its explanation sees it."""

    def __init__(self, scored: Scored) -> None:
        self.trial: Trial = scored.trial
        self.checks = scored.checks

    @property
    def basis(self) -> Sequence[Basis]:
        """Checks that count."""
        return self.trial.task.criteria.reward_basis

    def failed(self, basis: Basis) -> bool:
        """Whether a check counts and did not score 1."""
        check = getattr(self.checks, basis)
        return basis in self.basis and check is not None and check.score < 1

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation."""
        return self.trial.messages

    @property
    def made(self) -> Sequence[Step]:
        """All calls of the trajectory."""
        return self.trial.made.steps

    @property
    def golden(self) -> Sequence[Step]:
        """All golden calls."""
        return self.trial.golden.execution.steps

    @cached_property
    def actions(self) -> ActionsCheck:
        """The calls against the golden ones, also where that check was not asked for."""
        return self.checks.actions or check_actions(self.trial)

    @cached_property
    def missing(self) -> list[Step]:
        """Golden calls that no call stands for."""
        return [self.golden[note.golden] for note in self.actions.missing]

    @cached_property
    def extra_writes(self) -> list[Step]:
        """Writes that stand for no golden call."""
        return [self.made[note.call] for note in self.actions.extra if self.made[note.call].writes]

    def due(self, call: int) -> str:
        """The golden write that is still to be made when a call is made, as text."""
        calls = {pair.golden: pair.call for pair in self.actions.matched}
        missing = {step.call for step in self.missing}
        for step in self.golden:
            if step.writes and (step.call in missing or calls.get(step.call, call) > call):
                return call_text(step.tool, step.arguments)
        return NO_MORE

    def at_call(self, failure: FailureClass, made: Step, expected: str, got: str | None = None) -> FailureRecord:
        """A failure that began with a call."""
        where = Divergence(
            turn=made.turn,
            message=made.message,
            call=made.call,
            expected=shortened(expected, LONGEST),
            got=shortened(got or made_text(made), LONGEST),
        )
        return FailureRecord(class_=failure, first_divergence=where)

    def at_message(self, failure: FailureClass, place: int | None, expected: str, got: str) -> FailureRecord:
        """A failure that began with words of the agent, or where there were none."""
        turn = None if place is None else sum(message.role == "assistant" for message in self.messages[:place])
        where = Divergence(
            turn=turn, message=place, call=None, expected=shortened(expected, LONGEST), got=shortened(got, LONGEST)
        )
        return FailureRecord(class_=failure, first_divergence=where)

    def at_end(self, failure: FailureClass, expected: str, got: str | None = None) -> FailureRecord:
        """A failure of what never came: at the agent's last message."""
        places = [place for place, message in enumerate(self.messages) if message.role == "assistant"]
        return self.at_message(failure, places[-1] if places else None, expected, got or self.last_words)

    @property
    def last_words(self) -> str:
        """What the agent said last, and how the conversation ended."""
        said = [message.content for message in self.messages if message.role == "assistant" and message.content]
        end = f"the conversation ended: {self.trial.recorded.stop_reason or 'for no reason given'}"
        return f"{quoted(said[-1])}; {end}" if said else end
