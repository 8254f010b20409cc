import json

from rollout.react.agent import ReactAgent
from rollout.trajectory import RolloutSettings
from skillweave.llm.backends.backend import Reply
from skillweave.schema.trajectory import Message, TrajectoryRecord
from tests.rollout.talks import Said, Script, a_question, calling, check_history, held, said_by, talk

CALL = 'Thought: I add.\nAction: add\nAction Input: {"a": 2, "b": 3}'
ANSWER = "Thought: Now I know.\nAnswer: 5"


def react(*said: Said) -> tuple[TrajectoryRecord, Script]:
    script = Script(*said)
    return held(a_question(), RolloutSettings(backend=script.backend, agent_class=ReactAgent)), script


def without_ids(record: TrajectoryRecord) -> list[tuple[str, str | None, list[tuple[str, str]]]]:
    return [
        (
            message.role,
            message.content,
            [(call.function.name, str(call.function.arguments)) for call in message.tool_calls or ()],
        )
        for message in record.messages
    ]


def test_the_record_is_the_one_of_native_calls_with_thoughts_as_reasoning() -> None:
    record, _ = react(CALL, ANSWER)
    native = talk(calling(("add", '{"a": 2, "b": 3}')), "5")
    assert without_ids(record) == without_ids(native)
    assert record.tools == native.tools
    assert [message.reasoning_content for message in said_by(record, "assistant")] == ["I add.", "Now I know."]
    assert record.score is not None
    assert record.score.passed
    check_history(record.messages)


def test_requests_carry_tools_in_words_and_results_as_observations() -> None:
    _, script = react(CALL, ANSWER)
    first, second = script.heard
    assert first.tools == second.tools == ()
    assert [message.role for message in first.messages] == ["system", "user"]
    assert "- add: Add two numbers." in (first.messages[0].content or "")
    assert [(message.role, message.content) for message in second.messages[2:]] == [
        ("assistant", CALL),
        ("user", "Observation: 5"),
    ]
    assert all(message.tool_calls is None for message in second.messages)


def test_an_invented_observation_is_not_recorded() -> None:
    record, _ = react(f"{CALL}\nObservation: 7\nThought: Good.\nAnswer: 7", ANSWER)
    assert said_by(record, "tool")[0].content == "5"
    assert "7" not in "".join(message.model_dump_json() for message in said_by(record, "assistant"))
    assert record.score is not None
    assert record.score.passed


def test_arguments_that_cannot_be_read_are_told_back_as_an_observation() -> None:
    record, script = react("Action: add\nAction Input: {'a': 2, 'b': 3}", CALL, ANSWER)
    assert "not valid JSON" in (script.heard[1].messages[-1].content or "")
    assert record.metadata["malformed_calls"] == 1
    assert record.stop_reason == "agent_stop"
    check_history(record.messages)


def test_a_reply_of_neither_form_is_told_so_and_left_out_of_the_record() -> None:
    record, script = react("Thought: Hm.", ANSWER)
    again = [(message.role, message.content) for message in script.heard[1].messages[2:]]
    assert again[0] == ("assistant", "Thought: Hm.")
    assert again[1][0] == "user"
    assert "neither an Action nor an Answer" in (again[1][1] or "")
    assert [message.content for message in said_by(record, "assistant")] == ["5"]


def test_three_of_them_in_a_row_are_the_agents_error() -> None:
    record, _ = react("Thought: Hm.")
    assert record.stop_reason == "error"
    assert record.error is not None
    assert record.error.kind == "agent"


def test_reasoning_of_the_provider_is_kept_and_not_given_back_as_a_thought() -> None:
    record, script = react(Reply(text=CALL, reasoning="deep"), ANSWER)
    assert said_by(record, "assistant")[0].reasoning_content == "deep\n\nI add."
    assert all("deep" not in (message.content or "") for message in script.heard[1].messages)


def test_unknown_tools_are_the_tools_to_refuse() -> None:
    record, _ = react("Action: multiply\nAction Input: {}", ANSWER)
    assert json.loads(said_by(record, "tool")[0].content or "")["error"]["code"] == "unknown_tool"


def test_an_instruction_without_a_system_message_gets_one() -> None:
    script = Script(ANSWER)
    agent = ReactAgent(
        script.backend,
        [Message(role="user", content="Hi.")],
        [],
        key="k",
        settings=RolloutSettings(script.backend).agent,
    )
    assert [message.role for message in agent._request().messages] == ["system", "user"]
