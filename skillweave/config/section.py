"""What all sections of `config.yaml` have in common."""

import unicodedata

from pydantic import BaseModel, ConfigDict

MAX_SEED = 2**63 - 1


class Section(BaseModel):
    """Strict: nothing unknown, nothing coerced but a whole number to a float."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


def has_controls(text: str) -> bool:
    """Control characters, and what no file can hold."""
    return any(unicodedata.category(character) in ("Cc", "Cs") for character in text)
