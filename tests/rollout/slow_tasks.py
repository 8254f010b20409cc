"""Tasks that take their time, and an agent that calls a tool a few times: for runs that are killed in between."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random

from rollout.parts import SourceContext
from rollout.task import Answer, Definition, Response, RolloutOutcome, RolloutTask, Runtime, TaskList
from skillweave.config.sections import Config
from skillweave.llm.backends.backend import Reply, Request
from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, Message, RolloutScore, ToolCall

CALLS = 4
WAIT: Definition = {
    "type": "function",
    "function": {"name": "wait", "description": "Wait.", "parameters": {"type": "object", "properties": {}}},
}


class Room:
    """A runtime whose tool takes some hundredths of a second, or never returns: from the task HELD_FROM on."""

    def __init__(self, id: str) -> None:
        self._id = id
        self._random = Random(id)
        self.tools = [WAIT]

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Answer:
        if int(self._id.partition("-")[2]) >= int(os.environ.get("HELD_FROM", "999999")):
            await asyncio.Event().wait()
        die_once(self._id)
        await asyncio.sleep(self._random.uniform(0.02, 0.2))
        return Answer(self._id)

    async def respond(self, messages: Sequence[Message]) -> Response:
        return Response(ends="agent_stop")

    async def close(self) -> None:
        return None


def die_once(id: str) -> None:
    """End the process, once, in the middle of the task that the environment names."""
    dead = Path(os.environ.get("DEAD", "/nowhere/there"))
    if dead.parent.is_dir() and id == dead.name and not dead.exists():
        dead.touch()
        os._exit(1)


class Waiting(RolloutTask):
    def __init__(self, number: int) -> None:
        self.id = f"{'east' if number % 2 else 'west'}-{number}"
        self.world = self.id.partition("-")[0]

    async def initialize_runtime(self) -> Room:
        return Room(self.id)

    def get_instruction(self, runtime: Runtime) -> list[Message]:
        return [Message(role="user", content=f"I am {self.id}. {'Lines are long. ' * 200}")]

    async def evaluate_result(self, outcome: RolloutOutcome) -> RolloutScore:
        own = sum(message.content == self.id for message in outcome.messages if message.role == "tool")
        return RolloutScore(passed=own == CALLS, reward=own / CALLS)


def tasks(context: SourceContext) -> TaskList:
    """As many as the options say."""
    numbers = {Waiting(number).id: number for number in range(int(context.options["count"]))}
    return TaskList("waiting/1", {id: partial(Waiting, number) for id, number in numbers.items()})


class Patient:
    """An agent that calls the tool a few times, and then says so."""

    name = "own/patient"

    def __init__(self, config: Config) -> None:
        self._seed = config.seed

    async def complete(self, request: Request) -> Reply:
        if sum(message.role == "tool" for message in request.messages) == CALLS:
            return Reply(text="Done.")
        return Reply(text="", tool_calls=(ToolCall(id="", function=FunctionCall(name="wait", arguments="{}")),))

    async def close(self) -> None:
        return None
