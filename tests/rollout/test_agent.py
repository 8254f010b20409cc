import asyncio
from collections.abc import Sequence

import pytest

from rollout.agent import LONGEST_ID, Agent, AgentSettings
from rollout.task import Definition
from skillweave.llm.backends.backend import Reply, Request, Sampling, Tokens
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall
from skillweave.world.tools import MAX_ARGUMENT_CHARACTERS, read_call
from tests.rollout.talks import Said, Script, calling

OPENING = [Message(role="system", content="You help."), Message(role="user", content="Hello.")]
TOOL: Definition = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def stepped(*said: Said, settings: AgentSettings | None = None) -> tuple[Agent, Sequence[Request]]:
    """An agent after as many steps as there are replies; each call got a result."""
    script = Script(*said)
    agent = Agent(script.backend, OPENING, [TOOL], key="t#0", settings=settings or AgentSettings())

    async def go() -> None:
        for _ in said:
            for call in (await agent.step()).calls:
                agent.observe(call, "1")

    asyncio.run(go())
    return agent, script.heard


def ids_of(agent: Agent) -> list[str]:
    return [call.id for message in agent.history for call in message.tool_calls or ()]


@pytest.mark.parametrize("given", [["a", "a", "b"], ["", "", ""], ["call_1", "", "call_0"], ["x" * 65, "y" * 65, ""]])
def test_ids_are_made_unique_and_results_follow_them(given: list[str]) -> None:
    agent, _ = stepped(calling(("f", "{}"), ("f", "{}"), ("f", "{}"), ids=given), calling(("f", "{}"), ids=given[:1]))
    found = ids_of(agent)
    assert len({*found}) == 4
    assert all(0 < len(id) <= LONGEST_ID for id in found)
    assert [message.tool_call_id for message in agent.history if message.role == "tool"] == found


def test_ids_that_are_unique_stay_as_they_are() -> None:
    agent, _ = stepped(calling(("f", "{}"), ("f", "{}"), ids=["a", "b"]))
    assert ids_of(agent) == ["a", "b"]


@pytest.mark.parametrize(
    ("arguments", "read", "fault"),
    [
        ('{"x": [1, {"y": null}]}', {"x": [1, {"y": None}]}, None),
        ("", {}, None),
        ('{"x": 1', None, "not valid JSON"),
        ("[1]", None, "must be one JSON object"),
        ('{"x": NaN}', None, "not valid JSON"),
        ('{"x": 1e999}', None, "not valid JSON"),
        ('{"x": "\\ud800"}', None, "not valid JSON"),
        ("[" * 100_000, None, "not valid JSON"),
        ({"x": 1}, {"x": 1}, None),
        (f'{{"x": "{"y" * MAX_ARGUMENT_CHARACTERS}"}}', None, "at most 1048576 are read"),
    ],
)
def test_arguments_are_read_or_the_fault_is_named(
    arguments: str | dict[str, object], read: dict[str, object] | None, fault: str | None
) -> None:
    call = read_call(ToolCall.model_validate({"id": "c", "function": {"name": "f", "arguments": arguments}}))
    assert call.arguments == read
    assert fault is None if call.fault is None else fault is not None and fault in call.fault


def test_reasoning_is_recorded_and_given_back_only_where_it_is_asked_for() -> None:
    for replay in (False, True):
        said = (Reply(text="One.", reasoning="because"), "Two.")
        agent, heard = stepped(*said, settings=AgentSettings(replay_reasoning=replay))
        assert agent.history[2].reasoning_content == "because"
        assert (heard[1].messages[2].reasoning_content == "because") == replay


def test_what_training_needs_is_recorded_as_it_was_sampled() -> None:
    tokens = Tokens(token_ids=(5, 6), prompt_token_ids=(1, 2, 3), logprobs=(-0.5, -1.0))
    agent, _ = stepped(Reply(text="Hi.", tokens=tokens, blocks=({"type": "thinking", "signature": "s"},)))
    extra = agent.history[2].model_extra
    assert extra == {
        "token_ids": [5, 6],
        "prompt_token_ids": [1, 2, 3],
        "logprobs": [-0.5, -1.0],
        "thinking_blocks": [{"type": "thinking", "signature": "s"}],
    }


def test_thoughts_in_the_words_are_recorded_as_reasoning_and_the_tokens_as_they_were_sampled() -> None:
    written = "<think>\nbecause\n</think>\n\nOne."
    reply = Reply(text=written, reasoning="before", tokens=Tokens(token_ids=(5, 6)))
    for replay in (False, True):
        agent, heard = stepped(reply, "Two.", settings=AgentSettings(replay_reasoning=replay))
        said = agent.history[2]
        assert (said.content, said.reasoning_content) == ("One.", "before\n\nbecause")
        assert (said.model_extra or {})["token_ids"] == [5, 6]
        sent = heard[1].messages[2]
        assert (sent.content, sent.reasoning_content) == (written if replay else "One.", None)


def test_halves_of_characters_are_no_obstacle_to_writing_the_record_down() -> None:
    halves = calling(("f\ud800", '{"x": "\udc00"}'), text="\ud83d\ude00 \ud800")
    script = Script(halves)
    agent = Agent(script.backend, OPENING, [], key="t#0", settings=AgentSettings())

    async def go() -> None:
        for call in (await agent.step()).calls:
            agent.observe(call, "\udc00")

    asyncio.run(go())
    agent.hear(Message(role="user", content="\ud800"))
    assert all(message.model_dump_json() for message in agent.history)
    assert agent.history[2].content == "\U0001f600 \ufffd"


def test_nothing_is_no_message() -> None:
    agent, heard = stepped(Reply(text=""), Reply(text="  "), "Hi.")
    assert [message.content for message in agent.history[2:]] == ["Hi."]
    assert [request.attempt for request in heard] == [0, 1, 2]


def test_usage_adds_up_and_an_unknown_cost_makes_the_sum_unknown() -> None:
    known = Reply(text="a", input_tokens=10, output_tokens=2, cost_usd=0.5)
    agent, _ = stepped(known, known)
    assert (agent.usage.input_tokens, agent.usage.output_tokens, agent.usage.cost_usd) == (20, 4, 1.0)
    agent, _ = stepped(known, Reply(text="a", input_tokens=1))
    assert (agent.usage.input_tokens, agent.usage.cost_usd) == (11, None)


def test_requests_carry_key_sampling_and_tools() -> None:
    sampling = Sampling(temperature=0.5, seed=3)
    agent, heard = stepped("Hi.", settings=AgentSettings(sampling=sampling))
    assert (heard[0].key, heard[0].sampling, heard[0].tools, heard[0].tool_choice) == ("t#0", sampling, (TOOL,), "auto")
    assert agent.participant.sampling == {"seed": 3, "temperature": 0.5}


def test_the_first_replies_can_be_held_to_calls() -> None:
    _, heard = stepped(calling(("f", "{}")), "a", "b", settings=AgentSettings(calls_first=2))
    assert [request.tool_choice for request in heard] == ["required", "required", "auto"]


def test_arguments_given_as_an_object_stay_one() -> None:
    call = ToolCall(id="c", function=FunctionCall(name="f", arguments={"x": 1}))
    agent, _ = stepped(Reply(text="", tool_calls=(call,)))
    assert (agent.history[2].tool_calls or [])[0].function.arguments == {"x": 1}
