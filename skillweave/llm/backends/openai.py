"""What OpenAI's two APIs have in common: the official SDK, for OpenAI and for any endpoint that speaks one of them."""

from typing import Any, ClassVar

from skillweave.llm.backends.endpoint import Endpoint

ENDPOINT = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"


class OpenAIEndpoint(Endpoint):
    provider = "openai"
    home = ENDPOINT
    key_variable: ClassVar[str | None] = KEY_VARIABLE

    def _sdk(self) -> Any:
        import openai

        return openai

    def _connect(self) -> Any:
        from openai import AsyncOpenAI, DefaultAioHttpClient

        return AsyncOpenAI(
            api_key=self._key,
            base_url=self._base_url,
            timeout=self._settings.timeout,
            max_retries=0,
            http_client=self._http(DefaultAioHttpClient),
        )
