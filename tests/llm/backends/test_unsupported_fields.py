"""An endpoint that does not take a field is asked again without it."""

import asyncio
import logging
from typing import Any

import pytest

from skillweave.base.errors import ProviderError
from skillweave.llm.backends.backend import Reply, Request, Sampling
from skillweave.llm.models import AuthorSpec, connect
from skillweave.schema.record import Json

from ..protocols import (
    a_completion,
    a_message,
    a_response,
    an_output,
    chunks_of,
    events_of,
    response_events_of,
)
from ..scripted import Act, Heard, ScriptedServer, fault, reply, stream
from .conftest import Complete, Protocol, a_request, a_spec

ONE: dict[str, Json] = {"type": "object", "properties": {"answer": {"type": "integer"}}, "required": ["answer"]}
OTHER: dict[str, Json] = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}


def ask_all(spec: AuthorSpec, *requests: Request) -> list[Reply]:
    async def asked() -> list[Reply]:
        backend = connect(spec)
        try:
            return [await backend.complete(request) for request in requests]
        finally:
            await backend.close()

    return asyncio.run(asked())


def says(protocol: Protocol, text: str, streamed: bool) -> Act:
    if protocol == "anthropic":
        message = a_message({"type": "text", "text": text})
        return stream(events_of(message), named=True) if streamed else reply(message)
    if protocol == "responses":
        response = a_response(an_output(text))
        return stream(response_events_of(response), named=True) if streamed else reply(response)
    return stream(chunks_of(a_completion(text))) if streamed else reply(a_completion(text))


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("protocol", "complaint", "field"),
    [
        (
            "openai",
            fault(400, "Invalid schema for response_format 'answer'", param="response_format"),
            "response_format",
        ),
        ("openai", fault(422, "unknown field: json_schema is not supported"), "response_format"),
        ("responses", fault(400, "Invalid schema", param="text.format.schema"), "text"),
        ("anthropic", fault(400, "output_config: Extra inputs are not permitted"), "output_config"),
        ("vllm", fault(400, "Failed to compile the grammar"), "response_format"),
    ],
)
def test_a_schema_gives_way_once_and_for_that_schema_alone(
    protocol: Protocol, complaint: Act, field: str, streamed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    said = says(protocol, '{"answer": 1}', streamed)
    with ScriptedServer(complaint, said) as server:
        ask = [a_request(schema=ONE), a_request(schema=ONE), a_request(schema=OTHER)]
        replies = ask_all(a_spec(protocol, server, stream=streamed), *ask)
    assert [field in heard.body for heard in server.heard] == [True, False, False, True]
    assert [one.text for one in replies] == ['{"answer": 1}'] * 3
    assert len([line for line in caplog.messages if "is left out from now on" in line]) == 1


@pytest.mark.parametrize(
    ("protocol", "settings", "sampling", "complaint", "gone"),
    [
        (
            "openai",
            {},
            Sampling(temperature=0.5),
            fault(400, "Unsupported value: 'temperature'", param="temperature", code="unsupported_value"),
            "temperature",
        ),
        ("openai", {}, Sampling(top_p=0.5), fault(422, "extra fields not permitted: ('body', 'top_p')"), "top_p"),
        ("openai", {}, Sampling(seed=5), fault(400, "this model takes no seed"), "seed"),
        ("vllm", {"reasoning_effort": "low"}, Sampling(), fault(400, "unknown: reasoning_effort"), "reasoning_effort"),
        (
            "responses",
            {"reasoning_effort": "low"},
            Sampling(),
            fault(400, "Unsupported parameter: 'reasoning.effort'", param="reasoning.effort"),
            "reasoning",
        ),
        ("responses", {}, Sampling(), fault(400, "Encrypted content is not supported with this model."), "include"),
        (
            "anthropic",
            {"reasoning_effort": "low"},
            Sampling(),
            fault(400, "adaptive thinking is not known"),
            "thinking",
        ),
    ],
)
def test_a_parameter_gives_way_and_stays_away(
    protocol: Protocol, settings: dict[str, Any], sampling: Sampling, complaint: Act, gone: str
) -> None:
    with ScriptedServer(complaint, says(protocol, "Hi.", streamed=False)) as server:
        request = a_request(sampling=sampling)
        replies = ask_all(a_spec(protocol, server, **settings), request, request)
    assert [one.text for one in replies] == ["Hi.", "Hi."]
    first, *others = (heard.body for heard in server.heard)
    assert gone in first
    assert others == [{name: value for name, value in first.items() if name != gone}] * 2


def test_the_limit_on_tokens_is_renamed_and_lowered_but_never_dropped(complete: Complete) -> None:
    request = a_request(sampling=Sampling(max_tokens=16384))
    unknown = fault(400, "'max_tokens' is not supported, use 'max_completion_tokens' instead", param="max_tokens")
    large = fault(400, "max_completion_tokens is too large: 16384. This model takes at most 4096 (m-2024-05-13).")
    with ScriptedServer(unknown, large, reply(a_completion())) as server:
        ask_all(a_spec("openai", server), request, request)
    limits = [{key: value for key, value in heard.body.items() if "tokens" in key} for heard in server.heard]
    assert limits == [{"max_tokens": 16384}, {"max_completion_tokens": 16384}, *[{"max_completion_tokens": 4096}] * 2]
    large = fault(400, "max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens for m-20240620")
    with ScriptedServer(large, reply(a_message())) as server:
        complete("anthropic", server)
    assert [heard.body["max_tokens"] for heard in server.heard] == [16384, 8192]
    with ScriptedServer(fault(400, "max_tokens: not today")) as server, pytest.raises(ProviderError, match="not today"):
        complete("anthropic", server)
    assert len(server.heard) == 1


def test_an_error_of_a_stream_is_a_complaint_as_well(complete: Complete) -> None:
    wrong = {"error": {"message": "no temperature, please", "code": 400}}
    request = a_request(sampling=Sampling(temperature=0.5))
    with ScriptedServer(stream([wrong]), stream(chunks_of(a_completion()))) as server:
        assert complete("openai", server, request, stream=True).text == "Hi."


def test_an_endpoint_that_counts_no_streams_is_not_asked_to(complete: Complete) -> None:
    with ScriptedServer(fault(400, "unknown: stream_options"), stream(chunks_of(a_completion()))) as server:
        assert complete("openai", server, stream=True).text == "Hi."
    assert [("stream_options" in heard.body, heard.body["stream"]) for heard in server.heard] == [
        (True, True),
        (False, True),
    ]


@pytest.mark.parametrize("param", ["messages[0].content", "tools[0].function.parameters", "model"])
def test_what_is_asked_never_gives_way(complete: Complete, param: str) -> None:
    request = a_request(schema=ONE, sampling=Sampling(temperature=0.5))
    complaint = fault(400, "Invalid schema, whatever the temperature", param=param)
    with ScriptedServer(complaint) as server, pytest.raises(ProviderError, match="Invalid schema"):
        complete("openai", server, request)
    assert len(server.heard) == 1


def test_an_endpoint_that_is_never_content_is_left_after_some_tries(
    complete: Complete, caplog: pytest.LogCaptureFixture
) -> None:
    def complains(heard: Heard) -> Act:
        name = next((key for key in sorted(heard.body) if key not in ("model", "messages")), "model")
        return fault(400, f"no {name}", param=name)

    request = a_request(schema=ONE, sampling=Sampling(temperature=0.5, top_p=0.5, seed=1))
    with ScriptedServer(complains) as server, pytest.raises(ProviderError, match="no model"):
        complete("openai", server, request)
    assert len(server.heard) == 5
    assert not caplog.messages
