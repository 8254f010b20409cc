import asyncio
import re
from pathlib import Path

import pytest

from skillweave.llm.backends.backend import Request
from skillweave.llm.models import AuthorSpec
from skillweave.schema.trajectory import Message
from skillweave.world.contract import problems
from synth.engine.pipeline import load_pipeline
from tests.docs import bikes

PAGE = (bikes.DOCS / "extending.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of the page."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_every_choice_of_knobs_renders_a_blueprint_that_runs() -> None:
    choices = bikes.service().choices(bikes.service().setting("BikeHire"))
    assert len(choices) == 8
    for knobs in choices:
        assert problems(bikes.blueprint(knobs)) == []


def test_knobs_change_both_the_sentence_and_the_sql() -> None:
    guards = [
        next(guard for guard in bikes.blueprint(knobs).tool("hire_bike").guards if guard.concern == "quota")
        for knobs in ({"max_bikes": n, "helmet_fee_cents": 500, "helmets": True} for n in (1, 2))
    ]
    assert ["fewer than 1" in guards[0].says, "fewer than 2" in guards[1].says] == [True, True]
    assert [guard.holds[-3:] for guard in guards] == ["< 1", "< 2"]


def test_the_example_can_be_lived_in_with_every_tool_and_every_guard() -> None:
    summary = bikes.lived().summary
    assert summary is not None
    assert summary.coverage.failing_tools == []
    assert summary.coverage.unmet == []
    assert summary.calls["return_bike"] > 0


def test_the_example_gives_everything_that_the_page_quotes() -> None:
    example = (bikes.DOCS / "examples" / "bike_hire.yaml").read_text("utf-8")
    other = ("rollout:", "plugins:", "llm:", "catalogue:")
    quoted = [block for block in blocks("yaml") if not any(key in block for key in other)]
    assert len(quoted) == 2
    for block in quoted:
        assert block in example


def test_goals_use_tools_and_columns_that_are_there() -> None:
    found = bikes.service()
    setting = found.setting("BikeHire")
    goals = found.render(setting, found.choices(setting)[0]).goals
    for goal in goals:
        tools = [bikes.blueprint().tool(call.tool) for call in goal.calls]
        assert all(told.column in tools[told.call - 1].returns.select for told in goal.tell)


def test_the_step_of_the_page_is_one_that_the_pipeline_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = next(block for block in blocks("python") if "@step" in block)
    package = tmp_path / "page_steps"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "s18_policy_counts.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    (step,) = load_pipeline("page_steps").steps
    assert (step.name, step.title) == ("s18_policy_counts", "count the words of each policy.")
    assert list(step.params.model_fields) == ["repairs", "max_rejected", "least"]
    assert [artifact.pattern for artifact in step.writes] == ["policy_counts/{key}.json"]


def test_the_backend_of_the_page_answers() -> None:
    source = next(block for block in blocks("python") if "class Echo" in block)
    names: dict[str, type] = {}
    exec(source, names)
    request = Request(messages=(Message(role="system", content="Repeat."), Message(role="user", content="Hello.")))
    reply = asyncio.run(names["Echo"](AuthorSpec("painting:Echo", "loud")).complete(request))
    assert reply.text == "Hello."
