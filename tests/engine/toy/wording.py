"""A module that a toy step stands on."""


def shout(word: str) -> str:
    """Loudly."""
    return word.upper() + "!"
