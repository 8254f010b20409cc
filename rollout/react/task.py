"""GeneralReactTask: a question with optional tools and a checker, without a user.

The agent's first words without a call are its final answer. Any agent can do these tasks, in any form of calls.
"""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field, ValidationError

from rollout.parts import SourceContext
from rollout.react.tools import CHECKERS, Checker, Function, FunctionTool, expected_answer, fault, reward_of
from rollout.task import Answer, Definition, Response, RolloutOutcome, RolloutTask, Runtime
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.store import digest_file, digest_json
from skillweave.base.text import UnreadableTextError, skip_mark
from skillweave.schema.record import Json, Record
from skillweave.schema.trajectory import Message, RolloutScore

PROMPT = "Answer the question. Use tools where they help. When you know the answer, reply with the answer alone."


class ReactRuntime:
    """Calls Python functions as tools."""

    def __init__(self, tools: Sequence[FunctionTool], max_calls: int | None) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._max_calls = max_calls
        self._calls = 0

    @property
    def tools(self) -> list[Definition]:
        """The tools that the agent may call."""
        return [tool.definition for tool in self._tools.values()]

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Answer:
        """Call a tool. An unknown tool is answered with an error."""
        self._calls += 1
        function = self._tools.get(tool)
        if function is None:
            offered = ", ".join(self._tools) or "none"
            answer = fault("unknown_tool", f"There is no tool {tool!r}; there are: {offered}.")
        else:
            answer = await function.call(arguments)
        return answer._replace(ends="max_calls") if self._max_calls == self._calls else answer

    async def respond(self, messages: Sequence[Message]) -> Response:
        """End the conversation: the agent's words are its final answer."""
        return Response(ends="agent_stop")

    async def close(self) -> None:
        """Do nothing; there is nothing to release."""


class GeneralReactTask(RolloutTask):
    """One question, in one trial."""

    def __init__(
        self,
        id: str,
        question: str,
        check: Checker | str,
        *,
        tools: Sequence[FunctionTool | Function] = (),
        prompt: str = PROMPT,
        max_calls: int | None = None,
    ) -> None:
        """Create a task.

        Args:
            id: Unique in its source.
            question: The user's message.
            check: A checker, or the expected answer.
            tools: Functions that the agent may call.
            prompt: The system prompt.
            max_calls: A limit of calls below the run's own limit; None for no further limit.

        Raises:
            ConfigError: `max_calls` is less than 1, or a function is not usable as a tool.
        """
        if max_calls is not None and max_calls < 1:
            raise ConfigError(f"task {id!r}: max_calls is {max_calls}; give at least 1, or None")
        self.id = id
        self.question = question
        self._check = expected_answer(check) if isinstance(check, str) else check
        self._tools = _tools(tools)
        self._prompt = prompt
        self._max_calls = max_calls
        definitions: list[Json] = [tool.definition for tool in self._tools]
        self.digest = digest_json([question, check if isinstance(check, str) else None, definitions, prompt])

    async def initialize_runtime(self) -> ReactRuntime:
        """Create a runtime that calls the tools."""
        return ReactRuntime(self._tools, self._max_calls)

    def get_instruction(self, runtime: Runtime) -> list[Message]:
        """The system prompt, and the question as the user's message."""
        return [Message(role="system", content=self._prompt), Message(role="user", content=self.question)]

    async def evaluate_result(self, outcome: RolloutOutcome) -> RolloutScore:
        """Score the final answer with the checker; 0 without a final answer."""
        last = outcome.messages[-1]
        answer = last.content if outcome.stop_reason == "agent_stop" and last.role == "assistant" else None
        reward = 0.0 if answer is None else reward_of(self._check, answer)
        return RolloutScore(passed=reward == 1.0, reward=reward, checks={"answer": reward})


class QuestionLine(Record):
    """A line of a question file."""

    id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    answer: str
    """The expected answer."""
    check: str = "answer"
    """How answers are compared; one of `CHECKERS`."""


class ReactTasks:
    """The questions of a JSONL file. Only their places in the file are kept in memory."""

    def __init__(self, path: Path, tools: Sequence[FunctionTool | Function] = ()) -> None:
        """Index a file of questions.

        Args:
            path: The JSONL file.
            tools: The tools of all questions.

        Raises:
            ArtifactError: The file or a line cannot be read.
            ConfigError: A function is not usable as a tool.
        """
        self._path = path
        self._tools = _tools(tools)
        self._places = _places(path)
        definitions: list[Json] = [tool.definition for tool in self._tools]
        self._digest = digest_json([digest_file(path), definitions])

    @property
    def digest(self) -> str:
        """Digest of the file and the tools' definitions."""
        return self._digest

    def ids(self) -> list[str]:
        """Ids of all questions, in the order of the file."""
        return list(self._places)

    def task(self, id: str, trial: int) -> GeneralReactTask:
        """The task of a question; all trials are equal.

        Raises:
            ConfigError: There is no question of that id.
        """
        if id not in self._places:
            raise ConfigError(f"no question {id!r} in {str(self._path)!r}")
        with self._path.open("rb") as file:
            file.seek(self._places[id])
            line = _question(file.readline(), f"{str(self._path)!r}, question {id!r}")
        task = GeneralReactTask(id, line.question, CHECKERS[line.check](line.answer), tools=self._tools)
        task.digest = digest_json([task.digest, line.answer, line.check])
        return task

    async def close(self) -> None:
        """Do nothing; there is nothing to release."""


def react_tasks(context: SourceContext) -> ReactTasks:
    """Create the source from `rollout.parts.options`: `{questions: FILE, tools: [module:function, ...]}`.

    Raises:
        ConfigError: The options are wrong, or a tool cannot be loaded.
        ArtifactError: The file or a line cannot be read.
    """
    options = context.options
    path, tools = options.get("questions"), options.get("tools", [])
    unknown = sorted(options.keys() - {"questions", "tools"})
    if unknown or not isinstance(path, str) or not isinstance(tools, list):
        raise ConfigError(
            f"rollout.parts.options is {options!r}; for react tasks it must be "
            "{questions: FILE}, and may have tools: [module:function, ...]"
        )
    return ReactTasks(Path(path), [_function(name) for name in tools])


def _tools(tools: Sequence[FunctionTool | Function]) -> list[FunctionTool]:
    return [tool if isinstance(tool, FunctionTool) else FunctionTool(tool) for tool in tools]


def _function(name: object) -> Function:
    module, _, attribute = str(name).partition(":")
    try:
        value = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"tool {name!r} of rollout.parts.options cannot be loaded: {error}") from error
    if not callable(value):
        raise ConfigError(f"tool {name!r} of rollout.parts.options is not a function; give module:function")
    function: Function = value
    return function


def _places(path: Path) -> dict[str, int]:
    """Id of each question -> the byte at which its line begins."""
    places: dict[str, int] = {}
    try:
        with path.open("rb") as file:
            place = skip_mark(file)
            for number, line in enumerate(file, start=1):
                if line.strip():
                    id = _question(line, f"{str(path)!r}, line {number}").id
                    if id in places:
                        raise ArtifactError(f"{str(path)!r}, line {number}: id {id!r} stands twice; ids are unique")
                    places[id] = place
                place += len(line)
    except OSError as error:
        raise ArtifactError(f"questions {str(path)!r} cannot be read: {error.strerror}") from error
    except UnreadableTextError as error:
        raise ArtifactError(f"questions {str(path)!r} cannot be read: {error}") from error
    return places


def _question(line: bytes, place: str) -> QuestionLine:
    try:
        question = QuestionLine.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "line"
        raise ArtifactError(
            f"{place}: {field}: {first['msg']}; a line is {{id, question, answer}}, and may have check"
        ) from error
    if question.check not in CHECKERS:
        raise ArtifactError(f"{place}: unknown check {question.check!r}; known are {', '.join(CHECKERS)}")
    return question
