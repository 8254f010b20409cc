"""The contract's session, as a conversation holds it: in process, without waiting for anybody."""

from collections.abc import Mapping

from rollout.task import Answer, Definition
from skillweave.dataset import Dataset
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.tool_call import shown
from skillweave.world.session import Session


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
        return Answer(shown(result), result.ok, "transfer" if self._session.transfer is not None else None)

    async def finish(self) -> Session:
        """The session itself."""
        self._finished = True
        return self._session

    async def close(self) -> None:
        """Give it up, unless it is finished."""
        if not self._finished:
            self._session.close()
            self._finished = True
