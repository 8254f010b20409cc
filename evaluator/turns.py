"""The user's turns: what each message of the user's comes to, as the user recorded it.

A file from elsewhere has no such records; then nobody knows whether the user agreed, and which facts a message tells
is all there is. That is looked up here in any case: a record is not believed where the text can be looked at.
"""

from collections.abc import Iterable, Mapping, Sequence

from evaluator.ledger import tells
from skillweave.schema.message import Message
from skillweave.schema.task import Task
from skillweave.schema.trajectory import UserTurn


def turns_of(task: Task, messages: Sequence[Message], recorded: Iterable[UserTurn] | None) -> list[UserTurn]:
    """One turn for each message of the user's, in order, with the facts that it tells."""
    known: Mapping[int, UserTurn] = {turn.message: turn for turn in recorded or ()}
    found, earlier = [], list[str]()
    for place, message in enumerate(messages):
        if message.role == "user":
            told = [fact.id for fact in task.scenario.facts if tells(fact, message.content or "", task.now, earlier)]
            turn = known.get(place) or UserTurn(message=place)
            found.append(turn.model_copy(update={"tells": told}))
        if message.role in ("user", "assistant") and message.content:
            earlier.append(message.content)
    return found
