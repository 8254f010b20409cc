import pytest

from skillweave.llm.backends.backend import Sampling, Tokens
from skillweave.llm.backends.endpoint import EndpointSettings
from skillweave.llm.backends.vllm import VllmBackend
from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message

from ..protocols import a_call, a_completion, a_delta
from ..scripted import ScriptedServer, reply, stream
from .conftest import Complete, a_request

TOOL: dict[str, Json] = {"type": "function", "function": {"name": "book", "parameters": {"type": "object"}}}


def sampled(*logprobs: float) -> dict[str, Json]:
    return {"content": [{"token": "x", "logprob": logprob, "top_logprobs": []} for logprob in logprobs]}


def test_tools_are_strict_and_no_key_is_needed(complete: Complete, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-endpoint")
    body = a_completion(None, reason="tool_calls", tool_calls=[a_call()])
    with ScriptedServer(reply(body)) as server:
        request = a_request(tools=(TOOL,), tool_choice="required", sampling=Sampling(max_tokens=5, seed=3))
        assert complete("vllm", server, request).tool_calls[0].function.name == "book"
    heard = server.heard[0]
    assert heard.path == "/v1/chat/completions"
    assert heard.body["tools"] == [
        {"type": "function", "function": {"name": "book", "parameters": {"type": "object"}, "strict": True}}
    ]
    assert (heard.body["tool_choice"], heard.body["max_tokens"], heard.body["seed"]) == ("required", 5, 3)
    assert "sk-of-another-endpoint" not in str(heard.headers)
    assert "strict" not in str(TOOL)


def test_arguments_that_a_tool_does_not_name_are_not_decoded(complete: Complete) -> None:
    schema: dict[str, Json] = {"type": "object", "properties": {"room": {"type": "string"}}, "required": []}
    tool: dict[str, Json] = {"type": "function", "function": {"name": "book", "parameters": schema}}
    with ScriptedServer(reply(a_completion())) as server:
        complete("vllm", server, a_request(tools=(tool,)))
    assert server.heard[0].body["tools"][0]["function"]["parameters"] == {**schema, "additionalProperties": False}


def test_without_a_base_url_it_is_the_server_on_this_machine() -> None:
    assert VllmBackend("org/model", EndpointSettings()).name == "vllm/org/model"
    assert VllmBackend("m", EndpointSettings())._base_url == "http://127.0.0.1:8000/v1"


def test_reasoning_is_read_from_either_field(complete: Complete) -> None:
    for field in ("reasoning", "reasoning_content"):
        with ScriptedServer(reply(a_completion(**{field: "Hm."}))) as server:
            assert complete("vllm", server).reasoning == "Hm."
        with ScriptedServer(stream([a_delta(**{field: "H"}), a_delta("stop", **{field: "m."})])) as server:
            assert complete("vllm", server, stream=True).reasoning == "Hm."


def test_reasoning_goes_back_where_a_message_carries_it(complete: Complete) -> None:
    said = (
        Message(role="user", content="Do you?"),
        Message(role="assistant", content="Yes.", reasoning_content="Hm."),
        Message(role="user", content="Go."),
    )
    with ScriptedServer(reply(a_completion())) as server:
        complete("vllm", server, a_request(messages=said))
    assert server.heard[0].body["messages"][1]["reasoning"] == "Hm."
    assert server.heard[0].body["messages"][2] == {"role": "user", "content": "Go."}


def test_tokens_are_kept_as_sampled(complete: Complete) -> None:
    body = a_completion()
    body["prompt_token_ids"] = [1, 2, 3]
    body["choices"][0] |= {"token_ids": [4, 5], "logprobs": sampled(-0.5, -1.25)}
    with ScriptedServer(reply(body)) as server:
        assert complete("vllm", server, record_tokens=True).tokens == Tokens((4, 5), (1, 2, 3), (-0.5, -1.25))
        assert complete("vllm", server).tokens is None
    assert (server.heard[0].body["return_token_ids"], server.heard[0].body["logprobs"]) == (True, True)
    assert not {"return_token_ids", "logprobs"} & server.heard[1].body.keys()


def test_tokens_of_a_stream_are_joined(complete: Complete) -> None:
    first, second, last = a_delta(content="Hi"), a_delta(content="."), a_delta("stop")
    first["prompt_token_ids"] = [1, 2, 3]
    first["choices"][0] |= {"token_ids": [4], "logprobs": sampled(-0.5)}
    second["choices"][0] |= {"token_ids": [5], "logprobs": sampled(-1.25)}
    last["choices"][0] |= {"token_ids": [], "logprobs": None}
    with ScriptedServer(stream([first, second, last, "[DONE]"])) as server:
        said = complete("vllm", server, record_tokens=True, stream=True)
    assert (said.text, said.tokens) == ("Hi.", Tokens((4, 5), (1, 2, 3), (-0.5, -1.25)))


def test_an_endpoint_that_gives_no_ids_leaves_them_empty(complete: Complete) -> None:
    body = a_completion()
    body["choices"][0]["logprobs"] = sampled(-0.5)
    with ScriptedServer(reply(body)) as server:
        assert complete("openai", server, record_tokens=True).tokens == Tokens(logprobs=(-0.5,))
    assert "return_token_ids" not in server.heard[0].body
