"""The source of a dataset's tasks, and the sessions that execute their contract in this process."""

from collections.abc import Mapping
from functools import cache
from random import Random

from evaluator.text.facts import UserKnowledge
from rollout.parts import SourceContext
from rollout.task import Answer, Definition
from rollout.user.user import User, role_of
from rollout.world.speakers import user_config
from rollout.world.task import Opener, WorldTask
from skillweave.base.store import digest_text
from skillweave.llm.backends.backend import Backend, Sampling
from skillweave.llm.models import sampling_of
from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.world.dataset import Dataset
from skillweave.world.session import Session
from skillweave.world.tools import result_text


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
        seed: int = 0,
        personas: int = 1,
    ) -> None:
        """Create the source.

        Args:
            dataset: The dataset of the outputs folder.
            opener: What opens the session of a task.
            user: The backend that plays the user.
            sampling: Sampling of the user's requests; None for the defaults.
            seed: The run's seed, which draws the personas.
            personas: The number of users of each task; trial t has user t modulo this number.
        """
        self._dataset = dataset
        self._opener = opener
        self._user = user
        self._sampling = sampling or Sampling()
        self._seed = seed
        self._personas = personas
        self._policy = cache(dataset.policy)
        self._blueprint = cache(dataset.blueprint)

    @property
    def digest(self) -> str:
        """Digest of the files that trajectories depend on."""
        return self._dataset.digest

    def ids(self) -> list[str]:
        """Ids of all tasks, by world."""
        return list(self._dataset.tasks)

    def task(self, id: str, trial: int) -> WorldTask:
        """The task with the user of a trial."""
        record = self._dataset.tasks[id]
        blueprint = self._blueprint(record.world)
        key = f"{self._seed}/{id}#{trial}"
        role = role_of(record, blueprint.title, trial % self._personas, Random(f"{key}/role"))

        def user() -> User:
            texts = (role.opening, role.request, role.company)
            ledger = UserKnowledge(role.scenario, role.persona, now=role.now, texts=texts)
            return User(role, self._user, ledger, key=key, sampling=self._sampling)

        return WorldTask(
            record,
            digest=digest_text(record.model_dump_json()),
            policy=self._policy(record.world),
            role=role,
            user=user,
            opener=self._opener,
            companies=companies_of(blueprint),
        )

    async def close(self) -> None:
        """Close the worlds."""
        self._dataset.close()


def companies_of(blueprint: Blueprint) -> dict[str, str]:
    """Namespace of a company's tools -> the company's name, for a fused world; empty for a single world."""
    members = blueprint.members if isinstance(blueprint, FusedBlueprint) else []
    return {member.namespace: member.title for member in members}


def world_tasks(context: SourceContext) -> WorldTasks:
    """Create the source of a run.

    Raises:
        ArtifactError: There is no dataset.
    """
    config = context.config
    dataset = Dataset(context.outputs)
    return WorldTasks(
        dataset,
        opener=_opener(dataset, config.rollout.engine),
        user=context.user,
        sampling=sampling_of(user_config(config.rollout)),
        seed=config.seed,
        personas=config.rollout.personas,
    )


def _opener(dataset: Dataset, engine: str) -> Opener:
    if engine == "contract":
        return ContractOpener(dataset)
    from rollout.world.mcp_session import McpOpener

    return McpOpener(dataset)
