"""Whether the agent asked for what the user had left out, before the write that needs it.

The task says which facts were left out, and which tool's first success needs them (`criteria.must_ask`). They were
asked for where a question of the agent, after the request and in a message before the one with that call, names one of
them, asks which row is meant, or puts values up for choice; of the last that is left also where it asks which one.
What the user has said after the request needed no question any more: nobody guessed it. To propose a deed is no
question for what it needs.
"""

from collections.abc import Sequence

from evaluator.conduct.questions import asks_for, asks_to_choose, asks_which, gives, proposes, questions
from evaluator.execution import Step
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.message import Message
from skillweave.schema.task import Fact, MustAsk, Task


def not_asked(
    task: Task, steps: Sequence[Step], messages: Sequence[Message], blueprint: Blueprint | None = None
) -> list[str]:
    """What a write needed and nobody asked for before it: `appointment.reason in call 3 (cancel)`.

    Where the write was never made, all that was said counts.
    """
    found: list[str] = []
    for step in _needing(task, steps):
        heard = _heard(messages if step is None else messages[: max(step.message, 0)])
        needs = [one for one in task.criteria.must_ask if _first(one, steps) is step]
        left = _left_open(task, needs, heard, blueprint)
        where = "" if step is None else f" in call {step.call} ({step.tool})"
        found += [f"{' or '.join(one.facts)}{where}" for one in left]
    return found


def _needing(task: Task, steps: Sequence[Step]) -> list[Step | None]:
    """The calls that need something, in order; None stands for those that were never made."""
    firsts = [_first(one, steps) for one in task.criteria.must_ask]
    made = {step.call: step for step in firsts if step is not None}
    return [*(made[call] for call in sorted(made)), *([None] if None in firsts else [])]


def _first(need: MustAsk, steps: Sequence[Step]) -> Step | None:
    return next((step for step in steps if step.ok and step.tool == need.tool), None)


def _heard(messages: Sequence[Message]) -> Sequence[Message]:
    """What was said after the request."""
    request = next((place for place, message in enumerate(messages) if message.role == "user"), len(messages))
    return messages[request + 1 :]


def _left_open(
    task: Task, needs: Sequence[MustAsk], messages: Sequence[Message], blueprint: Blueprint | None
) -> list[MustAsk]:
    """Of what one call needs, that which nobody asked for, and the user did not say."""
    said = [message.content for message in messages if message.role == "user" and message.content]
    spoken = [message.content for message in messages if message.role == "assistant" and message.content]
    asked = [one for words in spoken for one in questions(words) if not proposes(one)]
    left = [one for one in needs if not _is_settled(task, one, asked, said, blueprint)]
    return [] if len(left) == 1 and any(map(asks_to_choose, asked)) else left


def _is_settled(
    task: Task, need: MustAsk, asked: Sequence[str], said: Sequence[str], blueprint: Blueprint | None
) -> bool:
    """Whether one of the facts was asked for, or said by the user."""
    for fact in [fact for fact in task.scenario.facts if fact.id in need.facts]:
        choices = _choices(blueprint, need.tool, fact)
        if any(asks_for(one, fact, choices) or asks_which(one, fact) for one in asked):
            return True
        if any(gives(one, fact) for one in said):
            return True
    return False


def _choices(blueprint: Blueprint | None, tool: str, fact: Fact) -> Sequence[str]:
    """Values that the contract allows for it."""
    tools = [one for one in blueprint.tools if one.name == tool] if blueprint else []
    named = fact.id.rpartition(".")[2]
    return next((one.enum for called in tools for one in called.parameters if one.name == named and one.enum), ())
