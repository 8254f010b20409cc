"""A question to a real vLLM server in each API that it speaks, whole and as a stream.

All of them hold its model to the answer's schema, which in the question asked here says all that the type says.
"""

import asyncio
import logging
from dataclasses import replace

import pytest

from skillweave.llm.ask import ask
from skillweave.llm.backends.backend import Sampling
from skillweave.llm.backends.vllm import VllmServer
from skillweave.llm.ledger import Ledger
from skillweave.llm.models import AuthorSpec, connect
from synth.policy.review import DECIDE, CaseDecision

pytestmark = pytest.mark.vllm
APIS = {
    "vllm": AuthorSpec("vllm"),
    "openai chat": AuthorSpec("openai", api="chat"),
    "openai responses": AuthorSpec("openai", api="responses"),
    "anthropic": AuthorSpec("anthropic"),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_a_first_answer_is_accepted_and_counted(
    server: VllmServer, api: str, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = Ledger()
    variables = {"sentence": "A bicycle is lent for a week.", "cases": ["Two days.", "Nine days."]}

    async def go() -> list[CaseDecision]:
        spec = replace(APIS[api], model=server.model, base_url=server.base_url, stream=stream)
        author = connect(spec, ledger=ledger)
        try:
            return await ask(
                author, DECIDE, key="loan", variables=variables, sampling=Sampling(max_tokens=4000), ledger=ledger
            )
        finally:
            await author.close()

    with caplog.at_level(logging.WARNING, logger="skillweave"):
        assert all(decision.holds in (True, False, None) for decision in asyncio.run(go()))
    total = ledger.total()
    assert (total.asked, total.first_try, total.replies, total.complaints) == (1, 1, 1, {})
    assert total.input_tokens > 500
    assert total.output_tokens > 0
    assert caplog.messages == []
