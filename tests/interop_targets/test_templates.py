"""What is exported comes out of the targets' own chat templates: every call, every result, every tool."""

from pathlib import Path
from typing import Any

import pytest

from tests.interop_targets.conftest import Exports
from tests.interop_targets.environments import TORCH
from tests.interop_targets.target import in_target

pytestmark = pytest.mark.interop
FAMILIES: tuple[str, ...] = (
    "qwen2_5",
    "qwen3",
    "llama3_1",
    "llama3_2",
    "glm4moe",
    "gptoss",
    "gemma4",
    "deepseekv3_training",
)
FAMILIES += ("nemotron_3_nano", "lfm2_2_5", "qwen3_5_think")
"""Families with tools, as TRL ships their templates. Cohere's and Gemma 3's, for example, know no tools."""
CHATS = ("qwen2_5", "qwen3", "llama3_2", "glm4moe", "phi3")
"""Families for what has no calls of its own: prompts, and conversations in the form of ReAct."""
SWIFT: tuple[str, ...] = (
    "qwen2_5/hermes",
    "qwen3/hermes",
    "qwen2_5/react_en",
    "llama3_2/llama3",
    "glm4/glm4",
    "qwen3/qwen3_coder",
)
SWIFT += ("mistral_2501/mistral", "deepseek_v3_1/deepseek_v3_1", "gemma4/gemma4", "chatml/toolbench")
LONGEST = 4
"""Conversations that every template renders: those with the most turns."""


def assert_rendered(told: dict[str, Any]) -> None:
    """Assert that every template made texts that lack nothing."""
    assert told
    assert {name: of for name, of in told.items() if of.get("raised") or of["lacks"] or not of["texts"]} == {}


@pytest.mark.parametrize("format", ["openai", "trl-sft", "dpo", "steps"])
def test_chat_templates_of_model_families_render_all_calls(exports: Exports, format: str) -> None:
    # OpenAI's form has several calls in a message where an agent made them so; Llama 3's templates refuse those.
    families = [family for family in FAMILIES if format != "openai" or not family.startswith("llama3")]
    assert_rendered(in_target(TORCH, "chat_templates.py", exports(format), format, *families))


@pytest.mark.parametrize("format", ["verl", "skyrl", "hub", "agenttraj"])
def test_chat_templates_of_model_families_render_prompts_and_turns(exports: Exports, format: str) -> None:
    families = [family for family in CHATS if family != "phi3"] if format == "hub" else CHATS
    assert_rendered(in_target(TORCH, "chat_templates.py", exports(format), format, *families))


def test_every_template_of_llama_factory_renders_every_call(exports: Exports) -> None:
    told = in_target(TORCH, "llamafactory_renders.py", exports("sharegpt"), LONGEST)
    no_tools = [name for name, of in told.items() if of.get("tools", "") is None]
    assert_rendered({name: of for name, of in told.items() if name not in no_tools})
    by_form = [of["tools"] for of in told.values()]
    assert by_form.count("default") > 70, "its default formatter serves most of its templates"
    assert {"qwen", "llama3", "glm4", "mistral"} <= {*by_form}
    assert len(no_tools) < 3


def test_templates_of_ms_swift_render_every_call(exports: Exports) -> None:
    file: Path = exports("ms-swift") / "train.jsonl"
    assert_rendered(in_target(TORCH, "swift_renders.py", file, LONGEST, *SWIFT))
