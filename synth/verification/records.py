"""Verification of a task against the combination that it was validated from: all gates run again on that.

The id of a task is a digest of its combination, so no other combination can take its place.
"""

from collections.abc import Collection, Iterator

from pydantic import ValidationError

from skillweave.base.errors import ArtifactError
from skillweave.schema.combination import Combination, ValidatedTask
from skillweave.schema.criteria import Criteria
from skillweave.schema.task import Gates, Scenario, Task
from skillweave.schema.template import TaskTemplate
from skillweave.user_prompt import user_prompt
from skillweave.world.canonical import dump
from skillweave.world.dataset import Dataset
from skillweave.world.replay import without_noise
from skillweave.world.world import World
from synth.gates.gate import Figures, figures_of
from synth.gates.judging import validate_combination
from synth.gates.noise import check_noise
from synth.gates.reachable import bounds_in
from synth.gates.variants import conduct_of, tried_conduct
from synth.reports.duplicates import read_templates
from synth.tasks.assembly import hash_of, info_of, provisional_task
from synth.tasks.replay import Rejected

SAME = (
    "domains",
    "world",
    "kind",
    "forms",
    "login",
    "now",
    "namespaces",
    "env_variables",
    "tools",
    "tools_hidden",
    "policy",
    "initial_state",
    "golden",
)
"""Fields that follow from the combination alone; of noisy tasks, without their noise."""
SHOWN = 160
"""Characters of a figure that a fault quotes."""


def record_faults(world: World, task: Task, kept: ValidatedTask, template: TaskTemplate) -> Iterator[str]:
    """Where the task, its words apart, is not what its validated combination makes it.

    Nothing is executed but its planted faults. Rejected where those are not as the task says.
    """
    expected = provisional_task(world, kept.combination, template, kept.criteria, kept.gates)
    calm, gates = without_noise(task), kept.gates
    id = expected.id
    if task.noise is not None:
        id = f"{task.world}-{hash_of([expected.id, task.noise.model_dump(mode='json')])[:8]}"
        gates = gates.model_copy(update={"golden": {**gates.golden, **check_noise(world, task)}})
    if task.id != id:
        yield f"its id is not that of its combination {kept.combination.id!r}"
    for name in SAME:
        told, known = (record.model_dump(mode="json", include={name}).get(name) for record in (calm, expected))
        if dump(told) != dump(known):
            yield f"{name} is {_short(told)}, and was proved as {_short(known)}"
    yield from _criteria(calm.criteria, expected.criteria)
    yield from figure_faults(task.gates, figures_of(gates), "was", whole=True)
    yield from _facts(task, expected)
    yield from _course(task.scenario, expected.scenario)
    yield from _retold(world, task, expected)


def _course(told: Scenario, known: Scenario) -> Iterator[str]:
    """What is wrong with the course that the user's wishes take: when they come out with more, and how they insist."""
    moments = [scenario.later.when if scenario.later else "never" for scenario in (told, known)]
    if moments[0] != moments[1]:
        yield f"its later wish comes {moments[0]}, and was proved to come {moments[1]}"
    if len(told.insists) != len(known.insists):
        yield f"its user insists {len(told.insists)} times, and was proved to insist {len(known.insists)} times"


def gate_faults(world: World, kept: ValidatedTask, template: TaskTemplate, stated: Collection[str]) -> Iterator[str]:
    """Where the gates, run again, do not give what is on record."""
    try:
        bounds, is_first = bounds_in(kept.gates.planner), tried_conduct(kept.gates)
        again = validate_combination(world, kept.combination, template, stated, bounds, is_first=is_first)
    except Rejected as rejected:
        yield f"does not pass the gates: {rejected}"
        return
    yield from _criteria(kept.criteria, again.criteria)
    yield from figure_faults(kept.gates, figures_of(again.gates), "comes out as", whole=True)


def _criteria(told: Criteria, known: Criteria) -> Iterator[str]:
    left, right = told.model_dump(mode="json"), known.model_dump(mode="json")
    for name in left:
        if dump(left[name]) != dump(right[name]):
            yield f"criteria.{name} is {_short(left[name])}, and was proved as {_short(right[name])}"


def figure_faults(recorded: Gates, figures: Figures, verb: str, *, whole: bool = False) -> Iterator[str]:
    """Figures that are others than on record, the first of each field.

    Args:
        recorded: The gates on record.
        figures: The figures to compare with them.
        verb: What the sentence says of these figures: `was`, `comes out as`.
        whole: Whether the record must hold nothing else.
    """
    on_record = figures_of(recorded)
    for name in {**figures, **on_record} if whole else figures:
        left, right = on_record.get(name, {}), figures.get(name, {})
        names = {*left, *right} if whole else {*right}
        for figure in sorted(key for key in names if dump(left.get(key)) != dump(right.get(key)))[:1]:
            value, again = _short(left.get(figure)), _short(right.get(figure))
            yield f"gates.{name}.{figure} is {value} on record, and {verb} {again}"


def _facts(task: Task, expected: Task) -> Iterator[str]:
    """What the user knows, and that what has to be asked for is told only then."""
    told, known = ({fact.id: fact.value for fact in one.scenario.facts} for one in (task, expected))
    for id in sorted({*told, *known}):
        if dump(told.get(id)) != dump(known.get(id)) or (id in told) != (id in known):
            yield f"the user knows {id} as {_short(told.get(id))}, and should as {_short(known.get(id))}"
    asked = {id for ask in task.criteria.must_ask for id in ask.facts}
    for fact in task.scenario.facts:
        if fact.id in asked and fact.tell != "asked":
            yield f"{fact.id} has to be asked for, and is told {fact.tell!r}"


def _retold(world: World, task: Task, expected: Task) -> Iterator[str]:
    """What the task counts, or tells a second time, against what it holds; and who the user is."""
    scenario = task.scenario
    told = {
        "difficulty": task.difficulty,
        "task_info": task.task_info,
        "user_system_prompt": task.user_system_prompt,
        "persona": (task.persona.name, task.persona.age),
    }
    known = {
        "difficulty": expected.difficulty.model_copy(update={"calls": len(task.golden)}),
        "task_info": info_of(task.golden, scenario, task.lineage.combo),
        "user_system_prompt": user_prompt(world.blueprint.title, task.persona, scenario, task.now),
        "persona": (expected.persona.name, expected.persona.age),
    }
    for name, value in known.items():
        if told[name] != value:
            yield f"{name} is not what the task comes to"


def _short(value: object) -> str:
    text = dump(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


class WorldRecords:
    """What the tasks of one world are held against."""

    def __init__(self, dataset: Dataset, world: str, *, tries_gates: bool = True) -> None:
        self._tries_gates = tries_gates
        self._dataset = dataset
        self._templates = read_templates(dataset.store, world)
        self._kept: dict[str, ValidatedTask] = {}
        self._path = f"validated_tasks/{world}.jsonl"
        self._tried: list[Combination] = []
        self._fault = ""
        try:
            for line in dataset.store.read(self._path).splitlines():
                one = ValidatedTask.model_validate_json(line)
                self._kept[one.combination.id] = one
                self._tried += [one.combination] if tried_conduct(one.gates) else []
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
            world = self._dataset.world(task)
            asked = conduct_of(kept.combination, world.blueprint)
            if all(conduct_of(one, world.blueprint) != asked for one in self._tried):
                yield f"{self._path} has no combination whose conduct, as that of {template.id!r}, was tried"
            yield from record_faults(world, task, kept, template)
            if self._tries_gates:
                yield from gate_faults(world, kept, template, self._dataset.policy(task.world).rules)
