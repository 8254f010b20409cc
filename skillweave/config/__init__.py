"""The configuration of a run: models of its sections, loading with overrides, and a commented file made from them."""

from skillweave.config.llm import AuthorConfig
from skillweave.config.load import apply_overrides, check_section, load_config
from skillweave.config.sections import Config

__all__ = ["AuthorConfig", "Config", "apply_overrides", "check_section", "load_config"]
