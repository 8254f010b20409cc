"""A trial: one trajectory, its calls made again, beside the golden execution of its task."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from evaluator.execution import Execution
from evaluator.golden import Golden
from evaluator.recorded import Recorded
from evaluator.turns import turns_of
from skillweave.conversation import until_end
from skillweave.schema.message import Message
from skillweave.schema.score import Checks
from skillweave.schema.task import Task
from skillweave.schema.trajectory import UserTurn
from skillweave.tool_call import shown
from skillweave.world.world import World


@dataclass(frozen=True)
class Trial:
    """All that checks look at."""

    task: Task
    world: World
    golden: Golden
    recorded: Recorded
    made: Execution
    """The recorded calls, made again."""

    @cached_property
    def messages(self) -> Sequence[Message]:
        """The conversation, to where the user left."""
        return until_end(self.recorded.messages, self.recorded.user_turns or ())

    @cached_property
    def turns(self) -> list[UserTurn]:
        """What each message of the user's comes to, in order."""
        return turns_of(self.task, self.messages, self.recorded.user_turns)

    @property
    def after_the_end(self) -> int:
        """Messages behind it, which nobody heard."""
        return len(self.recorded.messages) - len(self.messages)


@dataclass(frozen=True)
class Scored:
    """A trial with what the checks say of it."""

    trial: Trial
    checks: Checks
    reward: float | None
    """None where a check that counts was not made."""

    @property
    def passed(self) -> bool | None:
        """The reward is 1; None where it could not be said."""
        return None if self.reward is None else self.reward == 1


def replayed(trial: Trial) -> list[Message]:
    """The conversation, each call followed by what the replay answered; what is recorded of results is left out."""
    steps = iter(trial.made.steps)
    found: list[Message] = []
    for message in trial.messages:
        if message.role == "tool":
            continue
        found.append(message)
        for call in (message.tool_calls or ()) if message.role == "assistant" else ():
            found.append(Message(role="tool", tool_call_id=call.id, content=shown(next(steps).result)))
    return found
