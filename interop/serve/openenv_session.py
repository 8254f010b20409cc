"""A session as OpenEnv's clients see it: actions in, observations with reward and done out."""

import json
from collections.abc import Callable, Mapping, Sequence

from interop.actions import Action, ActionError
from interop.episode import Episode, EpisodeError, Step
from interop.serve.openenv_tasks import TaskCatalogue
from interop.serve.sessions import EpisodeSession, SessionError
from interop.words import SPEAK_TOOL, ServedTool, call_as_action, served_tools
from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message


class OpenEnvSession:
    """One client's session."""

    def __init__(self, session: EpisodeSession, catalogue: TaskCatalogue) -> None:
        self._session = session
        self._catalogue = catalogue
        self._label = session.id
        self._steps = 0
        self._is_attached = False
        self._tools: list[ServedTool] = [SPEAK_TOOL]
        self.stopped: Callable[[], object] = lambda: None
        """Called when the session is closed by others than its client."""

    @property
    def id(self) -> str:
        """The session's id."""
        return self._session.id

    @property
    def is_closed(self) -> bool:
        """Whether the session is closed."""
        return self._session.is_closed

    def attach(self) -> None:
        """Give the session to a WebSocket. Raises SessionError if it has one."""
        if self._is_attached:
            raise SessionError("unknown", "the session has a WebSocket already")
        self._is_attached = True

    async def reset(self, given: Mapping[str, Json]) -> dict[str, Json]:
        """Begin an episode.

        Args:
            given: `task_id`, `split` with `index`, or `seed`; `episode_id` as a label, `trial`.

        Raises:
            SkillweaveError: There is no such task, or it does not open.
        """
        task, label, trial = self._catalogue.asked_for(given), given.get("episode_id"), given.get("trial") or 0
        if isinstance(trial, bool) or not isinstance(trial, int) or trial < 0:
            raise ActionError("trial is a whole number from 0")
        if label is not None and (not isinstance(label, str) or len(label) > 255):
            raise ActionError("episode_id is a text of at most 255 characters")
        episode = await self._session.reset(task, trial)
        self._tools = served_tools(episode.tools)
        self._steps, self._label = 0, label or self.id
        return self._begun(episode)

    async def step(self, action: Mapping[str, Json]) -> dict[str, Json]:
        """Take a step.

        Raises:
            ActionError: The action is none.
            EpisodeError: The episode is over or busy, or its user or world failed.
        """
        kind = action.get("type")
        if kind == "list_tools":
            return self._told({"tools": self.tools()})
        if kind == "call_tool":
            return await self._call(action.get("tool_name"), action.get("arguments"))
        if kind == "message":
            step = await self._session.step({**action, "role": "assistant"})
            self._steps += 1
            return _answered(step, {"text": _text(step.observation), "messages": _dumped(step.observation)})
        raise ActionError(f"unknown action type {str(kind)[:80]!r}; there are call_tool, list_tools and message")

    async def call(self, name: Json, arguments: Json) -> dict[str, Json]:
        """Call a tool outside `step`: the result, with reward and done beside it. Raises as `step`."""
        answer = await self._call(name, arguments)
        observation = answer["observation"]
        assert isinstance(observation, dict)
        result, error = observation["result"], observation["error"]
        if isinstance(error, dict):
            raise ActionError(str(error["message"]))
        assert isinstance(result, dict)
        return {**result, "reward": answer["reward"], "done": answer["done"]}

    def tools(self) -> list[Json]:
        """The tools of the task; before the first reset, the one to speak with."""
        return [tool._asdict() for tool in self._tools]

    def state(self) -> dict[str, Json]:
        """Where the episode stands."""
        if not self._session.has_episode:
            return {"episode_id": self._label, "step_count": 0, "task_id": None, "done": False}
        episode = self._session.episode
        return {"episode_id": self._label, "step_count": self._steps, "done": episode.done, **episode.info}

    async def _call(self, name: Json, arguments: Json) -> dict[str, Json]:
        if not isinstance(name, str) or not name:
            raise ActionError("a call names its tool")
        try:
            action = call_as_action(name, arguments)
        except ActionError as error:
            fault: dict[str, Json] = {"error_type": "invalid_args", "message": str(error)}
            return self._told({"tool_name": name, "result": None, "error": fault, "text": str(error)})
        step = await self._session.step(action)
        self._steps += 1
        text = _text(step.observation)
        result = _result(text, isinstance(action, Action))
        return _answered(step, {"tool_name": name, "result": result, "error": None, "text": text})

    def _begun(self, episode: Episode) -> dict[str, Json]:
        own: dict[str, Json] = {
            "task_id": episode.task.id,
            "episode_id": self._label,
            "text": _text(episode.messages),
        }
        # Clients of tools keep nothing but `tools` and `metadata`.
        messages = _dumped(episode.messages)
        shown = {**own, "messages": messages, "tools": self.tools(), "metadata": own}
        return {"observation": shown, "reward": 0.0, "done": False}

    def _told(self, observation: dict[str, Json]) -> dict[str, Json]:
        """An answer that is no step."""
        try:
            episode = self._session.episode
        except EpisodeError:
            return {"observation": observation, "reward": 0.0, "done": False}
        return {"observation": observation, "reward": episode.reward, "done": episode.done}


def _answered(step: Step, observation: dict[str, Json]) -> dict[str, Json]:
    shown = {**observation, "metadata": step.info}
    return {"observation": shown, "reward": step.reward, "done": step.done, "metadata": step.info}


def _text(messages: Sequence[Message]) -> str:
    return "\n\n".join(message.content or "" for message in messages)


def _dumped(messages: Sequence[Message]) -> list[Json]:
    return [message.model_dump(exclude_none=True) for message in messages]


def _result(text: str, is_words: bool) -> dict[str, Json]:
    """A result in the form that OpenEnv's own servers give: FastMCP's."""
    value: Json = text
    if not is_words:
        try:
            value = json.loads(text)
        except ValueError:
            value = text
    return {
        "content": [{"type": "text", "text": text}],
        "structured_content": value if isinstance(value, dict) else {"result": value},
        "data": value,
        "is_error": isinstance(value, dict) and [*value] == ["error"],
        "meta": None,
    }
