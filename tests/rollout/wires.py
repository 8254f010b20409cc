"""The two protocols of real endpoints, whole and streamed: the same reply in the words of each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from skillweave.llm.models import AuthorSpec
from tests.llm.protocols import a_call, a_completion, a_message, a_use, chunks_of, events_of
from tests.llm.scripted import Act, Heard, fault, reply, stream
from tests.llm.strict import Refused, read_object

Named = tuple[str, str, str | None]
"""Tool, arguments as text, id."""


@dataclass(frozen=True)
class Wire:
    provider: Literal["openai", "anthropic"]
    streams: bool

    def __str__(self) -> str:
        return f"{self.provider}-{'stream' if self.streams else 'whole'}"

    def spec(self, url: str, **changes: Any) -> AuthorSpec:
        """A backend for a server at that address; it gives up soon."""
        given: dict[str, Any] = {"base_url": f"{url}/v1", "timeout": 5.0, "max_retries": 2, "stream": self.streams}
        return AuthorSpec(provider=self.provider, model="m", **(given | changes))

    def says(self, text: str) -> Act:
        """Words, or none."""
        if self.provider == "openai":
            return self._sent(a_completion(text))
        return self._sent({**a_message(), "content": [{"type": "text", "text": text}] if text else []})

    def calls(self, *calls: Named, text: str = "") -> Act:
        """Calls of tools; arguments that are no JSON go out as they are."""
        if self.provider == "openai":
            made = [a_call(name, arguments, id) for name, arguments, id in calls]
            return self._sent(a_completion(text or None, tool_calls=made, reason="tool_calls"))
        said = [{"type": "text", "text": text}] if text else []
        uses = [a_use(name, _read(arguments), id or "") for name, arguments, id in calls]
        return self._sent(a_message(*said, *uses, reason="tool_use"))

    def refuses(self, words: str) -> Act:
        """The model declines."""
        if self.provider == "openai":
            return self._sent(a_completion(None, refusal=words))
        return self._sent(a_message({"type": "text", "text": words}, reason="refusal"))

    def cut(self) -> Act:
        """Half an answer."""
        act = self.says("The answer, which is")
        if act.pieces is not None:
            return replace(act, pieces=act.pieces[: len(act.pieces) // 2], end="closed")
        return replace(act, body=act.body[:40], end="closed")

    def overflows(self) -> Act:
        """The conversation is too long."""
        if self.provider == "openai":
            words = "This model's maximum context length is 100 tokens."
            return fault(400, words, code="context_length_exceeded", type="invalid_request_error")
        return fault(400, "prompt is too long: 101 tokens > 100 maximum", type="invalid_request_error")

    def results(self, heard: Heard) -> list[tuple[str, str]]:
        """Ids and contents of the tool results that a request carries, in order."""
        messages: list[Mapping[str, Any]] = heard.body["messages"]
        if self.provider == "openai":
            return [(said["tool_call_id"], said["content"]) for said in messages if said["role"] == "tool"]
        blocks = [block for said in messages if said["role"] == "user" for block in said["content"]]
        return [(block["tool_use_id"], block["content"]) for block in blocks if block["type"] == "tool_result"]

    def _sent(self, answer: dict[str, Any]) -> Act:
        if self.provider == "openai":
            return stream(chunks_of(answer)) if self.streams else reply(answer)
        return stream(events_of(answer), named=True) if self.streams else reply(answer)


WIRES = [Wire(provider, streams) for provider in ("openai", "anthropic") for streams in (False, True)]


def _read(arguments: str) -> Any:
    """What a message holds where its API has made an object of the arguments; text that is none goes out as it is."""
    try:
        return read_object(arguments)
    except Refused:
        return arguments
