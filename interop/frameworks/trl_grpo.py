"""TRL: environments for GRPO, whose public methods are the tools of a world, and the rows that go with them.

TRL takes the methods of one class as the tools of a prompt. Worlds offer different tools, so each set of tools has a
class of its own, and each row names its class in the column `environment`. The model speaks to the user by the tool
`reply_to_user`; a reply without a call ends the episode, which is then scored as it stands. Importing this module loads
nothing of TRL: the trainer makes the environments.
"""

import hashlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from keyword import iskeyword
from typing import Any, Literal, NamedTuple

from interop.actions import ActionLike
from interop.episode import EpisodeError
from interop.frameworks.shared import DatasetOptions, openings
from interop.in_process import Environment
from interop.words import SPEAK, call_as_action
from rollout.task import Definition
from skillweave.base.errors import ConfigError
from skillweave.schema.record import Json

HOW = (
    f"Speak to the user with the tool {SPEAK} alone, and wait for what they answer. A reply without a call of a tool "
    "ends the conversation, and nobody reads it."
)
"""What the system prompt says beside the policy."""
OVER = "The conversation is over."
"""The result of the call that ends it, if nothing else is left to say."""
RESERVED = ("reset", "get_reward", SPEAK)
"""Names that a tool of a world cannot have."""
_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "object": dict,
    "null": None,
}


class GrpoEnvironment:
    """What the classes of all sets of tools share. Each method without an underscore is a tool for TRL."""

    _options: DatasetOptions

    def __init__(self) -> None:
        """Create an environment; it opens its dataset at the first reset."""
        self._environment: Environment | None = None

    def reset(self, **row: Any) -> None:
        """Begin the episode of a row.

        Args:
            row: The row's columns; `task_id` names the task.

        Raises:
            ArtifactError: There is no such task.
            ConfigError: The row names none.
        """
        task = row.get("task_id")
        if not isinstance(task, str):
            raise ConfigError("the row names no task_id; make the rows with interop.frameworks.trl_grpo.rows")
        self._environment = self._environment or Environment(self._options.factory())
        self._environment.reset(task)

    def reply_to_user(self, text: str) -> str:
        """Say something to the user, and get their answer.

        Args:
            text: What you say.

        Returns:
            The user's words.
        """
        return self._take(call_as_action(SPEAK, {"text": text}))

    def get_reward(self) -> float | None:
        """The reward of the episode as it stands; None, which TRL leaves out, if its user or world failed."""
        if self._environment is None:
            return None
        try:
            return self._environment.finish().reward
        except EpisodeError:
            return None

    def _take(self, action: ActionLike) -> str:
        if self._environment is None:
            raise EpisodeError("over", "there is no episode yet; call reset first")
        step = self._environment.step(action)
        return "\n\n".join(message.content or "" for message in step.observation) or OVER


def rows(outputs: str = "", **options: Any) -> list[dict[str, Any]]:
    """The rows for `datasets.Dataset.from_list`: prompt, environment, task_id, world and kind.

    Args:
        outputs: The outputs folder of a run.
        options: The other options of `DatasetOptions`: user, split, compact, config.

    Raises:
        ArtifactError: There is no dataset, or it has no tasks.
    """
    return [row for row, _ in _tasks(DatasetOptions(outputs=str(outputs), **options))]


def environments(outputs: str = "", **options: Any) -> dict[str, type[GrpoEnvironment]]:
    """The classes for `GRPOTrainer(environment_factory=...)`, by the name that the rows have.

    Args:
        outputs: The outputs folder of a run.
        options: As in `rows`.

    Raises:
        ArtifactError: There is no dataset, or it has no tasks.
        ConfigError: A tool has a name that is no method's.
    """
    chosen = DatasetOptions(outputs=str(outputs), **options)
    tools = {row["environment"]: definitions for row, definitions in _tasks(chosen)}
    return {name: environment_class(name, definitions, chosen) for name, definitions in tools.items()}


def environment_class(name: str, tools: Sequence[Definition], options: DatasetOptions) -> type[GrpoEnvironment]:
    """A class with a method for each tool.

    Args:
        name: The name of the class, under which TRL logs its reward.
        tools: OpenAI definitions.
        options: The dataset.

    Raises:
        ConfigError: A tool has a name that is no method's.
    """
    methods = {method.__name__: method for method in map(_method, tools)}
    return type(name, (GrpoEnvironment,), {"_options": options, "__module__": __name__, **methods})


def _tasks(options: DatasetOptions) -> Iterator[tuple[dict[str, Any], list[Definition]]]:
    factory = options.factory()
    for begun in openings(factory):
        task = factory.record(begun.task_id)
        system, *others = begun.messages
        prompt = [{"role": "system", "content": f"{system.content}\n\n{HOW}"}]
        prompt += [{"role": message.role, "content": message.content or ""} for message in others]
        row = {
            "prompt": prompt,
            "environment": _name(task.world, begun.tools),
            "task_id": task.id,
            "world": task.world,
            "kind": task.kind,
        }
        yield row, begun.tools


def _name(world: str, tools: Sequence[Definition]) -> str:
    """The name of a set of tools of a world."""
    return f"{world}_{hashlib.sha256(json.dumps(tools, sort_keys=True).encode()).hexdigest()[:6]}"


def _method(tool: Definition) -> Callable[..., str]:
    """The method of a tool: its signature and docstring are what TRL makes the model's definition of."""
    function = tool["function"]
    assert isinstance(function, dict)
    name = str(function["name"])
    if not name.isidentifier() or iskeyword(name) or name.startswith("_") or name in RESERVED:
        raise ConfigError(f"a tool named {name!r} cannot be a method of an environment of TRL")
    parameters = _parameters(function.get("parameters"))
    given = {of.python_name: of.name for of in parameters}

    def call(self: GrpoEnvironment, **arguments: Json) -> str:
        named: Json = {given.get(key, key): value for key, value in arguments.items()}
        return self._take(call_as_action(name, named))

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = _docstring(function.get("description"), parameters)
    call.__annotations__ = {**{of.python_name: of.annotation for of in parameters}, "return": str}
    signature = inspect.Signature([own, *(of.signature for of in parameters)], return_annotation=str)
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


class MethodParameter(NamedTuple):
    """A parameter of a tool, as that of a method."""

    name: str
    python_name: str
    """The same, or with an underscore behind it where it is a word of Python."""
    annotation: Any
    is_required: bool
    description: str

    @property
    def signature(self) -> inspect.Parameter:
        """The parameter in the method's signature."""
        default = inspect.Parameter.empty if self.is_required else None
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(self.python_name, kind, default=default, annotation=self.annotation)


def _parameters(schema: Json) -> list[MethodParameter]:
    of: Mapping[str, Json] = schema if isinstance(schema, dict) else {}
    properties, required = of.get("properties"), of.get("required")
    needed = required if isinstance(required, list) else []
    return [
        MethodParameter(
            name=name,
            python_name=_python_name(name),
            annotation=_type(one),
            is_required=name in needed,
            description=_line(one.get("description")) if isinstance(one, dict) else "",
        )
        for name, one in (properties.items() if isinstance(properties, dict) else ())
    ]


def _python_name(parameter: str) -> str:
    """The parameter's name where Python takes it, else with an underscore behind it."""
    if not parameter.isidentifier():
        raise ConfigError(f"a parameter named {parameter!r} cannot be one of a method")
    return f"{parameter}_" if iskeyword(parameter) or parameter == "self" else parameter


def _type(schema: Json) -> Any:
    """The annotation of a JSON schema; of what has no annotation of its own, a text."""
    of: Mapping[str, Json] = schema if isinstance(schema, dict) else {}
    kinds = of.get("type")
    names = kinds if isinstance(kinds, list) else [kinds]
    values = of.get("enum")
    if isinstance(values, list):
        allowed = tuple(value for value in values if value is not None)
        annotation: Any = Literal[allowed] if allowed else str
        return annotation | None if None in values or "null" in names else annotation
    annotation = None
    for kind in map(str, names):
        one = list[_type(of.get("items"))] if kind == "array" else _TYPES.get(kind, str)  # type: ignore[misc]
        annotation = one if annotation is None else annotation | one
    return annotation


def _docstring(description: Json, parameters: Sequence[MethodParameter]) -> str:
    """A docstring in Google's form, from which the definition is read again."""
    lines = [_line(description) or "A tool of this world.", ""]
    if parameters:
        lines += ["Args:", *(f"    {of.python_name}: {of.description or of.name}" for of in parameters), ""]
    return "\n".join([*lines, "Returns:", "    The result, as JSON text."])


def _line(text: Json) -> str:
    return " ".join(str(text or "").split())
