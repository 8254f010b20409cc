"""A model user behind a scripted endpoint: what it records arrives in the trajectory, and what it invents does not."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from rollout.agent import AgentSettings
from rollout.conversation import RolloutLimits
from rollout.trajectory import RolloutSettings, Trajectory
from skillweave.llm.history import BEGINNING
from skillweave.llm.models import AuthorSpec, connect
from skillweave.schema.trajectory import TrajectoryRecord, UserTurn
from tests.llm.protocols import a_completion
from tests.llm.scripted import Heard, ScriptedServer, reply
from tests.rollout.talks import Said, Script, calling, said_by
from tests.rollout.visits import BOOK, SLOT, a_booking, a_visit

ASKED = f"I would book {SLOT} for you. Shall I go ahead?"
DONE = "It is booked."


def record(text: str, **fields: Any) -> str:
    """An answer in the form."""
    return json.dumps({"text": text, "agrees": None, "wants_human": False, "done": False, **fields})


def visited(agent: Sequence[Said], *answers: str, slot_known: bool = False) -> tuple[TrajectoryRecord, list[Heard]]:
    """A booking, its user's model answering with these texts; and what that model was sent."""
    given = a_booking()
    if slot_known:
        fact = {"id": "slot.slot_id", "text": f"It is slot {SLOT}.", "value": SLOT, "tell": "asked"}
        scenario = given.scenario.model_validate({**given.scenario.model_dump(), "facts": [fact]})
        given = given.model_copy(update={"scenario": scenario})

    async def hold(server: ScriptedServer) -> TrajectoryRecord:
        spec = AuthorSpec(provider="openai", model="m", base_url=f"{server.url}/v1", timeout=5.0, max_retries=0)
        user = connect(spec)
        setting = RolloutSettings(Script(*agent).backend, limits=RolloutLimits(max_turns=6), agent=AgentSettings())
        trajectory = Trajectory(a_visit(record=given, user=user), 0, 1, setting)
        await trajectory.initialize_trajectory()
        await trajectory.generate_trajectory()
        await trajectory.evaluate_trajectory()
        await user.close()
        assert trajectory.result is not None
        return trajectory.result

    with ScriptedServer(*(reply(a_completion(answer)) for answer in answers)) as server:
        return asyncio.run(hold(server)), list(server.heard)


@pytest.mark.parametrize(
    ("agreeing", "leaving"),
    [
        (record("Yes, please.", agrees=True), record("Thank you.", done=True)),
        ('```json\n{"text": "Yes, please.", "agrees": "true"}\n```', 'Sure:\n{"text": "Thank you.", "done": "yes"}'),
        ('{"text": "Yes, please.", "agrees": true, "wants_hu', '{"done": true, "text": "Thank you.'),
    ],
    ids=["form", "wrapped", "broken"],
)
def test_a_conversation_ends_as_it_should_and_its_turns_are_recorded(agreeing: str, leaving: str) -> None:
    held, heard = visited([ASKED, calling(BOOK), DONE], agreeing, leaving)
    assert (held.stop_reason, held.error, held.score and held.score.passed) == ("user_stop", None, True)
    assert [message.content for message in said_by(held, "user")[1:]] == ["Yes, please.", "Thank you."]
    assert held.user_turns == [
        UserTurn(message=1),
        UserTurn(message=3, agrees=True),
        UserTurn(message=7, done=True),
    ]
    assert all(held.messages[turn.message].role == "user" for turn in held.user_turns)
    assert len(heard) == 2


def test_prose_ends_with_the_mark_and_says_nothing_of_agreement() -> None:
    held, _ = visited([ASKED, calling(BOOK), DONE], "Yes, please.", "Thank you! ###STOP###")
    assert held.stop_reason == "user_stop"
    assert [turn.agrees for turn in held.user_turns or ()] == [None, None, None]
    assert said_by(held, "user")[-1].content == "Thank you!"


def test_a_refusal_and_the_wish_for_a_human_arrive() -> None:
    transfer = calling(("transfer_to_human", '{"reason": "user_request", "summary": "s"}'))
    held, _ = visited(
        [ASKED, "Then what?", transfer],
        record("No, not that.", agrees=False),
        record("I want to speak to a human.", wants_human=True),
    )
    assert held.stop_reason == "transfer"
    assert [(turn.agrees, turn.wants_human) for turn in held.user_turns or ()][1:] == [(False, False), (None, True)]


def test_the_user_is_asked_in_the_form_and_sees_its_own_records_but_no_calls() -> None:
    _, heard = visited([calling(BOOK, text="One moment."), DONE], record("Thank you.", done=True))
    body = heard[0].body
    assert body["response_format"]["json_schema"]["schema"]["required"] == [
        *("text", "agrees", "wants_human", "later", "done")
    ]
    # Endpoints want the user to speak first, and here the assistant opens.
    system, beginning, opening, said = body["messages"]
    assert beginning == {"role": "user", "content": BEGINNING}
    assert '"wants_human"' in system["content"]
    assert json.loads(opening["content"])["text"].startswith("Please book")
    assert said["content"] == f"One moment.\n\n{DONE}"


def test_the_agent_sees_the_words_alone() -> None:
    held, _ = visited([ASKED, calling(BOOK), DONE], record("Yes.", agrees=True), record("Bye.", done=True))
    assert not any("agrees" in (message.content or "") for message in held.messages)


def test_what_is_invented_is_sent_back_with_its_token_and_counted() -> None:
    held, heard = visited(
        ["Which day?", calling(BOOK), DONE],
        record("On 3 July 2031, order XK-4711."),
        record(""),
        record("Any day."),
        record("Bye.", done=True),
    )
    assert [message.content for message in said_by(held, "user")[1:]] == ["Any day.", "Bye."]
    again = heard[1].body["messages"][-1]["content"]
    assert "'3 july 2031'" in again.lower()
    assert "'xk-4711'" in again.lower()
    assert "its text is missing or empty" in heard[2].body["messages"][-1]["content"]
    assert held.metadata["user_sent_back"] == 2
    assert held.error is None


def test_what_the_agent_said_may_be_repeated() -> None:
    held, _ = visited(["I have 3 July 2031.", DONE], record("The 3rd of July is fine."), record("Bye.", done=True))
    assert held.metadata["user_sent_back"] == 0


def test_three_answers_that_cannot_be_used_are_the_users_error() -> None:
    held, heard = visited(["Which day?"], record("On 3 July 2031."))
    assert (held.stop_reason, held.error and held.error.kind, held.score) == ("error", "user", None)
    assert len(heard) == 3
    assert held.metadata["user_sent_back"] == 3
    assert [turn.message for turn in held.user_turns or ()] == [1]


def test_the_facts_that_a_text_tells_are_noted() -> None:
    held, _ = visited(["Which?", calling(BOOK), DONE], record(f"{SLOT}."), record("Bye.", done=True), slot_known=True)
    assert [turn.tells for turn in held.user_turns or ()] == [["slot.slot_id"], ["slot.slot_id"], []]
