"""The source of world tasks: the tasks of a dataset, each with its policy, its user and its opener."""

from functools import cache
from random import Random

from evaluator.ledger import Ledger
from rollout.parts import SourceContext
from rollout.speakers import user_of
from rollout.user.role import role_of
from rollout.user.user import User
from rollout.world.contract_session import ContractOpener
from rollout.world.task import Opener, WorldTask
from skillweave.dataset import Dataset
from skillweave.digest import digest_text
from skillweave.llm.backend import Backend
from skillweave.llm.configured import sampling_of
from skillweave.llm.request import Sampling
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.fused import FusedBlueprint


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
            ledger = Ledger(role.scenario, role.persona, now=role.now, texts=texts)
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
        sampling=sampling_of(user_of(config.rollout)),
        seed=config.seed,
        personas=config.rollout.personas,
    )


def _opener(dataset: Dataset, engine: str) -> Opener:
    if engine == "contract":
        return ContractOpener(dataset)
    from rollout.world.mcp_session import McpOpener

    return McpOpener(dataset)
