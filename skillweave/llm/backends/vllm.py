"""The vllm provider: a vLLM server's OpenAI-compatible endpoint, and what it can do beyond the original.

Tools go out as strict ones: only then does it hold a call's arguments to their schema while it decodes them. The
reasoning that a message carries is sent along; who does not want it in later turns leaves it out of the message.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from skillweave.llm.backends.chat import ChatBackend
from skillweave.llm.backends.chat_wire import strict_tool
from skillweave.llm.backends.concessions import Dispensable
from skillweave.llm.backends.structured import guided_format
from skillweave.llm.request import Request
from skillweave.schema.message import Message
from skillweave.schema.record import Json


class VllmBackend(ChatBackend):
    provider = "vllm"
    home = "http://127.0.0.1:8000/v1"
    key_variable = None
    dispensable = (*ChatBackend.dispensable, Dispensable(("return_token_ids",), r"\breturn_token_ids\b"))

    def _body(self, request: Request) -> dict[str, Any]:
        body = super()._body(request)
        if self._settings.record_tokens:
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

    def _format(self, schema: Mapping[str, Json]) -> dict[str, Json]:
        return guided_format(schema)
