"""A backend of the user's own: one file beside the command, named in the configuration and nowhere else."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from skillweave.base.errors import ConfigError, ProviderError
from skillweave.config.sections import Config
from skillweave.llm import wrappers
from skillweave.llm.ask import ask
from skillweave.llm.backends.backend import Backend, Request
from skillweave.llm.connections import Connections, check_authors
from skillweave.llm.ledger import Ledger
from skillweave.llm.models import OWN_BACKENDS
from skillweave.llm.question import question
from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message

MODULE = '''
import asyncio
import json

from skillweave.base.errors import ProviderError
from skillweave.llm.backends.backend import Reply, Request
from skillweave.schema.trajectory import FunctionCall, ToolCall


class Painter:
    """Answers in its favourite colour, and calls the first tool that it is given."""

    def __init__(self, spec):
        self.name = spec.name
        self.colour = spec.extra["colour"]

    async def complete(self, request: Request) -> Reply:
        if request.tools:
            name = request.tools[0]["function"]["name"]
            return Reply("", tool_calls=(ToolCall(id="1", function=FunctionCall(name=name, arguments="{}")),))
        return Reply(json.dumps({"colour": self.colour}), input_tokens=10, output_tokens=5)

    async def close(self) -> None:
        return None


class Broken(Painter):
    async def complete(self, request: Request) -> Reply:
        raise ZeroDivisionError("no paint")


class Slow(Painter):
    now = most = failures = 0

    async def complete(self, request: Request) -> Reply:
        Slow.now += 1
        Slow.most = max(Slow.most, Slow.now)
        await asyncio.sleep(0.01)
        Slow.now -= 1
        if not Slow.failures:
            Slow.failures = 1
            raise ProviderError("the brush fell", transient=True)
        return await super().complete(request)
'''
TOOL: dict[str, Json] = {"type": "function", "function": {"name": "paint_wall", "parameters": {"type": "object"}}}


class Paint(BaseModel):
    colour: str


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "painting.py").write_text(MODULE)
    package = tmp_path / "prompts_of_painting"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "paint.md").write_text("You paint.\n---\nWhich colour?\n\n{{ answer_format }}")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in ("painting", "prompts_of_painting"):
        sys.modules.pop(name, None)


def connected(config: Config) -> Backend:
    return Connections(config.llm, ledger=Ledger()).connect(config.llm.textual)


def a_config(model: str, **llm: object) -> Config:
    return Config.model_validate({"llm": {"textual": {"model": model, "extra": {"colour": "red"}}, **llm}})


def answer(backend: Backend, ledger: Ledger | None = None) -> str:
    paint = question("paint", returns=Paint, package="prompts_of_painting")
    return asyncio.run(ask(backend, paint, key="wall", variables={}, ledger=ledger)).colour


@pytest.mark.usefixtures("folder")
def test_a_dotted_path_in_the_configuration_answers_questions_and_is_paid_for() -> None:
    ledger = Ledger()
    name = "painting:Painter/matt"
    config = a_config(name, budget_usd=10.0, prices={name: {"input": 100.0, "output": 200.0}})
    check_authors(config.llm, [config.llm.textual])
    assert answer(connected(config), ledger) == "red"
    (entry,) = ledger.askings()
    assert (entry.author, entry.replies) == (name, 1)
    assert entry.cost_usd == pytest.approx(0.002)


@pytest.mark.usefixtures("folder")
def test_it_plays_an_agent() -> None:
    config = Config.model_validate({"rollout": {"agent": {"model": "painting:Painter/x", "extra": {"colour": "blue"}}}})
    agent = Connections(config.llm, ledger=Ledger(), caches=False).connect(config.rollout.agent)
    request = Request(messages=(Message(role="user", content="Paint it."),), tools=(TOOL,))
    (call,) = asyncio.run(agent.complete(request)).tool_calls
    assert call.function.name == "paint_wall"


def test_an_installed_package_offers_it_by_name(folder: Path) -> None:
    metadata = folder / "painting-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: painting\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[skillweave.backends]\npainter = painting:Painter\n")
    assert answer(connected(a_config("painter/matt"))) == "red"


@pytest.mark.usefixtures("folder")
def test_a_plug_in_registers_it_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    import painting  # type: ignore[import-not-found]

    monkeypatch.setattr(OWN_BACKENDS, "_parts", {})
    OWN_BACKENDS.register("easel", painting.Painter)
    assert answer(connected(a_config("easel/matt"))) == "red"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("nothing:There/x", "the backend 'nothing:There' cannot be loaded: ModuleNotFoundError"),
        ("painting:Absent/x", "the backend 'painting:Absent' cannot be loaded: AttributeError"),
        ("painting:Painter", "unknown author 'painting:Painter'"),
        ("painter/x", "unknown author 'painter/x'"),
    ],
)
def test_what_cannot_be_loaded_is_an_error_of_the_configuration(model: str, words: str) -> None:
    config = a_config(model)
    with pytest.raises(ConfigError, match=words):
        check_authors(config.llm, [config.llm.textual])
    with pytest.raises(ConfigError, match=words):
        connected(config)


@pytest.mark.usefixtures("folder")
def test_what_its_code_raises_names_the_backend_and_the_line() -> None:
    with pytest.raises(
        ProviderError, match=r"painting:Broken/x failed: ZeroDivisionError: no paint, at .*painting.py:\d+"
    ):
        answer(connected(a_config("painting:Broken/x")))


def test_a_class_that_cannot_be_made_is_an_error_of_the_configuration(folder: Path) -> None:
    assert folder
    config = Config.model_validate({"llm": {"textual": "painting:Painter/x"}})
    with pytest.raises(ConfigError, match="the backend of author 'painting:Painter/x' cannot be made: KeyError"):
        connected(config)


def test_a_budget_needs_its_price() -> None:
    config = a_config("painting:Painter/x", budget_usd=1.0)
    with pytest.raises(ConfigError, match=r"give llm\.prices\.painting:Painter/x"):
        check_authors(config.llm, [config.llm.textual])


@pytest.mark.usefixtures("folder")
def test_it_keeps_the_limits_of_its_name_and_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrappers, "FIRST_DELAY", 0.001)
    config = a_config("painting:Slow/x", endpoints={"painting:Slow": {"max_concurrency": 2}})
    backend = connected(config)

    async def all_at_once() -> None:
        requests = [Request(messages=(Message(role="user", content=str(n)),), key=str(n)) for n in range(6)]
        await asyncio.gather(*(backend.complete(request) for request in requests))

    asyncio.run(all_at_once())
    slow = sys.modules["painting"].Slow
    assert (slow.most, slow.failures) == (2, 1)
