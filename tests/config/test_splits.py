"""The section `splits`, and what becomes of its old keys."""

import pytest

from skillweave.base.errors import ConfigError
from skillweave.config.load import load_config
from synth.cli.status import config_text
from synth.engine.pipeline import load_pipeline, step_params


def test_what_is_no_share_is_told() -> None:
    with pytest.raises(ConfigError, match=r"splits\.test is 2; it should be less than or equal to 1"):
        load_config(None, ["splits.test=2"])
    with pytest.raises(ConfigError, match="validation and a test share that make 1 at most"):
        load_config(None, ["splits={test: 0.6, validation: 0.6}"])
    with pytest.raises(ConfigError, match=r"splits\.holdout_domains is 'Hotel'"):
        load_config(None, ["splits.holdout_domains=Hotel"])
    with pytest.raises(ConfigError, match="did you mean 'holdout_domains'"):
        load_config(None, ["splits.holdout_domain=[Hotel]"])


def test_the_steps_old_keys_are_refused() -> None:
    config = load_config(None, ["steps.s17_task_instantiation.test=0.2"])
    with pytest.raises(ConfigError, match=r"s17_task_instantiation\.test"):
        step_params(load_pipeline("synth.steps").steps, config.steps)


def test_a_new_configuration_has_the_section() -> None:
    text = config_text()
    assert "\nsplits:\n" in text
    assert "  holdout_domains: []\n" in text
