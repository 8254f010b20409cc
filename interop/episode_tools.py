"""An episode as an MCP server: its tools, one more to speak to the user, its task and its reward.

Reading the reward ends the episode, so that nobody climbs by peeking: calls that come later are refused. What goes
wrong in a call is its result, which a model can read; what goes wrong elsewhere is an error of the protocol.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from interop.actions import ActionError, ActionLike
from interop.episode import Episode, EpisodeError, Step
from interop.words import ServedTool, call_as_action, served_tools
from skillweave.base.command import one_line
from skillweave.base.errors import SkillweaveError
from skillweave.schema.record import Json

TASK, REWARD = "skillweave://task", "skillweave://reward"
"""Addresses of the resources."""
PROMPT = "task"
"""Name of the prompt."""
OVER = "The conversation is over."
"""What the last result says beside the words of the user, if there are any."""
_ABOUT = {
    TASK: "The task: its id, the system prompt with the policy, and the user's first message.",
    REWARD: "The reward, and the checks behind it. Reading it ends the episode.",
}


class HeldEpisode(Protocol):
    """Whoever holds an episode for one client; hashable by identity."""

    async def current(self) -> Episode:
        """The episode; it is opened if there is none yet. Raises SkillweaveError."""

    async def step(self, action: ActionLike, *, text: bool = False) -> Step:
        """Take a step. Raises ActionError or EpisodeError."""

    async def finish(self) -> Step:
        """End the episode as it stands, and score it. Raises EpisodeError."""


def episode_server(
    held: Callable[[Any], HeldEpisode], *, listed: Callable[[Episode], list[ServedTool]] | None = None
) -> "Server[Any]":
    """An MCP server of episodes.

    Args:
        held: Finds whose episode a request is about, from the request's context.
        listed: The tools of an episode; None: those of the world, and the one to speak with.
    """
    tools_of = listed or (lambda episode: served_tools(episode.tools))

    async def list_tools(context: Any, _: Any) -> types.ListToolsResult:
        tools = tools_of(await _episode(held(context)))
        return types.ListToolsResult(
            tools=[
                types.Tool(name=tool.name, description=tool.description, input_schema=tool.input_schema)
                for tool in tools
            ]
        )

    async def call_tool(context: Any, request: types.CallToolRequestParams) -> types.CallToolResult:
        return await _called(held(context), request.name, request.arguments)

    async def list_resources(_: Any, __: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=uri, name=uri.rpartition("/")[2], description=about, mime_type="application/json")
                for uri, about in _ABOUT.items()
            ]
        )

    async def read_resource(context: Any, request: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        value = await _resource(held(context), str(request.uri))
        text = json.dumps(value, ensure_ascii=False)
        contents = types.TextResourceContents(uri=str(request.uri), mime_type="application/json", text=text)
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(_: Any, __: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[types.Prompt(name=PROMPT, description=_ABOUT[TASK])])

    async def get_prompt(context: Any, request: types.GetPromptRequestParams) -> types.GetPromptResult:
        if request.name != PROMPT:
            raise MCPError(types.INVALID_PARAMS, f"no prompt {request.name[:80]!r}; there is {PROMPT!r}")
        opening = (await _episode(held(context))).messages[:2]
        return types.GetPromptResult(
            messages=[
                types.PromptMessage(role="user", content=types.TextContent(type="text", text=message.content or ""))
                for message in opening
            ]
        )

    return Server(
        "skillweave",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


_turns: "WeakKeyDictionary[HeldEpisode, asyncio.Lock]" = WeakKeyDictionary()


def _turn(held: HeldEpisode) -> asyncio.Lock:
    """What the calls of one client wait for: agents make the calls of a message at once, episodes take one by one."""
    return _turns.setdefault(held, asyncio.Lock())


async def _episode(held: HeldEpisode) -> Episode:
    try:
        return await held.current()
    except SkillweaveError as error:
        raise _refused(error) from error


async def _called(held: HeldEpisode, tool: str, arguments: Json) -> types.CallToolResult:
    """The result of a call: of a tool of the world its own, of words what the user answers."""
    try:
        async with _turn(held):
            step = await held.step(call_as_action(tool, arguments))
    except (ActionError, EpisodeError) as error:
        return _result(one_line(str(error)), is_error=True)
    except SkillweaveError as error:
        raise _refused(error) from error
    texts = [message.content or "" for message in step.observation]
    is_error = any(message.role == "tool" and _is_error(message.content or "") for message in step.observation)
    return _result(*texts, *([OVER] if step.done else []), is_error=is_error)


def _result(*texts: str, is_error: bool) -> types.CallToolResult:
    contents = [types.TextContent(type="text", text=text) for text in texts]
    return types.CallToolResult(content=[*contents], is_error=is_error)


def _is_error(text: str) -> bool:
    """Whether a result of the world says that the call failed."""
    if not text.startswith('{"error"'):
        return False
    try:
        return [*json.loads(text)] == ["error"]
    except ValueError:
        return False


async def _resource(held: HeldEpisode, uri: str) -> Json:
    if uri == TASK:
        episode = await _episode(held)
        return {
            "task_id": episode.task.id,
            "system_prompt": episode.messages[0].content,
            "first_message": episode.messages[1].content,
        }
    if uri != REWARD:
        raise MCPError(types.INVALID_PARAMS, f"no resource {uri[:80]!r}; there are {TASK} and {REWARD}")
    try:
        async with _turn(held):
            step = await held.finish()
    except SkillweaveError as error:
        raise _refused(error) from error
    kept = ("task_id", "passed", "checks", "stop_reason", "truncated")
    return {"reward": step.reward, "done": True, **{name: step.info[name] for name in kept if name in step.info}}


def _refused(error: SkillweaveError) -> MCPError:
    """The error of the protocol."""
    return MCPError(types.INTERNAL_ERROR, one_line(str(error)))
