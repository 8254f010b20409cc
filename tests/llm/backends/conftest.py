"""Backends that are driven through their SDKs against a scripted server."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from skillweave.llm.models import AuthorSpec, Provider, connect
from skillweave.llm.request import Reply, Request
from skillweave.schema.message import Message

from ..scripted import ScriptedServer

Complete = Callable[..., Reply]


def a_request(**changes: Any) -> Request:
    settings: dict[str, Any] = {"messages": (Message(role="user", content="Hello?"),), "key": "k"}
    return Request(**(settings | changes))


@pytest.fixture
def complete() -> Complete:
    """Ask once: `complete("openai", server, request, stream=True)`."""

    def once(provider: Provider, server: ScriptedServer, request: Request | None = None, **options: Any) -> Reply:
        url = server.url if provider == "anthropic" else f"{server.url}/v1"
        settings: dict[str, Any] = {"base_url": url, "max_retries": 0, "timeout": 5.0}
        spec = AuthorSpec(provider, "m", **(settings | options))

        async def asked() -> Reply:
            backend = connect(spec)
            try:
                return await backend.complete(request or a_request())
            finally:
                await backend.close()

        return asyncio.run(asked())

    return once
