"""The ways to a model: each API that we speak, whole and streamed, with answers decoded by a schema or not."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    provider: str
    path: str
    """What is posted to."""
    api: str | None = None
    streams: bool = False
    is_structured: bool = True

    def __str__(self) -> str:
        name = self.api or self.provider
        return f"{name}-{'stream' if self.streams else 'whole'}{'' if self.is_structured else '-plain'}"

    def author(self, url: str, model: str = "served", **more: object) -> dict[str, object]:
        """The configuration of an author who is reached this way."""
        given: dict[str, object] = {"model": f"{self.provider}/{model}", "base_url": url, "stream": self.streams}
        api = {} if self.api is None else {"api": self.api}
        return {**given, "structured": self.is_structured, **api, **more}


CHAT, CHAT_STREAM, CHAT_PLAIN = (
    Way("openai", "/chat/completions", "chat", streams, is_structured)
    for streams, is_structured in ((False, True), (True, True), (False, False))
)
RESPONSES, RESPONSES_STREAM = (Way("openai", "/responses", "responses", streams) for streams in (False, True))
MESSAGES, MESSAGES_STREAM = (Way("anthropic", "/messages", None, streams) for streams in (False, True))
WAYS = (CHAT, CHAT_STREAM, CHAT_PLAIN, RESPONSES, RESPONSES_STREAM, MESSAGES, MESSAGES_STREAM)
