"""The source of a dataset's tasks: who plays agent and user, and the sessions that tasks run in."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from random import Random
from types import MappingProxyType

from evaluator.text.facts import UserKnowledge
from rollout.parts import SourceContext, blamed, part
from rollout.task import Answer, Definition
from rollout.user import User, role_of
from rollout.world.task import Opener, WorldTask
from skillweave.base.errors import ConfigError
from skillweave.base.store import digest_text
from skillweave.config.llm import AuthorConfig, SpeakerConfig
from skillweave.config.sections import Config, RolloutConfig
from skillweave.llm.backends.backend import Backend, Sampling
from skillweave.llm.connections import Connections
from skillweave.llm.ledger import FREE, Ledger
from skillweave.llm.models import AuthorSpec, sampling_of, split_name
from skillweave.llm.wrappers import MeteredBackend
from skillweave.schema.record import Json
from skillweave.schema.task import Split, Task
from skillweave.world.dataset import Dataset
from skillweave.world.instruction import instruction
from skillweave.world.session import Session
from skillweave.world.tools import result_text

SAMPLING = ("temperature", "top_p", "max_tokens", "seed")
"""The agent's settings that a user of the same model does not inherit."""
ONLY_SCRIPTED = "offline/user knows the phrases of the scripted agents, and does not understand models"
"""The warning at the start of a run that combines this user with a model."""


def user_config(rollout: RolloutConfig) -> SpeakerConfig:
    """The settings of the user.

    If the configuration names a model for the user, that model plays it. Otherwise the agent's model does, with default
    sampling and the settings under `rollout.user`. Scripted agents and backends of one's own get `offline/user`.
    """
    user = rollout.user
    if user is not None and is_user_named(rollout):
        return user
    if is_scripted(rollout.agent) or rollout.parts.backend is not None:
        return SpeakerConfig(model="offline/user")
    own = {**dict.fromkeys(SAMPLING), "replay_reasoning": False, "serve": None}
    settings = {name: getattr(user, name) for name in user.model_fields_set} if user is not None else {}
    return rollout.agent.model_copy(update={**own, **settings})


def is_user_named(rollout: RolloutConfig) -> bool:
    """Whether the configuration says who plays the user."""
    return rollout.user is not None and "model" in rollout.user.model_fields_set


def require_user(rollout: RolloutConfig) -> None:
    """Raise ConfigError if nobody is named to play the user, and it is not sure that the agent can."""
    model = rollout.agent.model
    if is_user_named(rollout) or rollout.parts.tasks != "world" or rollout.parts.backend is not None:
        return
    if ":" in split_name(model)[0]:
        # Such a class may be no model at all. A reader that answers all alike echoed itself for forty turns.
        raise ConfigError(
            f"the agent {model!r} is a class of your own, and nothing says who plays the user; name the user with "
            f"--user: {model} if it can play one, or a model such as openai/gpt-5"
        )


def noted_settings(speaker: SpeakerConfig) -> dict[str, Json]:
    """What is set beside the sampling that changes answers, for the record of who took part."""
    effort: dict[str, Json] = {"reasoning_effort": speaker.reasoning_effort} if speaker.reasoning_effort else {}
    return effort | ({"extra": {**speaker.extra}} if speaker.extra else {})


def is_scripted(speaker: SpeakerConfig) -> bool:
    """Whether the speaker is scripted, without a model."""
    return split_name(speaker.model)[0] == "offline"


def user_warning(rollout: RolloutConfig) -> str | None:
    """The warning for a user that cannot understand its agent; None if it can."""
    is_model = rollout.parts.backend is not None or not is_scripted(rollout.agent)
    plays = rollout.parts.tasks == "world" and is_scripted(user_config(rollout))
    return ONLY_SCRIPTED if is_model and plays else None


def reasoning_warnings(rollout: RolloutConfig) -> list[str]:
    """A line for each `replay_reasoning` that has no effect."""
    why: dict[str, str] = {}
    agent = rollout.agent
    if agent.replay_reasoning and rollout.parts.backend is None:
        provider, model = split_name(agent.model)
        api = AuthorSpec(provider, model, base_url=agent.base_url, api=agent.api)
        if rollout.parts.agent == "react":
            why["agent"] = "the react agent shows a model the thoughts that it wrote, and no other reasoning"
        elif provider == "offline":
            why["agent"] = f"{agent.model!r} does not reason"
        elif provider == "anthropic" or (provider == "openai" and api.openai_api == "responses"):
            why["agent"] = f"{agent.model!r} gets its reasoning back in any case, as its endpoint signed it"
        elif provider == "openai" and api.is_home:
            why["agent"] = "OpenAI's chat API neither gives nor takes reasoning; set api: responses"
    if user_config(rollout).replay_reasoning:
        why["user"] = "a simulated user is shown what it said, and no reasoning"
    return [f"rollout.{role}.replay_reasoning has no effect: {reason}" for role, reason in why.items()]


class BackendFactory:
    """Creates the backends of agent and user."""

    def __init__(self, config: Config, dataset: Callable[[], Dataset], folder: Path | None = None) -> None:
        """Create the factory.

        Args:
            config: The configuration of the run.
            dataset: Opens the dataset; called only for agents that know the golden calls.
            folder: The rollouts folder; all runs on it share the budget.
        """
        self._config = config
        self._dataset = dataset
        self.ledger = Ledger()
        # No cache: each trial must be sampled anew.
        self._connections = Connections(
            config.llm, ledger=self.ledger, folder=folder, slots=config.rollout.max_concurrency, caches=False
        )

    def agent(self, base_url: str | None = None) -> Backend:
        """Create the agent's backend.

        Args:
            base_url: The address of the server that the run started; None for the configured address.

        Raises:
            ConfigError: The model or the part is unknown, or does not fit `rollout.parts.agent`.
        """
        speaker, own = self._config.rollout.agent, self._config.rollout.parts.backend
        if own is not None:
            with blamed("backend", own):
                return self._connections.metered(part("backend", own)(self._config))
        provider, name = split_name(speaker.model)
        if provider == "offline":
            if self._config.rollout.parts.agent == "react":
                raise ConfigError(f"{speaker.model!r} calls its tools natively; leave rollout.parts.agent at 'native'")
            from rollout.offline.agents import offline_agent

            return MeteredBackend(offline_agent(name, self._dataset(), self._config.seed), self.ledger, FREE)
        return self._connected(speaker, base_url, record_tokens=self._config.rollout.record_tokens)

    def user(self, base_url: str | None = None) -> Backend:
        """Create the user's backend.

        Args:
            base_url: The address of the server that the run started; None for the configured address.

        Raises:
            ConfigError: The user is unknown.
        """
        require_user(self._config.rollout)
        speaker = user_config(self._config.rollout)
        provider, name = split_name(speaker.model)
        if provider != "offline":
            return self._connected(speaker, base_url)
        if name != "user":
            raise ConfigError(f"unknown user {speaker.model!r}; the built-in one is 'offline/user'")
        from rollout.offline.user import offline_user

        return MeteredBackend(offline_user(self._config.seed), self.ledger, FREE)

    def _connected(self, speaker: AuthorConfig, base_url: str | None, *, record_tokens: bool = False) -> Backend:
        return self._connections.connect(speaker, base_url=base_url, record_tokens=record_tokens)


class ContractOpener:
    """Opens sessions that execute the contract in this process."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    async def __call__(self, task: Task) -> "HeldContract":
        """Open the session of a task.

        Raises:
            WorldError, ArtifactError: It cannot be opened.
        """
        return HeldContract(self._dataset.world(task).session(task))


class HeldContract:
    """A contract session, as a conversation holds it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._finished = False

    @property
    def tools(self) -> list[Definition]:
        """The tools that the session offers."""
        return self._session.tools

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Answer:
        """Call a tool. A refused call is answered with an error."""
        result = self._session.call(tool, arguments)
        return Answer(result_text(result), result.ok, "transfer" if self._session.transfer is not None else None)

    async def finish(self) -> Session:
        """The session itself, for the score; the caller closes it."""
        self._finished = True
        return self._session

    async def close(self) -> None:
        """Close the session, unless `finish` has passed it on."""
        if not self._finished:
            self._session.close()
            self._finished = True


class WorldTasks:
    """The tasks of an outputs folder."""

    def __init__(
        self,
        dataset: Dataset,
        *,
        opener: Opener,
        user: Backend,
        sampling: Sampling | None = None,
        noted: Mapping[str, Json] = MappingProxyType({}),
        seed: int = 0,
        personas: int = 1,
        compact: bool = False,
    ) -> None:
        """Create the source.

        Args:
            dataset: The dataset of the outputs folder.
            opener: What opens the session of a task.
            user: The backend that plays the user.
            sampling: Sampling of the user's requests; None for the defaults.
            noted: What else was set that changes the user's answers, for the record.
            seed: The run's seed, which draws the personas.
            personas: The number of users of each task; trial t has user t modulo this number.
            compact: Give compact system prompts.
        """
        self._dataset = dataset
        self._opener = opener
        self._user = user
        self._sampling = sampling or Sampling()
        self._noted = noted
        self._seed = seed
        self._personas = personas
        self._compact = compact
        self._policy = cache(dataset.policy)
        self._blueprint = cache(dataset.blueprint)

    @property
    def dataset(self) -> Dataset:
        """The dataset of the tasks."""
        return self._dataset

    @property
    def digest(self) -> str:
        """Digest of the files that trajectories depend on."""
        return self._dataset.digest

    def ids(self, split: Split | None = None) -> list[str]:
        """Ids of all tasks, or of those of a split, by world."""
        tasks = self._dataset.tasks
        return [*tasks] if split is None else [id for id, task in tasks.items() if task.split == split]

    def record(self, id: str) -> Task:
        """The record of a task. Raises ArtifactError if there is none of that id."""
        return self._dataset.tasks[id]

    def task(self, id: str, trial: int) -> WorldTask:
        """The task with the user of a trial."""
        record = self._dataset.tasks[id]
        blueprint = self._blueprint(record.world)
        key = f"{self._seed}/{id}#{trial}"
        role = role_of(record, blueprint.title, trial % self._personas, Random(f"{key}/role"))

        def user() -> User:
            texts = (role.opening, role.request, role.company)
            ledger = UserKnowledge(role.scenario, role.persona, now=role.now, texts=texts)
            return User(role, self._user, ledger, key=key, sampling=self._sampling, noted=self._noted)

        return WorldTask(
            record,
            digest=digest_text(record.model_dump_json()),
            prompt=partial(instruction, record, self._policy(record.world), blueprint, compact=self._compact),
            role=role,
            user=user,
            opener=self._opener,
        )

    async def check(self, ids: Iterable[str]) -> None:
        """Find out, before conversations of these tasks begin, whether their servers offer what the contracts do.

        Raises:
            WorldError: One does not.
        """
        if isinstance(self._opener, ContractOpener):
            return
        from rollout.world.mcp_session import McpOpener

        if isinstance(self._opener, McpOpener):
            await self._opener.check(self._dataset.tasks[id] for id in ids)

    async def close(self) -> None:
        """Close the worlds."""
        self._dataset.close()


def world_tasks(context: SourceContext) -> WorldTasks:
    """Create the source of a run.

    Raises:
        ArtifactError: There is no dataset.
    """
    config, user = context.config, user_config(context.config.rollout)
    dataset = Dataset(context.outputs)
    return WorldTasks(
        dataset,
        opener=_opener(dataset, config.rollout.engine),
        user=context.user,
        sampling=sampling_of(user),
        noted=noted_settings(user),
        seed=config.seed,
        personas=config.rollout.personas,
        compact=config.rollout.prompt == "compact",
    )


def _opener(dataset: Dataset, engine: str) -> Opener:
    if engine == "contract":
        return ContractOpener(dataset)
    from rollout.world.mcp_session import McpOpener

    return McpOpener(dataset)
