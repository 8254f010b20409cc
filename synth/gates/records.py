"""The records that a world's tasks were made from: validated combinations and templates, as they lie in the dataset."""

from collections.abc import Iterator

from pydantic import TypeAdapter, ValidationError

from skillweave.dataset import Dataset
from skillweave.errors import ArtifactError
from skillweave.schema.combination import ValidatedTask
from skillweave.schema.task import Task
from skillweave.schema.template import TaskTemplate
from skillweave.store import Store
from synth.gates.remade import gate_faults, record_faults
from synth.gates.trials import is_tried_whole

_TEMPLATES: TypeAdapter[list[TaskTemplate]] = TypeAdapter(list[TaskTemplate])


def read_templates(store: Store, world: str) -> dict[str, TaskTemplate]:
    """The templates of a world by id; none where they cannot be read."""
    path = f"task_templates/{world}.json"
    try:
        found = _TEMPLATES.validate_json(store.read(path)) if store.exists(path) else []
    except (ArtifactError, ValidationError):
        return {}
    return {template.id: template for template in found}


class Records:
    """What the tasks of one world are held against."""

    def __init__(self, dataset: Dataset, world: str, *, tries_gates: bool = True) -> None:
        self._tries_gates = tries_gates
        self._dataset = dataset
        self._templates = read_templates(dataset.store, world)
        self._kept: dict[str, ValidatedTask] = {}
        self._path = f"validated_tasks/{world}.jsonl"
        self._tried: set[str] = set()
        self._fault = ""
        try:
            for line in dataset.store.read(self._path).splitlines():
                one = ValidatedTask.model_validate_json(line)
                self._kept[one.combination.id] = one
                self._tried |= {one.combination.template} if is_tried_whole(one.gates) else set()
        except (ArtifactError, ValidationError) as error:
            self._fault = str(error).splitlines()[0]

    def faults(self, task: Task) -> Iterator[str]:
        """What is wrong with a task by its records, and whether the gates, if tried, give what they gave. Raises
        Rejected."""
        kept, template = self._kept.get(task.lineage.combo), self._templates.get(task.lineage.template)
        if self._fault or kept is None:
            yield f"{self._path} has no combination {task.lineage.combo!r}{self._fault and f': {self._fault}'}"
        elif template is None or kept.combination.template != template.id:
            yield f"task_templates/{task.world}.json has no template {kept.combination.template!r}"
        else:
            if template.id not in self._tried:
                yield f"{self._path} has no combination of {template.id!r} whose conduct was tried"
            world = self._dataset.world(task)
            yield from record_faults(world, task, kept, template)
            if self._tries_gates:
                yield from gate_faults(world, kept, template, self._dataset.policy(task.world).rules)
