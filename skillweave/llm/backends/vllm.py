"""The vllm provider: a vLLM server's OpenAI-compatible endpoint, and what it can do beyond the original.

Tools go out as strict ones: only then does it hold a call's arguments to their schema while it decodes them. The
reasoning that a message carries is sent along; who does not want it in later turns leaves it out of the message.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from skillweave.llm.backends.chat_wire import strict_tool
from skillweave.llm.backends.openai import OpenAIBackend
from skillweave.llm.lane import Lane
from skillweave.llm.request import Request
from skillweave.schema.message import Message
from skillweave.schema.record import Json

ENDPOINT = "http://127.0.0.1:8000/v1"


class VllmBackend(OpenAIBackend):
    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key_env: str | None = None,
        timeout: float = 120.0,
        max_retries: int = 4,
        structured: bool = True,
        stream: bool = False,
        record_tokens: bool = False,
        lane: Lane | None = None,
    ) -> None:
        super().__init__(
            model,
            provider="vllm",
            base_url=base_url or ENDPOINT,
            api_key_env=api_key_env,
            timeout=timeout,
            max_retries=max_retries,
            structured=structured,
            stream=stream,
            record_tokens=record_tokens,
            lane=lane,
        )

    def _body(self, request: Request) -> dict[str, Any]:
        body = super()._body(request)
        if self._record_tokens:
            body["return_token_ids"] = True
        return body

    def _message(self, message: Message) -> dict[str, Any]:
        wire = super()._message(message)
        if message.role == "assistant" and message.reasoning_content:
            # Templates of models that reason read the one or the other, as does the server from version to version.
            wire |= {"reasoning": message.reasoning_content, "reasoning_content": message.reasoning_content}
        return wire

    def _tools(self, tools: Sequence[Mapping[str, Json]]) -> list[Mapping[str, Json]]:
        return [strict_tool(tool) for tool in tools]
