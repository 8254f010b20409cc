"""What is recorded behind the end of a conversation counts for nothing."""

from evaluator.checks.communicate import check_communicate
from evaluator.checks.replay import check_replay
from evaluator.replay.trial import ReplayedTrial
from evaluator.scoring.score import score
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Message
from skillweave.world.replay import replay
from tests.evaluator.conversations import a_conversation, agent, user
from tests.evaluator.tasks import a_task
from tests.evaluator.trials import a_golden
from tests.world.clinic import a_world

WORLD = a_world()
BOOK = ("book_appointment", {"slot_id": "SLO-0004"})
LOOK: tuple[str, dict[str, str]] = ("list_fees", {})
BYE = user("Thanks, goodbye. ###STOP###")
FEE = {"fact": "told_1", "noun": "fee", "values": [1250], "type": "integer", "unit": "cents"}


def a_booking() -> Task:
    golden = [a_golden(BOOK[0], **BOOK[1])]
    state = replay(WORLD, a_task(golden=golden)).changes
    return a_task(golden=golden, criteria={"state": state, "reward_basis": ["state"], "communicate": [FEE]})


def a_talk(*messages: Message) -> ReplayedTrial:
    return a_conversation(WORLD, a_booking(), user("Book it."), *messages)


def test_a_write_behind_the_end_is_not_made() -> None:
    assert len(a_talk(agent(None, BOOK), BYE).execution.changes) > 0
    assert a_talk(agent("Sure."), BYE, agent(None, BOOK)).execution.calls == []


def test_what_is_told_behind_the_end_is_not_heard() -> None:
    fee = agent("Your fee is 12.50.")
    for messages, told in (([fee, BYE], 1.0), ([BYE, fee], 0.0)):
        trial = a_talk(agent(None, LOOK), agent(None, BOOK), *messages)
        facts = trial.task.criteria.communicate
        assert check_communicate(facts, trial.messages, trial.execution.calls, trial.task.now).score == told
    with WORLD.session(a_booking()) as session:
        found = score(a_booking(), session, [user("Book it."), BYE, fee]).checks.communicate
    assert found is not None
    assert found.score == 0.0


def test_the_end_is_the_users_word_and_nobody_elses() -> None:
    trial = a_talk(agent("###STOP###"), agent(None, BOOK))
    assert (len(trial.execution.calls), trial.after_the_end) == (1, 0)


def test_the_replay_tells_how_much_stands_behind_the_end() -> None:
    trial = a_talk(agent(None, BOOK), BYE, agent("12.50."), user("Oh. ###STOP###"), agent(None, BOOK))
    found = check_replay(trial)
    assert (found.calls, found.after_the_end) == (1, 3)
