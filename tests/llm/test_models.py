import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from skillweave.base.errors import ConfigError
from skillweave.llm.backends.backend import Request, Sampling
from skillweave.llm.models import AuthorSpec, connect, split_name


def test_a_name_is_provider_and_model() -> None:
    assert split_name("openai/org/model") == ("openai", "org/model")


@pytest.mark.parametrize("name", ["claude/anthropic", "openai", "openai/", "", "Offline/author"])
def test_an_unknown_provider_is_refused_with_those_that_are_known(name: str) -> None:
    with pytest.raises(ConfigError, match="offline, openai, anthropic, vllm, replay"):
        split_name(name)


def test_the_offline_author_has_to_be_given() -> None:
    with pytest.raises(ConfigError, match="'offline/author' cannot answer here"):
        connect(AuthorSpec())


def test_what_a_request_leaves_open_comes_from_the_spec() -> None:
    seen: list[Request] = []

    def answer(request: Request) -> str:
        seen.append(request)
        return ""

    backend = connect(AuthorSpec(model="author", sampling=Sampling(temperature=0.5, seed=1)), offline=answer)
    asyncio.run(backend.complete(Request(messages=(), sampling=Sampling(temperature=0.0))))
    assert (seen[0].model, seen[0].sampling) == ("author", Sampling(temperature=0.0, seed=1))
    assert backend.name == "offline/author"


def test_no_sdk_is_loaded_before_it_is_needed() -> None:
    heavy = ["aiohttp", "anthropic", "jinja2", "openai"]
    code = f"import sys, skillweave.llm.models; print([name for name in {heavy} if name in sys.modules])"
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert loaded.stdout.strip() == "[]"


def test_tokens_are_wanted_as_sampled_so_nothing_is_kept_for_later(tmp_path: Path) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return "yes"

    async def twice() -> None:
        backend = connect(AuthorSpec(record_tokens=True), offline=answer, cache=tmp_path / "cache")
        await backend.complete(Request(messages=()))
        await backend.complete(Request(messages=()))

    asyncio.run(twice())
    assert len(asked) == 2


def test_the_source_of_answers_tells_apart_what_decides_them() -> None:
    spec = AuthorSpec("openai", "m", timeout=1.0, stream=True)
    assert spec.source == AuthorSpec("openai", "m", api="responses").source
    others = [
        AuthorSpec("openai", "m", api="chat"),
        AuthorSpec("openai", "m", base_url="http://127.0.0.1:1/v1"),
        AuthorSpec("openai", "m", structured=False),
        AuthorSpec("openai", "m", reasoning_effort="low"),
        AuthorSpec("openai", "m", extra={"top_k": 20}),
    ]
    assert len({spec.source, *(other.source for other in others)}) == 6
    assert AuthorSpec("openai", "m", extra={"a": 1, "b": 2}).source == (
        AuthorSpec("openai", "m", extra={"b": 2, "a": 1}).source
    )


def test_an_api_is_for_openai_alone() -> None:
    with pytest.raises(ConfigError, match="'vllm/m' has one API"):
        connect(AuthorSpec("vllm", "m", api="responses"))


@pytest.mark.parametrize(("field", "words"), [("messages", "would change what is asked"), ("max_tokens", "the budget")])
def test_extra_fields_change_neither_the_question_nor_its_price(field: str, words: str) -> None:
    with pytest.raises(ConfigError, match=rf"extra\.{field} .*{words}"):
        connect(AuthorSpec("vllm", "m", extra={field: 1}))
