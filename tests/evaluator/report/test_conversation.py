from evaluator.report.conversation import ShownCall, ShownConversation
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.trajectory import UserTurn
from tests.evaluator.report.trials import BOOK, LIST, a_conversation, a_miss, a_pass, agent, answer, user


def calls(conversation: ShownConversation) -> list[ShownCall]:
    return [call for turn in conversation.turns for call in turn.calls]


def test_each_call_has_what_it_changed_row_by_row() -> None:
    [look, book] = calls(a_pass())
    assert look.changes == []
    changes = {(change.op, change.table): change for change in book.changes}
    assert set(changes) == {("insert", "appointment"), ("insert", "reminder"), ("update", "slot")}
    slot = changes["update", "slot"]
    assert (slot.key, slot.before, slot.after) == ({"slot_id": "SLO-0004"}, {"is_free": True}, {"is_free": False})


def test_golden_calls_stand_beside_with_their_own_changes() -> None:
    golden = a_miss().golden
    assert [call.tool for call in golden] == ["list_appointments", "book_appointment"]
    assert [change.table for change in golden[1].changes] == [change.table for change in calls(a_pass())[1].changes]
    assert golden[1].arguments == BOOK.arguments


def test_results_stand_with_their_calls_and_only_those_that_differ_are_quoted() -> None:
    look = agent("Let me see.", ("list_appointments", {}))
    book = agent("", (BOOK.tool, BOOK.arguments))
    true = '{"appointment_id": "APT-0009", "status": "scheduled", "starts_at": "2025-01-22 14:30:00"}'
    found = a_conversation([user("Book me in."), look, answer("a tale", look), book, answer(true, book)])
    assert [turn.role for turn in found.turns] == ["user", "assistant", "assistant"]
    assert [call.recorded for call in calls(found)] == ["a tale", None]
    assert isinstance(calls(found)[0].value, list)


def test_a_result_of_no_call_is_a_turn_of_its_own() -> None:
    look = agent("Let me see.", ("list_appointments", {}))
    twice = a_conversation([look, answer("[]", look), answer("once more", look)])
    assert [(turn.message, turn.role, turn.text) for turn in twice.turns][1:] == [(2, "tool", "once more")]


def test_arguments_that_cannot_be_read_are_shown_as_they_are_written() -> None:
    [broken, made] = calls(a_conversation([agent("", (BOOK.tool, "{'slot"), ("SmallClinic__list_appointments", "{}"))]))
    assert (broken.written, broken.arguments, broken.changes) == ("{'slot", {}, [])
    assert broken.error is not None
    assert (made.written, made.tool, made.error) == (None, "list_appointments", None)


def test_a_broken_rule_stands_at_its_call() -> None:
    more = [GoldenCall(tool=BOOK.tool, arguments={"slot_id": slot}) for slot in ("SLO-0006", "SLO-0007")]
    messages = [agent(str(at), (call.tool, call.arguments)) for at, call in enumerate([BOOK, *more])]
    assert [call.broken for call in calls(a_conversation(messages, golden=[LIST, BOOK]))] == [[], ["R6"], ["R6"]]


def test_a_message_of_the_user_stands_with_its_record_and_an_early_end_is_noted() -> None:
    messages = [user("Book me in."), agent("The 22nd?"), user("No. I want a human."), agent("Why?"), user("Bye.")]
    turns = [UserTurn(message=2, agrees=False, wants_human=True), UserTurn(message=4, done=True)]
    found = a_conversation(messages, turns=turns)
    assert [turn.record for turn in found.turns] == ["", "", "does not agree; wants a human", "", "is done"]
    [note] = next(one for one in found.findings if one.check == "user").notes
    assert note == "left while a question was open, its request neither done, declined nor handed over"


def test_findings_say_what_counts_and_what_is_missing() -> None:
    fee = {"fact": "fee", "noun": "cancellation fee", "values": [3000], "type": "integer", "unit": "cents"}
    criteria = {"state": [], "communicate": [fee], "reward_basis": ["communicate"]}
    found = {
        one.check: one for one in a_conversation([user("How much?"), agent("Nothing.")], criteria=criteria).findings
    }
    assert next(iter(found)) == "communicate"
    assert found["communicate"].counts
    assert not found["state"].counts
    assert found["communicate"].notes == ["not told, or told wrongly: cancellation fee = 3000 cents (fee)"]
    state = {one.check: one for one in a_miss().findings}["state"]
    assert {change.table for change in state.missing} >= {"appointment"}
    assert {change.table for change in state.unexpected} >= {"appointment"}
