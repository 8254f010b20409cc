"""What an OpenEnv server tells of itself: its tasks by split, its schemas, its metadata."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from random import Random, SystemRandom

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from interop.serve.http import RequestError, json_object, reply, task_asked_for
from interop.serve.sessions import SessionPool
from skillweave.schema.record import Json

NAME = "skillweave"
"""The name of the environment."""
WIRE_VERSION = "1.0.0"
"""The version of OpenEnv's HTTP interface, as `openenv validate` reads it."""
_TEXT: dict[str, Json] = {"type": "string"}
_MESSAGES: dict[str, Json] = {"type": "array", "items": {"type": "object"}, "description": "In OpenAI's form."}
_TOOLS: dict[str, Json] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"name": _TEXT, "description": _TEXT, "input_schema": {"type": "object"}},
        "required": ["name", "description", "input_schema"],
    },
}
_ENDING: dict[str, Json] = {"metadata": {"type": "object"}}


def _object(required: Sequence[str], **properties: Json) -> dict[str, Json]:
    return {"type": "object", "properties": {**properties}, "required": [*required]}


SCHEMAS: dict[str, Json] = {
    "action": {
        "oneOf": [
            _object(["type", "tool_name"], type={"const": "call_tool"}, tool_name=_TEXT, arguments={"type": "object"}),
            _object(["type"], type={"const": "list_tools"}),
            _object(
                ["type"],
                type={"const": "message"},
                content={"type": ["string", "null"]},
                tool_calls={"type": "array", "items": {"type": "object"}},
            ),
        ]
    },
    "observation": _object(
        [],
        text=_TEXT,
        messages=_MESSAGES,
        tool_name=_TEXT,
        result={},
        error={"type": ["object", "null"]},
        tools=_TOOLS,
        **_ENDING,
    ),
    "reset_observation": _object(
        ["text", "messages", "tools", "task_id", "episode_id"],
        text=_TEXT,
        messages=_MESSAGES,
        tools=_TOOLS,
        task_id=_TEXT,
        episode_id=_TEXT,
        **_ENDING,
    ),
    "state": _object(
        ["episode_id", "step_count"],
        episode_id={"type": ["string", "null"]},
        step_count={"type": "integer"},
        task_id={"type": ["string", "null"]},
        done={"type": "boolean"},
    ),
}
"""Schemas of what is sent."""


class TaskCatalogue:
    """The tasks by split, as the Task API lists them and `reset` takes them."""

    def __init__(self, pool: SessionPool) -> None:
        self._pool = pool
        own = "/{name:str}"
        posts: dict[str, Callable[[list[str], Mapping[str, Json]], Json]] = {
            f"{own}/tasks": self._tasks,
            f"{own}/num_tasks": lambda ids, _: {"num_tasks": len(ids)},
            f"{own}/task": lambda ids, given: {"task": self._told(ids[_place(given.get("index"), ids)])},
            f"{own}/task_range": self._range,
        }
        self.routes = [
            Route("/list_environments", _telling([NAME])),
            Route("/health", _telling({"status": "healthy"})),
            Route("/metadata", _telling(self._metadata())),
            Route("/schema", _telling(SCHEMAS)),
            Route("/openapi.json", self._openapi),
            Route(f"{own}/splits", self._list_splits),
            *(Route(path, self._answering(work), methods=["POST"]) for path, work in posts.items()),
        ]

    def asked_for(self, given: Mapping[str, Json]) -> str:
        """The task of a reset: by `task_id`, by `split` and `index`, by `seed`, or any.

        Raises:
            ArtifactError: There is no such task.
            ConfigError: There is no task of that number.
            RequestError: A value has the wrong type, or there is no such split.
        """
        if given.get("task_id") is None and given.get("split") is not None:
            ids = self._split(given["split"])
            return ids[_place(given["index"], ids)] if given.get("index") is not None else self._drawn(ids, given)
        return task_asked_for(self._pool, given) or SystemRandom().choice(self._pool.factory.ids)

    @cached_property
    def _splits(self) -> dict[str, list[str]]:
        """Ids of the tasks by split; read when they are first asked for, since that reads every task."""
        splits: dict[str, list[str]] = {}
        for id in self._pool.factory.ids:
            splits.setdefault(str(self._pool.factory.record(id).split), []).append(id)
        return splits

    def _drawn(self, ids: Sequence[str], given: Mapping[str, Json]) -> str:
        seed = given.get("seed")
        return (SystemRandom() if seed is None else Random(f"{seed}/environment")).choice(ids)

    def _split(self, name: Json) -> list[str]:
        ids = self._splits.get(name) if isinstance(name, str) else None
        if ids is None:
            raise RequestError(f"there is no split {str(name)[:80]!r}; there are {', '.join(self._splits)}", 422)
        return ids

    def _told(self, id: str) -> dict[str, Json]:
        """What a task is, without what would solve it."""
        record = self._pool.factory.record(id)
        return {
            "task_id": id,
            "number": self._pool.factory.number_of(id),
            "split": record.split,
            "world": record.world,
            "domains": [*record.domains],
        }

    def _tasks(self, ids: list[str], given: Mapping[str, Json]) -> Json:
        return {"tasks": [self._told(id) for id in ids], "env_name": NAME}

    def _range(self, ids: list[str], given: Mapping[str, Json]) -> Json:
        return {"tasks": [self._told(id) for id in ids[_bound(given.get("start")) : _bound(given.get("stop"))]]}

    def _answering(
        self, work: Callable[[list[str], Mapping[str, Json]], Json]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            _check_name(request)
            given = await json_object(request)
            return reply(work(self._split(given.get("split")), given))

        return answer

    async def _list_splits(self, request: Request) -> Response:
        _check_name(request)
        return reply([{"name": split, "type": split} for split in self._splits])

    def _metadata(self) -> dict[str, Json]:
        factory = self._pool.factory
        return {
            "name": NAME,
            "description": f"{len(factory.ids):,} tasks in {len(factory.dataset.worlds):,} worlds: an agent talks with "
            "a user, follows a policy and changes records through tools.",
            "version": _version(),
            "author": None,
            "readme_content": None,
            "documentation_url": None,
        }

    async def _openapi(self, request: Request) -> Response:
        paths = {route.path: sorted(route.methods or ()) for route in request.app.routes if isinstance(route, Route)}
        described: dict[str, Json] = {
            path: {verb.lower(): {"responses": {"200": {"description": "OK"}}} for verb in verbs if verb != "HEAD"}
            for path, verbs in paths.items()
        }
        return reply({"openapi": "3.1.0", "info": {"title": NAME, "version": WIRE_VERSION}, "paths": described})


def _place(index: Json, ids: Sequence[str]) -> int:
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(ids):
        raise RequestError(f"Invalid task index {index!r}; there are 0 to {len(ids) - 1}", 400)
    return index


def _bound(given: Json) -> int | None:
    if given is not None and (isinstance(given, bool) or not isinstance(given, int)):
        raise RequestError("start and stop are whole numbers", 422)
    return given


def _check_name(request: Request) -> None:
    name = request.path_params["name"]
    if name.lower() != NAME:
        raise RequestError(f"unknown environment {name[:80]!r}; there is {NAME!r}", 404)


def _telling(value: Json) -> Callable[[Request], Awaitable[Response]]:
    async def tell(request: Request) -> Response:
        return reply(value)

    return tell


def _version() -> str:
    try:
        return version(NAME)
    except PackageNotFoundError:
        return "0"
