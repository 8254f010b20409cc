"""The score of a session, and the floors of a task: what doing nothing and what chance would earn.

The reward is the product of the checks that the task names. A score says little without its floors. Chance
knows what any agent sees: the tools, the user's first message, and the results of its own calls; never the golden calls
or the criteria.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from math import prod
from random import Random
from typing import NamedTuple

from evaluator.checks import basis_fault, make_checks
from evaluator.replay.execution import ExecutedCall, Execution
from evaluator.replay.trial import Trial
from skillweave.base.errors import ConfigError
from skillweave.schema.contract import CallResult, Parameter
from skillweave.schema.record import Json
from skillweave.schema.score import Checks, Score
from skillweave.schema.task import Task
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall, UserTurn, tell_thoughts_apart, until_end
from skillweave.world.canonical import canonical
from skillweave.world.session import Session
from skillweave.world.tools import name_of, read_call, session_tools
from skillweave.world.world import World

TRIALS = 3
"""Random trials whose mean reward is the floor of chance."""
CALLS = (2, 6)
"""Fewest and most calls of a random trial."""
OPTIONAL = 0.3
"""Probability that an optional argument is given."""
BORROWS = 0.7
"""Probability that a value is one seen under the argument's name."""
TELLS = 3
"""Most values that the last message tells."""
_WORD = re.compile(r"[^\s,;:!?()\"]+[^\s,;:!?()\".]")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_NUMBER = re.compile(r"\b\d{1,6}\b")


def score(
    task: Task,
    session: Session,
    messages: Sequence[Message | Mapping[str, Json]] | None = None,
    turns: Sequence[UserTurn] | None = None,
) -> Score:
    """What the session, and the conversation held in it, are worth.

    Args:
        messages: The conversation: records, or dicts of OpenAI's form. Without them nothing is said of what the user
            was told and how the agent behaved: `passed` and `reward` are None where the task asks for that.
        turns: What the user recorded of its messages; None where nobody did.
    """
    fault = basis_fault(task)
    if fault is not None:
        raise ConfigError(fault)
    given = None if messages is None else [Message.model_validate(message) for message in messages]
    transcript = None if given is None else tell_thoughts_apart(given)
    held = until_end(transcript or (), turns or ())
    unheard = len(_readable_calls(transcript or ())) - len(_readable_calls(held))
    results = session.results[: len(session.results) - unheard]
    execution = Execution(
        calls=[*_executed_calls(results, held)],
        changes=canonical(session.diff(), session.minted),
        minted=session.minted,
        transfer=session.transfer,
        caller=session.caller,
        defects=session.defects,
    )
    trial = Trial(
        task=task, execution=execution, comparison=session.comparison, transcript=transcript, user_records=turns
    )
    checks = make_checks(trial)
    reward = reward_of(task, checks)
    return Score(task_id=task.id, passed=None if reward is None else reward == 1, reward=reward, checks=checks)


def reward_of(task: Task, checks: Checks) -> float | None:
    """The product of the checks that the task's `reward_basis` names; None where one of them was not made."""
    records = [checks.get(name) for name in task.criteria.reward_basis]
    scores = [record.score for record in records if record is not None]
    return prod(scores) if len(scores) == len(records) else None


def _executed_calls(results: Sequence[CallResult], messages: Sequence[Message]) -> Iterator[ExecutedCall]:
    """Each result with the position of its call. Calls that cannot be read were not made, but count as positions."""
    made = _readable_calls(messages)
    for position, (result, placed) in enumerate(zip_longest(results, made[: len(results)])):
        call, place = placed or (position, -1)
        yield ExecutedCall(call, place, -1, result.call.tool, result.call.arguments, result, False, [])


def _readable_calls(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """The readable calls of a conversation: position among all calls, and position of the message."""
    given = [
        (place, call)
        for place, message in enumerate(messages)
        if message.role == "assistant"
        for call in message.tool_calls or ()
    ]
    return [(call, place) for call, (place, one) in enumerate(given) if read_call(one).arguments is not None]


def floor_nothing(world: World, task: Task) -> float | None:
    """The reward if nothing follows the user's first message; None where a check that counts cannot be made."""
    with world.session(task) as session:
        return score(task, session, task.messages).reward


def floor_random(world: World, task: Task, seed: int) -> float | None:
    """Mean reward of random trials; a trial in which the world fails counts 0.

    Args:
        seed: Seeds the trials, together with the task's id.

    Returns:
        None where a check that counts cannot be made.
    """
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
    """One random conversation."""

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
        """Make random calls, then say last words. Returns the whole conversation."""
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
