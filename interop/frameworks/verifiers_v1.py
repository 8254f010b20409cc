"""verifiers, from 0.4 on: a taskset and its environment, in which the model has the world's tools and meets its user.

The environment holds each episode in its own process. It offers the tools to the model's program over MCP, at an
address of the episode, and gives the model's words to the simulated user; the answers are the next turns.
"""

import secrets
import socket
from asyncio import Task, create_task
from collections.abc import Iterator
from typing import Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.exceptions import HTTPException

from interop.episode import Episode, Step
from interop.episode_tools import episode_server
from interop.frameworks.shared import BackgroundEpisode, missing, openings, options_from
from interop.words import ServedTool, served_tools
from skillweave.schema.task import Split

try:
    import verifiers.v1 as vf
except ModuleNotFoundError as error:
    raise missing("verifiers", "verifiers") from error

FIGURES = ("passed", "turns", "calls", "truncated")
"""Metrics of an episode."""
SHUT_DOWN_S = 2
"""Seconds that calls under way get at the end."""


class SkillweaveTaskData(vf.TaskData):  # type: ignore[misc]  # verifiers may not be installed
    """A task as it is written to traces."""

    world: str
    kind: str
    split: str


class SkillweaveTaskConfig(vf.TaskConfig):  # type: ignore[misc]
    """Settings of a task."""

    tools: vf.ToolsetConfig = vf.ToolsetConfig()
    """Where the tools are; the environment fills it in for each episode."""


class SkillweaveToolset(vf.Toolset[vf.ToolsetConfig, vf.State]):  # type: ignore[misc]
    """The tools of one episode, under their own names."""

    TOOL_PREFIX = None


class SkillweaveTask(vf.Task[SkillweaveTaskData, vf.State, SkillweaveTaskConfig]):  # type: ignore[misc]
    """A task: its prompt is the user's first message."""

    @classmethod
    def toolsets(cls, config: SkillweaveTaskConfig) -> list[Any]:
        """The tools of an episode; none while there is no episode."""
        return [SkillweaveToolset(config.tools)] if config.tools.url else []


class SkillweaveTasksetConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Which tasks, and who plays their users: `--env.taskset.outputs` and so on."""

    outputs: str = ""
    """The outputs folder of a run; empty: as SKILLWEAVE_OUTPUTS says."""
    user: str | None = None
    """`provider/model` of the simulated user; None: `offline/user`, which understands scripted agents alone."""
    split: Split | None = None
    compact: bool = False
    config: str | None = None
    """A configuration file, with the settings of the user's endpoint."""
    task: SkillweaveTaskConfig = SkillweaveTaskConfig()


class SkillweaveTaskset(vf.Taskset[SkillweaveTask, SkillweaveTasksetConfig]):  # type: ignore[misc]
    """The tasks of a dataset, in its order."""

    def load(self) -> Iterator[SkillweaveTask]:
        """Each task with its prompt. Raises ArtifactError or ConfigError."""
        factory = options_from(self.config).factory()
        for begun in openings(factory):
            of = factory.record(begun.task_id)
            system, user = begun.messages
            data = SkillweaveTaskData(
                id=of.id,
                name=of.id,
                prompt=user.content or "",
                system_prompt=system.content,
                world=of.world,
                kind=of.kind,
                split=of.split,
            )
            yield SkillweaveTask(data, self.config.task)


class SkillweaveEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """The environment's one agent; by default a plain chat program with the world's tools and nothing else."""

    agent: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"})


class SkillweaveConversationEnv(vf.Env[SkillweaveEnvConfig]):  # type: ignore[misc]
    """One conversation an episode. The reward is the evaluator's, of the episode as it stands when it ends."""

    async def start(self) -> None:
        """Begin to offer tools, on a port of this machine alone."""
        self._tools = EpisodeTools()
        await self._tools.start()

    async def stop(self) -> None:
        """End that."""
        if hasattr(self, "_tools"):
            await self._tools.stop()

    async def run(self, task: Any, agents: Any) -> None:
        """Hold one conversation. Raises EpisodeError if the user or the world fails."""
        episode = BackgroundEpisode(options_from(self.taskset.config).factory(), task.data.id)
        key, url = self._tools.offer(episode)
        try:
            begun = await episode.open()
            own = task.config.model_copy(update={"tools": vf.ToolsetConfig(url=url)})
            async with agents.agent.interaction(type(task)(task.data, own)) as interaction:
                segment = await interaction.turn()
                while not segment.terminated and not begun.done:
                    step = await episode.step(segment.last_reply)
                    if not step.done:
                        segment = await interaction.turn(_words(step))
            _record(interaction.trace, await episode.finish())
        finally:
            self._tools.withdraw(key)
            await episode.close()


def _words(step: Step) -> str:
    return "\n\n".join(message.content or "" for message in step.observation)


def _record(trace: Any, step: Step) -> None:
    trace.record_reward("reward", step.reward)
    trace.record_metrics({name: float(step.info.get(name) or 0) for name in FIGURES})  # type: ignore[arg-type]


class EpisodeTools:
    """Offers the tools of episodes over MCP, each at an address that nobody guesses."""

    def __init__(self) -> None:
        self._episodes: dict[str, BackgroundEpisode] = {}
        self._socket = socket.create_server(("127.0.0.1", 0))
        server = episode_server(self._episode, listed=_without_words)
        app = server.streamable_http_app(
            streamable_http_path="/{key}/mcp",
            json_response=True,
            stateless_http=True,
            # Containers reach it under another name than loopback's; the address is the secret.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=SHUT_DOWN_S)
        self._server = uvicorn.Server(config)
        self._serving: Task[None] | None = None

    async def start(self) -> None:
        """Begin to answer."""
        self._serving = create_task(self._server._serve(sockets=[self._socket]))

    async def stop(self) -> None:
        """Stop answering."""
        self._server.should_exit = True
        if self._serving is not None:
            await self._serving
        self._socket.close()

    def offer(self, episode: BackgroundEpisode) -> tuple[str, str]:
        """Offer an episode's tools. Returns the key with which to withdraw them, and their address."""
        key = secrets.token_urlsafe(16)
        self._episodes[key] = episode
        return key, f"http://127.0.0.1:{self._socket.getsockname()[1]}/{key}/mcp"

    def withdraw(self, key: str) -> None:
        """Stop offering an episode's tools."""
        del self._episodes[key]

    def _episode(self, context: Any) -> BackgroundEpisode:
        episode = self._episodes.get(context.request.path_params["key"])
        if episode is None:
            raise HTTPException(404)
        return episode


def _without_words(episode: Episode) -> list[ServedTool]:
    return served_tools(episode.tools)[:-1]


__all__ = ["SkillweaveConversationEnv", "SkillweaveTaskset"]
