"""Overrides: a dotted path and a value."""

import pytest

from skillweave.config.load import load_config


@pytest.mark.parametrize(
    "overrides",
    [
        ["llm.prices.openai/gpt-5.1={input: 1, output: 2}"],
        ["llm.prices.openai/gpt-5.1.input=1", "llm.prices.openai/gpt-5.1.output=2"],
    ],
)
def test_names_of_models_may_hold_dots(overrides: list[str]) -> None:
    price = load_config(None, overrides).llm.prices["openai/gpt-5.1"]
    assert (price.input, price.output) == (1, 2)
