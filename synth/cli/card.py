"""`card`: the dataset's card, made again with what an evaluation has left."""

import shlex
from pathlib import Path

from skillweave.command import one_line
from skillweave.errors import ConfigError
from synth.card.card import CARD, write_card
from synth.cli.place import Options


def write(options: Options) -> None:
    """Write it. Raises ConfigError where there are no tasks, ArtifactError where a file is damaged."""
    folder = options.folder()
    if not write_card(folder, options.load().card.license):
        raise ConfigError(f"{str(folder)!r} holds no tasks; write some with: {options.command('run')}")
    print(one_line(f"wrote {Path(folder, CARD)}; next: python -m synth verify {shlex.quote(str(folder))}"))
