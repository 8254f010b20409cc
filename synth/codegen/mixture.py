"""Mixtures: several moves at once from a call that succeeds, drawn by a seed.

Single moves show what one condition does; amounts that are rounded only for some plan and some price need several.
"""

from collections.abc import Sequence
from random import Random

from skillweave.schema.contract import Tool
from synth.codegen.moves import Move, Mover
from synth.codegen.trial import Lab, Outcome, Trial

DRAWS = 150
"""Trials of one tool."""
KEPT = 30
"""Of those that succeed, how many become cases."""
MOVES = (2, 3, 4, 5)


def mixtures(lab: Lab, tool: Tool, bases: Sequence[Trial], random: Random) -> list[tuple[Trial, Outcome]]:
    """Calls that the tool still carries out, the one with the most effects first."""
    mover = Mover(lab, tool, [effect.sql for effect in tool.effects])
    found: list[tuple[Trial, Outcome]] = []
    for base in bases:
        places = _by_place(mover, base)
        for _ in range(DRAWS // len(bases) if places else 0):
            trial = base
            for name in random.sample(sorted(places), min(len(places), random.choice(MOVES))):
                trial = _also(trial, random.choice(places[name]))
            outcome = lab.outcome(trial)
            if outcome is not None and outcome.broken == len(lab.guards(tool)):
                found.append((trial, outcome))
    busy = sorted(found, key=lambda pair: -sum(map(bool, pair[1].counts)))
    return busy[:1] + [pair for pair in found if pair is not busy[0]][: KEPT - 1] if found else []


def _by_place(mover: Mover, base: Trial) -> dict[str, list[Move]]:
    """Moves of an argument or a cell, by what they change."""
    found: dict[str, list[Move]] = {}
    for move in mover.moves(base, rows=False):
        found.setdefault(move.about, []).append(move)
    return found


def _also(trial: Trial, move: Move) -> Trial:
    """The trial with that move too."""
    if move.about in dict(trial.arguments):
        return trial.with_argument(move.about, move.new)
    return trial.with_edit(move.trial.edits[-1])
