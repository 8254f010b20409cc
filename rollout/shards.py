"""Holding a run's conversations: in this process, or in shards on workers: further processes, or those of a cluster.

A shard is some of the conversations; one worker holds them, on an event loop of its own. It writes each record to the
shard's own file in the rollouts folder, and the command takes the records over from there: it alone writes the files
of trajectories. If a worker dies, another one goes on behind the last record in the shard's file, so nothing is lost
and nothing is held twice. What a killed command left there, the next one takes over.

The workers share what a run may use: each has its part of the slots and of the endpoints' rates. The budget is one
account in the rollouts folder. Machines cannot share that, so with `execution.address` each shard has an equal part of
what is left.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from rollout.agent import AgentSettings
from rollout.conversation import RolloutLimits
from rollout.dispatcher import Width
from rollout.folder import RolloutFolder, RunFigures
from rollout.offline.user import offline_user
from rollout.parts import SourceContext, made, part, said
from rollout.task import RolloutTask, TaskSource
from rollout.trajectory import RolloutSettings, skill_text
from rollout.world.source import BackendFactory, is_scripted, noted_settings, require_user, user_config
from skillweave.base.errors import ConfigError, ProviderError, SkillweaveError, StopError
from skillweave.base.foreign import FOREIGN_ERRORS, error_in_words, is_interrupt
from skillweave.base.text import UnreadableTextError, read_user_text
from skillweave.config.llm import AuthorConfig, SpeakerConfig
from skillweave.config.sections import Config, RolloutConfig
from skillweave.llm.backends.backend import Backend
from skillweave.llm.budget import SharedBudget, spending
from skillweave.llm.connections import check_authors
from skillweave.llm.ledger import Ledger
from skillweave.llm.models import is_own_provider, sampling_of, split_name
from skillweave.schema.trajectory import TrajectoryRecord
from skillweave.workers import DEATHS, opened_workers
from skillweave.world.dataset import Dataset

HOPELESS = 20
"""If the first conversations, this many, all end with an error of the provider, the endpoint is down or misnamed."""
SHARDS_EACH = 4
"""Shards for each worker, so that the last ones end at about the same time."""
MOST_IN_SHARD = 500
TRIES = DEATHS + 1
"""How often a shard may be begun."""
ROUNDED_DOWN = 1 - 1e-9
"""So that all parts together are no more than the whole."""
LOOK_EVERY_S = 0.25
"""Seconds between two looks at the shards' files."""

Pair = tuple[str, int]
"""A task's id and the number of the trial."""


class Servers(NamedTuple):
    """Base URLs of the servers that the command started; None: the configured ones."""

    agent: str | None = None
    user: str | None = None


class Cast(NamedTuple):
    """Who plays, in which tasks."""

    agent: Backend
    source: TaskSource
    ledger: Ledger


@dataclass(frozen=True)
class Sink:
    """Where finished records go."""

    append: Callable[[TrajectoryRecord], None]
    tally: RunFigures
    started: Callable[[], None] = lambda: None
    ended: Callable[[RunFigures], None] = lambda tally: None

    def write(self, record: TrajectoryRecord) -> None:
        """Keep a record and count it. Raises ProviderError if all first conversations failed for the provider."""
        self.append(record)
        self.count(record)

    def count(self, record: TrajectoryRecord) -> None:
        """Count a record that is kept. Raises as `write` does."""
        self.tally.add(record)
        self.ended(self.tally)
        if self.tally.done == self.tally.errors["provider"] == HOPELESS:
            raise ProviderError(
                f"the first {HOPELESS} conversations all ended with an error of a provider; the first: "
                f"{self.tally.first_errors['provider']}; run the same command again when it answers"
            )


@asynccontextmanager
async def servers_of(config: Config, rollouts: Path) -> AsyncIterator[Servers]:
    """Start the servers that the configuration asks for. Raises ConfigError if other machines would need them."""
    rollout = config.rollout
    _refuse_serve_elsewhere(config)
    async with AsyncExitStack() as stack:
        agent = await _served(stack, rollout.agent, rollouts, "agent")
        # A user that nobody named is the agent's own model, on the agent's server.
        own = rollout.user is not None or rollout.parts.backend is not None
        yield Servers(agent, await _served(stack, user_config(rollout), rollouts, "user") if own else agent)


def starts_servers(config: Config) -> bool:
    """Whether a run starts servers of its own."""
    return any(speaker.serve for speaker in (config.rollout.agent, user_config(config.rollout)))


def _refuse_serve_elsewhere(config: Config) -> None:
    if config.execution.address is not None and starts_servers(config):
        raise ConfigError("`serve` starts a server for this machine alone; with execution.address name its `base_url`")


async def _served(stack: AsyncExitStack, speaker: SpeakerConfig, rollouts: Path, role: str) -> str | None:
    """Start a speaker's own server; its address, or None if the speaker needs no server."""
    serve = speaker.serve
    if serve is None:
        return None
    from skillweave.llm.backends.vllm import VllmServer

    server = VllmServer(
        split_name(speaker.model)[1],
        log=rollouts / "logs" / f"vllm-{role}.log",
        tool_parser=serve.tool_call_parser,
        reasoning_parser=serve.reasoning_parser,
        arguments=serve.arguments,
        command=serve.command,
        port=serve.port or None,
        start_limit_s=serve.start_timeout_s,
        progress=lambda line: print(line, flush=True),
    )
    return (await stack.enter_async_context(server)).base_url


@asynccontextmanager
async def opened_cast(config: Config, rollouts: Path | None, servers: Servers) -> AsyncIterator[Cast]:
    """The agent, and the task source with its user. Runs on the folder share a budget; None: the cast has its own."""
    speakers = BackendFactory(config, lambda: Dataset(Path(config.outputs_dir)), rollouts)
    async with AsyncExitStack() as stack:
        agent = speakers.agent(servers.agent)
        stack.push_async_callback(agent.close)
        user = speakers.user(servers.user)
        stack.push_async_callback(user.close)
        context = SourceContext(config, Path(config.outputs_dir), user)
        source: TaskSource = made("tasks", config.rollout.parts.tasks, context)
        stack.push_async_callback(let_go, source)
        yield Cast(agent, source, speakers.ledger)


class DrySource(NamedTuple):
    """The task source of a run that is not held."""

    source: TaskSource
    missing_keys: list[str]
    """Environment variables that have to hold a key before the run."""


def open_source(config: Config, *, has_model: bool = True) -> DrySource:
    """The task source alone, for what holds no conversation. Whoever would play is made once, and no key is needed.

    Args:
        config: The configuration.
        has_model: Whether the agent's model is there already. A class of the user's own may read it when it is made.

    Raises:
        ConfigError: As a run's: a part, an agent or a user does not exist or cannot be made, or a budget has no price.
    """
    rollout = config.rollout
    _refuse_serve_elsewhere(config)
    speakers = BackendFactory(config, lambda: Dataset(Path(config.outputs_dir)))
    asked: list[AuthorConfig] = []
    if is_scripted(rollout.agent) or rollout.parts.backend is not None:
        speakers.agent()
    elif has_model or not is_own_provider(split_name(rollout.agent.model)[0]):
        asked.append(rollout.agent)
    require_user(rollout)
    if is_scripted(user_config(rollout)):
        speakers.user()
    else:
        asked.append(user_config(rollout))
    missing_keys = check_authors(config.llm, asked)
    context = SourceContext(config, Path(config.outputs_dir), offline_user(config.seed))
    source: TaskSource = made("tasks", rollout.parts.tasks, context)
    _make_runner(config, context.user, "", 1)
    return DrySource(source, missing_keys)


async def let_go(source: TaskSource) -> None:
    """Close the source. All is written by now, so an error of a user's own source must not end the run."""
    try:
        await source.close()
    except FOREIGN_ERRORS as error:
        if is_interrupt(error):
            raise


def is_held_here(config: Config) -> bool:
    """Whether this process alone holds a run's conversations."""
    return config.execution.runner == "threads" and config.rollout.processes == 1


async def hold_here(config: Config, cast: Cast, pairs: Sequence[Pair], sink: Sink) -> None:
    """Hold conversations in this process, at most as many at once in each stage as the configuration says.

    Raises:
        StopError: The budget is spent, or an endpoint is down.
    """
    runner = _make_runner(config, cast.agent, cast.source.digest, len(pairs))
    try:
        await runner.stream(_batch(cast.source, pairs, sink), sink.write)
    except (SkillweaveError, OSError):
        raise
    except FOREIGN_ERRORS as error:  # of a user's own dispatcher, trajectory or runner
        if is_interrupt(error):
            raise
        raise SkillweaveError(f"the run broke off: {said(error)}; what was finished is kept") from error


def _make_runner(config: Config, agent: Backend, digest: str, count: int) -> Any:
    """Make the runner for so many conversations, with all parts that it needs. Raises ConfigError."""
    rollout = config.rollout
    parts, asked = rollout.parts, rollout.max_parallel_agents
    width = Width(*(min(wide, max(count, 1)) for wide in (asked.initialize, asked.generate, asked.evaluate)))
    setting = RolloutSettings(
        backend=agent,
        dataset=digest,
        limits=RolloutLimits(max_turns=rollout.max_turns, max_calls=rollout.max_calls, timeout_s=rollout.timeout_s),
        agent=AgentSettings(
            sampling=sampling_of(rollout.agent),
            replay_reasoning=rollout.agent.replay_reasoning,
            noted=noted_settings(rollout.agent),
        ),
        agent_class=part("agent", parts.agent),
        skill=skill_of(rollout),
    )
    dispatcher = made("dispatcher", parts.dispatcher, width)
    trajectory = part("trajectory", parts.trajectory)
    return made("runner", parts.runner, setting, dispatcher, seed=config.seed, trajectory_class=trajectory)


def skill_of(rollout: RolloutConfig) -> str:
    """The text of `rollout.skill`; empty if there is none. Raises ConfigError if the file cannot be read."""
    if rollout.skill is None:
        return ""
    try:
        return skill_text(read_user_text(Path(rollout.skill)))
    except UnreadableTextError as error:
        raise ConfigError(f"rollout.skill {rollout.skill!r} cannot be read: {error}; name a Markdown file") from error


def _batch(source: TaskSource, pairs: Sequence[Pair], sink: Sink) -> Iterator[tuple[RolloutTask, int]]:
    """The tasks one by one. A task that cannot be read is counted and left out."""
    for id, trial in pairs:
        try:
            task = source.task(id, trial)
        except FOREIGN_ERRORS as error:
            if is_interrupt(error):
                raise
            reason = str(error) if isinstance(error, SkillweaveError) else error_in_words(error)
            sink.tally.unreadable.append(f"{id}#{trial}: {reason}")
            continue
        sink.started()
        yield task, trial


@dataclass(frozen=True)
class Shard:
    """Conversations that one worker holds."""

    config: Config
    """The run's, with this worker's part of what the workers share."""
    rollouts: Path
    pairs: Sequence[Pair]
    name: str
    servers: Servers
    part_usd: float | None
    """What it may spend each time that it is tried; None: the account in the rollouts folder says that."""


class ShardEnd(NamedTuple):
    """How a shard ended."""

    unreadable: Sequence[str] = ()
    stopped: str | None = None
    """Why not all of it was held."""
    cost_usd: float = 0.0
    lost_usd: float = 0.0
    """The most that it can have cost beside that."""
    unpriced: int = 0


def hold_shard(shard: Shard) -> ShardEnd:
    """Hold the conversations of a shard that its file does not have yet. Called on a worker."""
    return asyncio.run(_hold_shard(shard))


async def _hold_shard(shard: Shard) -> ShardEnd:
    folder, tally, stopped = RolloutFolder(shard.rollouts), RunFigures(), None
    done = folder.begin_shard(shard.name)
    left = [pair for pair in shard.pairs if f"{pair[0]}#{pair[1]}" not in (done or ())]
    account = shard.rollouts if shard.part_usd is None else None
    async with opened_cast(shard.config, account, shard.servers) as cast:
        try:
            with folder.temporary_files():
                append = partial(folder.append_to_shard, shard.name)
                await hold_here(shard.config, cast, left, Sink(append, tally))
        except StopError as error:
            stopped = str(error)
        spent = cast.ledger.total()
    # Nobody knows what a worker spent that died over the shard.
    lost = spent.lost_usd + (0.0 if done is None else shard.part_usd or 0.0)
    return ShardEnd(tally.unreadable, stopped, spent.cost_usd, lost, spent.unpriced)


async def hold_in_shards(
    config: Config, folder: RolloutFolder, pairs: Sequence[Pair], servers: Servers, sink: Sink
) -> None:
    """Hold conversations on workers.

    Raises:
        StopError: The budget is spent, an endpoint is down, or workers died again and again.
    """
    if not pairs:
        return
    stopped: list[str] = []
    async with _all_shards(config, folder, pairs, servers) as (shards, ended):
        with opened_workers(config.execution) as workers, workers.executor(_count(config)) as pool:
            under_way = {pool.submit(hold_shard, shard): shard for shard in shards}
            while under_way:
                await asyncio.sleep(LOOK_EVERY_S)
                ends = [future for future in under_way if future.done()]
                folder.take_over(sink.count)
                for future in ends:
                    end = _end_of(future, under_way.pop(future))
                    sink.tally.unreadable += end.unreadable
                    stopped += [end.stopped] if end.stopped is not None else []
                    ended.append(end)
    folder.clear_shards()
    if stopped:
        raise StopError(stopped[0])


def _count(config: Config) -> int:
    """How many workers there are."""
    return config.rollout.processes if config.execution.runner == "threads" else config.execution.workers


def _shard_size(config: Config, count: int) -> int:
    """How many of so many conversations a shard has. Each ends with slots that nobody fills, and what a worker has not
    written may have to be paid for again: processes of this machine have one shard each, and seldom die."""
    if config.execution.runner == "threads":
        return math.ceil(count / _count(config))
    return min(MOST_IN_SHARD, math.ceil(count / (_count(config) * SHARDS_EACH)))


def _end_of(future: "Future[ShardEnd]", shard: Shard) -> ShardEnd:
    try:
        return future.result()
    except BrokenExecutor as error:
        most = (shard.part_usd or 0.0) * TRIES
        return ShardEnd(stopped=f"conversations were lost with their worker: {error}", lost_usd=most)


@asynccontextmanager
async def _all_shards(
    config: Config, folder: RolloutFolder, pairs: Sequence[Pair], servers: Servers
) -> AsyncIterator[tuple[list[Shard], list[ShardEnd]]]:
    """The shards, and a list for how they ended. What they may spend on machines that share no account is reserved
    before, and what they did spend is booked after."""
    workers, root = _count(config), folder.store.root
    size = _shard_size(config, len(pairs))
    starts = range(0, len(pairs), size)
    budget, llm, ended = config.llm.budget_usd, config.llm.shared_by(workers), list[ShardEnd]()
    account, part, reserved = SharedBudget(root, budget), None, None
    if budget is not None and config.execution.address is not None:
        before = spending(root)
        left = budget - (before.spent + before.lost if before else 0.0)
        part = max(0.0, left) * ROUNDED_DOWN / (len(starts) * TRIES)
        reserved = await account.reserve(part * len(starts) * TRIES)
        llm = llm.model_copy(update={"budget_usd": part})
    rollout = config.rollout.shared_by(workers)
    config = config.model_copy(update={"llm": llm, "rollout": rollout})
    run = token_hex(4)
    try:
        yield (
            [
                Shard(config, root, pairs[start : start + size], f"{run}-{number:05}", servers, part)
                for number, start in enumerate(starts)
            ],
            ended,
        )
    finally:
        if reserved is not None:
            # Shards that did not end may have spent all that they had.
            open_ended = (part or 0.0) * TRIES * (len(starts) - len(ended))
            account.book(
                reserved,
                cost_usd=sum(end.cost_usd for end in ended),
                lost_usd=sum(end.lost_usd for end in ended) + open_ended,
                unpriced=sum(end.unpriced for end in ended),
            )
        await account.close()
