"""The source of a dataset's tasks, and the contract session that they run in."""

from collections.abc import Mapping
from functools import cache
from random import Random

from evaluator.text.facts import UserKnowledge
from rollout.parts import SourceContext
from rollout.task import Answer, Definition
from rollout.user.user import User, role_of
from rollout.world.speakers import user_config
from rollout.world.task import Opener, WorldTask
from skillweave.base.digest import digest_text
from skillweave.llm.backends.backend import Backend, Sampling
from skillweave.llm.models import sampling_of
from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.world.dataset import Dataset
from skillweave.world.session import Session
from skillweave.world.tools import result_text


class ContractOpener:
    """Opens sessions of a dataset's tasks in process."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    async def __call__(self, task: Task) -> "HeldContract":
        """The session of a task. WorldError, ArtifactError where it cannot be opened."""
        return HeldContract(self._dataset.world(task).session(task))


class HeldContract:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._finished = False

    @property
    def tools(self) -> list[Definition]:
        """What is offered."""
        return self._session.tools

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Answer:
        """Call a tool."""
        result = self._session.call(tool, arguments)
        return Answer(result_text(result), result.ok, "transfer" if self._session.transfer is not None else None)

    async def finish(self) -> Session:
        """The session itself."""
        self._finished = True
        return self._session

    async def close(self) -> None:
        """Give it up, unless it is finished."""
        if not self._finished:
            self._session.close()
            self._finished = True


class WorldTasks:
    """All tasks of an outputs folder."""

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
        """`personas` is how many users a task has: trial t is played by the one of number t modulo that."""
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
        """Of the files that trajectories depend on."""
        return self._dataset.digest

    def ids(self) -> list[str]:
        """Ids of all tasks, by world."""
        return list(self._dataset.tasks)

    def task(self, id: str, trial: int) -> WorldTask:
        """That task with the user of that trial."""
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
        """Give up the worlds."""
        self._dataset.close()


def companies_of(blueprint: Blueprint) -> dict[str, str]:
    """Of a fused world: the namespace of a company's tools -> its name. Empty for a world of one company."""
    members = blueprint.members if isinstance(blueprint, FusedBlueprint) else []
    return {member.namespace: member.title for member in members}


def world_tasks(context: SourceContext) -> WorldTasks:
    """The source as a run makes it. Raises ArtifactError where there is no dataset."""
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
