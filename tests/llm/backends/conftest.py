"""Backends that are driven through their SDKs against a scripted server."""

import asyncio
from collections.abc import Callable
from typing import Any, Literal

import pytest

from skillweave.llm.backends.backend import Reply, Request
from skillweave.llm.models import AuthorSpec, Provider, connect
from skillweave.schema.trajectory import Message

from ..scripted import ScriptedServer

Complete = Callable[..., Reply]
Protocol = Literal[Provider, "responses"]
"""A provider, or openai with its other API."""


def a_request(**changes: Any) -> Request:
    settings: dict[str, Any] = {"messages": (Message(role="user", content="Hello?"),), "key": "k"}
    return Request(**(settings | changes))


def a_spec(protocol: Protocol, server: ScriptedServer, **options: Any) -> AuthorSpec:
    """An author `m` who speaks that protocol at the server."""
    url = server.url if protocol == "anthropic" else f"{server.url}/v1"
    settings: dict[str, Any] = {"base_url": url, "max_retries": 0, "timeout": 5.0}
    if protocol == "responses":
        return AuthorSpec("openai", "m", **(settings | {"api": "responses"} | options))
    return AuthorSpec(protocol, "m", **(settings | options))


@pytest.fixture
def complete() -> Complete:
    """Ask once: `complete("openai", server, request, stream=True)`."""

    def once(protocol: Protocol, server: ScriptedServer, request: Request | None = None, **options: Any) -> Reply:
        spec = a_spec(protocol, server, **options)

        async def asked() -> Reply:
            backend = connect(spec)
            try:
                return await backend.complete(request or a_request())
            finally:
                await backend.close()

        return asyncio.run(asked())

    return once
