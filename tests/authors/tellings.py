"""Tasks that were told together are told apart, too: a part of a recorded question has a part of its answer."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace

from skillweave.llm.replay import CassetteEntry
from skillweave.schema.record import Json

QUESTION = "tasks.tell"
_TASK = re.compile(r"^Task \d+\n", re.MULTILINE)


class Tellings:
    """What a cassette tells of each task."""

    def __init__(self, takes: Sequence[CassetteEntry]) -> None:
        self._whole = [take for take in takes if take.question == QUESTION and take.attempt == 0]
        self._told: dict[str, dict[str, Json]] = {}
        for take in self._whole:
            answer = json.loads(take.reply.text)["tellings"]
            self._told |= dict(zip(_tasks(take.messages[1].content or ""), answer, strict=True))

    def part(self, said: str) -> CassetteEntry | None:
        """The take of a question whose tasks were all told in others; None where it is another question."""
        tasks = _tasks(said)
        if not tasks or not {*tasks} <= self._told.keys():
            return None
        tellings = [{**self._told[task], "id": str(number)} for number, task in enumerate(tasks, 1)]
        take = self._whole[0]
        reply = replace(take.reply, text=json.dumps({"tellings": tellings}))
        return take.model_copy(update={"key": " / ".join(task.partition("\n")[0] for task in tasks), "reply": reply})


def _tasks(said: str) -> list[str]:
    """What a question says of each of its tasks."""
    return [task.strip() for task in _TASK.split(said)[1:]]
