"""`run`: hold the conversations that are owed, under the folder's lock, and report the result."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from rollout.cli.options import RolloutOptions
from rollout.cli.plan import owed, run_record, selected, settings_of
from rollout.cli.report import Display, display, show_report
from rollout.dispatcher import Width, Written
from rollout.folder import RolloutFolder, RunFigures
from rollout.parts import SourceContext, blamed, made, part, said
from rollout.task import RolloutTask, TaskSource
from rollout.trajectory import RolloutLimits, RolloutSettings
from rollout.world.speakers import BackendFactory, user_config, user_warning
from skillweave.base.errors import ProviderError, SkillweaveError, StopError
from skillweave.base.store import locked
from skillweave.config.llm import SpeakerConfig
from skillweave.config.sections import Config
from skillweave.llm.backends.backend import Backend
from skillweave.llm.models import split_name
from skillweave.schema.trajectory import TrajectoryRecord
from skillweave.world.dataset import Dataset

HOPELESS = 20
"""If the first conversations, this many, all end with an error of the provider, the endpoint is down or misnamed."""


class _Cast(NamedTuple):
    agent: Backend
    source: TaskSource


def run_rollouts(options: RolloutOptions) -> int:
    """Hold the conversations that the options request.

    Returns:
        The exit status: 1 if trajectories are owed or lost to defects of the dataset.

    Raises:
        ConfigError: The configuration is wrong, or the folder belongs to another run.
        ArtifactError: The dataset or the folder cannot be read.
    """
    config = options.load()
    folder = RolloutFolder(options.rollouts)
    folder.store.refuse_other_than_folder()
    return asyncio.run(_run(config, options, folder))


async def _run(config: Config, options: RolloutOptions, folder: RolloutFolder) -> int:
    speakers = BackendFactory(config, lambda: Dataset(Path(config.outputs_dir)), options.rollouts)
    async with _cast(config, speakers, options) as cast:
        with blamed("tasks", config.rollout.parts.tasks):
            ids = selected(cast.source, options.tasks, options.limit)
            record = run_record(config, cast.source, options.tasks, options.limit)
        folder.store.prepare()
        with locked(folder.store), ExitStack() as temporary:
            folder.store.clean()
            temporary.enter_context(folder.temporary_files())
            folder.fix(record)
            held = folder.held()
            pairs = list(owed(ids, config.rollout.trials, held.done))
            tally, spent = RunFigures(), None
            with display(len(pairs), speakers.ledger) as shown:
                batch = _batch(cast.source, pairs, tally, shown)
                try:
                    await _stream(config, cast, batch, len(pairs), _writer(folder, tally, shown))
                except StopError as error:
                    spent = error
        return show_report(config, options, held, len(pairs), tally, spent)


async def _stream(
    config: Config, cast: _Cast, batch: Iterator[tuple[RolloutTask, int]], count: int, write: Written
) -> None:
    """Hold the conversations of a batch, with at most `count` workers for each stage."""
    rollout = config.rollout
    parts, asked = rollout.parts, rollout.max_parallel_agents
    width = Width(*(min(wide, max(count, 1)) for wide in (asked.initialize, asked.generate, asked.evaluate)))
    setting = RolloutSettings(
        backend=cast.agent,
        dataset=cast.source.digest,
        limits=RolloutLimits(max_turns=rollout.max_turns, max_calls=rollout.max_calls, timeout_s=rollout.timeout_s),
        agent=settings_of(config),
        agent_class=part("agent", parts.agent),
    )
    dispatcher = made("dispatcher", parts.dispatcher, width)
    trajectory = part("trajectory", parts.trajectory)
    runner = made("runner", parts.runner, setting, dispatcher, seed=config.seed, trajectory_class=trajectory)
    try:
        await runner.stream(batch, write)
    except (SkillweaveError, OSError):
        raise
    except Exception as error:  # of a user's own dispatcher, trajectory or runner
        raise SkillweaveError(f"the run broke off: {said(error)}; what was finished is kept") from error


def _batch(
    source: TaskSource, pairs: list[tuple[str, int]], tally: RunFigures, shown: Display
) -> Iterator[tuple[RolloutTask, int]]:
    """The tasks one by one. A task that cannot be read is counted and left out."""
    for id, trial in pairs:
        try:
            task = source.task(id, trial)
        except Exception as error:
            reason = str(error) if isinstance(error, SkillweaveError) else f"{type(error).__name__}: {error}"
            tally.unreadable.append(f"{id}#{trial}: {reason}")
            continue
        shown.started()
        yield task, trial


def _writer(folder: RolloutFolder, tally: RunFigures, shown: Display) -> Written:
    def write(record: TrajectoryRecord) -> None:
        folder.append(record)
        tally.add(record)
        shown.ended(tally)
        if tally.done == tally.errors["provider"] == HOPELESS:
            raise ProviderError(
                f"the first {HOPELESS} conversations all ended with an error of a provider; the first: "
                f"{tally.first_errors['provider']}; run the same command again when it answers"
            )

    return write


@asynccontextmanager
async def _cast(config: Config, speakers: BackendFactory, options: RolloutOptions) -> AsyncIterator[_Cast]:
    """The agent and the task source, with the user and the servers that the run starts for them."""
    rollout = config.rollout
    async with AsyncExitStack() as stack:
        warning = user_warning(rollout)
        if warning:
            print(warning, flush=True)
        agents_server = await _served(stack, rollout.agent, options.rollouts, "agent")
        agent = speakers.agent(agents_server)
        stack.push_async_callback(agent.close)
        # A user that nobody named is the agent's own model, on the agent's server.
        own = rollout.user is not None or rollout.parts.backend is not None
        users_server = await _served(stack, user_config(rollout), options.rollouts, "user") if own else agents_server
        user = speakers.user(users_server)
        stack.push_async_callback(user.close)
        source: TaskSource = made("tasks", rollout.parts.tasks, SourceContext(config, Path(config.outputs_dir), user))
        stack.push_async_callback(_let_go, source)
        yield _Cast(agent, source)


async def _let_go(source: TaskSource) -> None:
    """Close the source. All is written by now, so an error of a user's own source must not end the run."""
    with suppress(Exception):
        await source.close()


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
