"""Floors: what is earned in a task by doing and saying nothing, and by calls and words of chance.

A score says little but beside its floors. Chance knows what any agent sees: the tools, the user's first message,
and the results of its own calls; never the golden calls or the criteria.
"""

import json
import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from evaluator.scoring.score import score
from skillweave.schema.contract import Parameter
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall
from skillweave.world.session import Session
from skillweave.world.tools import name_of, session_tools
from skillweave.world.world import World

TRIALS = 3
"""Trials of chance whose mean is the floor."""
CALLS = (2, 6)
"""Fewest and most calls of a trial."""
OPTIONAL = 0.3
"""How often an argument is given that may be left out."""
BORROWS = 0.7
"""How often a value is one that was seen under the argument's name."""
TELLS = 3
"""Values that the last words tell at most."""
_WORD = re.compile(r"[^\s,;:!?()\"]+[^\s,;:!?()\".]")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_NUMBER = re.compile(r"\b\d{1,6}\b")


def floor_nothing(world: World, task: Task) -> float | None:
    """The reward where the user opens and nothing follows; None where it depends on more than such a score can say."""
    with world.session(task) as session:
        return score(task, session, task.messages).reward


def floor_random(world: World, task: Task, seed: int) -> float | None:
    """Mean reward of trials of chance. One in which the world fails counts 0; None as in `floor_nothing`."""
    rewards = [_reward(world, task, Random(f"{seed}/{task.id}/{trial}/floor")) for trial in range(TRIALS)]
    known = [reward for reward in rewards if reward is not None]
    return sum(known) / TRIALS if len(known) == TRIALS else None


def _reward(world: World, task: Task, random: Random) -> float | None:
    with world.session(task) as session:
        messages = _Chance(world, task, session, random).converse()
        return 0.0 if session.defects else score(task, session, messages).reward


class _SeenValue(NamedTuple):
    name: str
    value: Json


class _Chance:
    """One conversation of chance."""

    def __init__(self, world: World, task: Task, session: Session, random: Random) -> None:
        self._session = session
        self._random = random
        offered = {name_of(tool) for tool in session.tools}
        tools = [tool for tool in [*world.blueprint.tools, *session_tools(world.blueprint)] if tool.name in offered]
        self._tools = [(tool.name, tool.parameters) for tool in tools]
        heard = " ".join(message.content or "" for message in task.messages if message.role == "user")
        self._words: list[str] = _WORD.findall(heard)
        self._dates: list[str] = [*_DATE.findall(heard), task.now[:10]]
        self._numbers = [int(number) for number in _NUMBER.findall(heard)] or [1]
        self._messages = list(task.messages)
        self._seen: list[_SeenValue] = []

    def converse(self) -> Sequence[Message]:
        """Calls, then last words; the whole conversation."""
        for number in range(self._random.randint(*CALLS) if self._tools else 0):
            self._call(f"call_{number}")
            if self._session.transfer is not None:
                break
        self._messages.append(Message(role="assistant", content=self._last_words()))
        return self._messages

    def _call(self, id: str) -> None:
        tool, parameters = self._random.choice(self._tools)
        arguments = {
            parameter.name: self._value(parameter)
            for parameter in parameters
            if parameter.required or self._random.random() < OPTIONAL
        }
        result = self._session.call(tool, arguments)
        self._look_at(result.value)
        call = ToolCall(id=id, function=FunctionCall(name=tool, arguments=arguments))
        answer = result.value if result.error is None else result.error.model_dump()
        self._messages += [
            Message(role="assistant", tool_calls=[call]),
            Message(role="tool", tool_call_id=id, content=json.dumps(answer)),
        ]

    def _look_at(self, value: Json) -> None:
        rows = value if isinstance(value, list) else [value]
        for row in rows:
            if isinstance(row, Mapping):
                self._seen += [_SeenValue(name, cell) for name, cell in row.items() if cell is not None]

    def _value(self, parameter: Parameter) -> Json:
        random = self._random
        if parameter.enum:
            return random.choice(parameter.enum)
        known = [seen.value for seen in self._seen if seen.name == parameter.name]
        if known and random.random() < BORROWS:
            return random.choice(known)
        match parameter.type:
            case "integer" | "number":
                return random.choice(self._numbers)
            case "boolean":
                return random.random() < 0.5
            case "date":
                return random.choice(self._dates)
            case "datetime":
                return f"{random.choice(self._dates)} {random.randint(8, 18):02}:00:00"
            case "array":
                return []
            case "object":
                return {}
            case "string":
                return random.choice(self._words or ["unknown"])

    def _last_words(self) -> str:
        told = self._random.sample(self._seen, min(TELLS, len(self._seen)))
        return " ".join(["That is done.", *(f"The {_label(seen.name)} is {_said(seen)}." for seen in told)])


def _label(column: str) -> str:
    return column.removesuffix("_cents").replace("_", " ")


def _said(seen: _SeenValue) -> str:
    """The value as an agent would say it: cents as an amount."""
    if seen.name.endswith("_cents") and isinstance(seen.value, int):
        return f"{seen.value / 100:.2f}"
    return str(seen.value)
