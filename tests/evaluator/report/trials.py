"""Trials in the small clinic: conversations whose calls are really made again, and pages of them."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evaluator.checks import make_checks
from evaluator.explain import explain
from evaluator.replay.execution import execute_messages
from evaluator.replay.golden import golden_execution_of
from evaluator.replay.trial import RecordedTrajectory, ScoredTrial, replayed_trial
from evaluator.report import ShownConversation, conversation_of, write_report
from evaluator.report.summary import summarise
from evaluator.scoring.score import reward_of
from skillweave.base.store import Store
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.result import Result
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall, UserTurn
from skillweave.world.replay import replay
from tests.evaluator.results import a_result
from tests.evaluator.tasks import BASE, a_task
from tests.world.clinic import a_world

WORLD = a_world()
LIST = GoldenCall(tool="list_appointments", arguments={})
BOOK = GoldenCall(tool="book_appointment", arguments={"slot_id": "SLO-0004", "note": "first visit"})


def user(text: str) -> Message:
    """Words of the user."""
    return Message(role="user", content=text)


def agent(text: str, *calls: tuple[str, dict[str, Any] | str]) -> Message:
    """Words of the agent, and calls: name and arguments, as an object or as they are written."""
    made = [
        ToolCall(id=f"{text}{at}", function=FunctionCall(name=name, arguments=arguments))
        for at, (name, arguments) in enumerate(calls)
    ]
    return Message(role="assistant", content=text, tool_calls=made or None)


def answer(text: str, message: Message, at: int = 0) -> Message:
    """What is recorded as the result of a message's call."""
    assert message.tool_calls is not None
    return Message(role="tool", content=text, tool_call_id=message.tool_calls[at].id)


def a_conversation(
    messages: Sequence[Message],
    *,
    trial: int = 0,
    golden: Sequence[GoldenCall] = (LIST, BOOK),
    turns: Sequence[UserTurn] = (),
    **changes: Any,
) -> ShownConversation:
    """The conversation, beside the golden calls of a task with these fields; `agent` is who held it."""
    speaker = changes.pop("agent", "vendor/strong")
    state = replay(WORLD, a_task(golden=[*golden])).changes
    task = a_task(**{"golden": [*golden], "criteria": {"state": state, "reward_basis": ["state"]}, **changes})
    with WORLD.session(task) as session:
        made = execute_messages(session, messages, ("SmallClinic",))
    recorded = RecordedTrajectory(
        id=f"{task.id}#{trial}", task_id=task.id, trial=trial, messages=[*messages], user_turns=[*turns]
    )
    held = replayed_trial(task, WORLD, golden_execution_of(WORLD, task), recorded, made)
    checks = make_checks(held)
    scored = ScoredTrial(held, checks, reward_of(task, checks))
    fields = {
        "passed": scored.passed,
        "reward": scored.reward,
        "checks": checks.model_dump(),
        "agent": speaker,
        "world": task.world,
    }
    failure = explain(scored).model_dump(by_alias=True) if scored.passed is False else None
    result = a_result(task.id, trial, **fields, failure=failure, kind=task.kind, persona=task.persona.style)
    return conversation_of(
        scored, result.model_copy(update={"trajectory_digest": f"{speaker}{trial}{json.dumps(changes)}"})
    )


def a_pass(**changes: Any) -> ShownConversation:
    """An agent that books as it is asked to."""
    look, book = agent("Let me see.", ("list_appointments", {})), agent("Booking.", (BOOK.tool, BOOK.arguments))
    return a_conversation([user("Book me in."), look, book, agent("It is booked.")], **changes)


def a_miss(**changes: Any) -> ShownConversation:
    """An agent that books another slot."""
    wrong = agent("Booking.", (BOOK.tool, {**BOOK.arguments, "slot_id": "SLO-0006"}))
    return a_conversation([user("Book me in."), wrong, agent("It is booked.")], **changes)


def persona(style: str) -> dict[str, Any]:
    """A persona who writes in this style."""
    return {**BASE["persona"], "style": style}


def a_page(
    folder: Path, conversations: Sequence[ShownConversation], more: Sequence[Result] = (), **settings: Any
) -> Path:
    """The report of these conversations, and of results without one; its path."""
    held = {conversation.result.trajectory_digest: conversation for conversation in conversations}
    results = [*(conversation.result for conversation in conversations), *more]

    def read() -> Iterator[Result]:
        return iter(results)

    def found(result: Result) -> ShownConversation | None:
        return held.get(result.trajectory_digest)

    write_report(Store(folder), "report.html", summarise(results, "0" * 64), read, found, **settings)
    return folder / "report.html"
