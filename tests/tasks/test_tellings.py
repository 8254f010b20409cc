"""Several tasks told in one question: what an author reads of each, and who loses what where words stay faulty."""

import asyncio
import json
from collections.abc import Collection
from pathlib import Path
from random import Random
from typing import Any

from skillweave.base.errors import AuthorError
from skillweave.base.store import Store
from skillweave.llm.ask import AuthorChain
from skillweave.llm.backends.backend import Reply, Request
from skillweave.llm.ledger import Ledger
from skillweave.schema.combination import Combination
from skillweave.schema.request import FactWords, Telling
from skillweave.schema.task import Persona
from skillweave.schema.template import TemplateCall
from synth.engine.context import Context, RunSetting
from synth.offline.services import OfflineQuestion
from synth.offline.task_answers import tell
from synth.steps.s17_task_instantiation import InstantiationParams, task_instantiation
from synth.tasks.requests import request_of
from synth.tasks.tellings import (
    BATCH_SIZE,
    UntoldTask,
    ask_tellings,
    batch_faults,
    numbered_tasks,
    telling_batches,
    untold_task,
)
from tests.gates.clinic_tasks import WORLD, a_combination, a_move, a_template, call, value
from tests.world.clinic import NOW

ANA = Persona(name="Ana Lopez", age=43, style="brief", patience=3)


def a_task(combination: Combination, tool: str = "move_appointment", **template: Any) -> UntoldTask:
    made = a_template(calls=[TemplateCall(tool=tool)], **template)
    return untold_task(combination, request_of(WORLD.blueprint, made, combination, ANA, Random(1)), WORLD.blueprint)


def moves(count: int) -> list[UntoldTask]:
    task = a_task(a_move())
    return [
        UntoldTask(task.combination.model_copy(update={"id": f"SmallClinic/move/{number:03}"}), task.request, task.text)
        for number in range(count)
    ]


def told(number: str, task: UntoldTask, message: str = "I want to move my visit.") -> Telling:
    facts = [FactWords(id=thing.id, text="It is {value}.") for thing in task.request.known if not thing.secret]
    return Telling(id=number, first_message=message, goal="You want to move your visit.", facts=facts)


def test_batches_are_full_and_the_same_in_whatever_order_the_tasks_come() -> None:
    tasks = moves(2 * BATCH_SIZE + 3)
    made = telling_batches(tasks)
    assert [len(batch) for batch in made] == [BATCH_SIZE, BATCH_SIZE, 3]
    assert telling_batches(tasks[::-1]) == made
    assert telling_batches([]) == []


def test_the_author_reads_what_the_person_wants_and_knows() -> None:
    lines = a_task(a_move(), title="Move a visit", reasons=["Something came up."]).text.splitlines()
    assert lines[:4] == ["who: Ana Lopez, 43; brief", "about: Move a visit", "why: Something came up.", "wants:"]
    assert lines[4] == "- do: move appointment (<appointment>, <slot>)"
    assert any(line.startswith("- slot.dentist_name = Dr Iyer") for line in lines)


def test_what_is_left_out_stands_nowhere_in_what_the_author_reads() -> None:
    hints = {"title": "Move a visit to Dr Iyer", "reasons": ["I only trust Dr Iyer."]}
    calls = [TemplateCall(tool="move_appointment", ask=["move {appointment_id} to a slot with Dr Iyer"])]
    combination = a_move(kind="clarify", withheld=[{"call": 2, "parameter": "slot_id"}])
    request = request_of(WORLD.blueprint, a_template(calls=calls, **hints), combination, ANA, Random(1))
    text = untold_task(combination, request, WORLD.blueprint).text
    assert "Iyer" not in text
    assert "- slot.dentist_name = {value} [left out]" in text
    assert "- do: move appointment (<appointment>, <slot>)" in text


def test_what_identifies_the_person_is_worded_by_us() -> None:
    facts = {"email": "ana_lopez@example.com", "date_of_birth": "1981-03-01"}
    signing_in = call("identify_patient", **{name: (fact, "user") for name, fact in facts.items()})
    wish = call("set_reminders", wanted=(False, "user"))
    task = a_task(
        a_combination([signing_in, wish], login="conversation", credentials=facts, values=[value(1, "wanted", False)]),
        "set_reminders",
    )
    assert "me." not in task.text
    said = {thing.id: thing.says for thing in task.request.known if thing.secret}
    assert "ana_lopez@example.com" in said["me.email"]
    assert "1981" in said["me.date_of_birth"]


def test_each_telling_is_judged_by_itself() -> None:
    tasks = numbered_tasks(moves(2))
    tellings = [told("1", tasks["1"]), told("2", tasks["2"], "Move it to 31 May.")]
    fine, faulty = batch_faults(tellings, tasks)
    assert fine == []
    assert faulty[0].startswith("task 2 (SmallClinic/move/001): the first message says '31'")
    assert batch_faults([told("7", tasks["1"])], tasks) == [["there is no task '7'; there are 1, 2"]]


def test_offline_words_are_the_same_in_whatever_batch() -> None:
    tasks = moves(3)
    variables = {"server": "DentalClinic", "blueprint": WORLD.blueprint}
    whole = tell(OfflineQuestion("tasks.tell", "a", {**variables, "tasks": tasks}, 7))
    (alone,) = tell(OfflineQuestion("tasks.tell", "b", {**variables, "tasks": tasks[2:]}, 7))
    assert [one.id for one in whole] == ["1", "2", "3"]
    assert alone.model_copy(update={"id": "3"}) == whole[2]


class Run:
    """A step's item whose author tells some tasks badly, and answers nothing where it refuses one."""

    name = "test/author"

    def __init__(
        self, *, bad: Collection[str] = (), refused: Collection[str] = (), missing: Collection[str] = ()
    ) -> None:
        self.bad, self.refused, self.missing = bad, refused, missing
        self.asked: list[str] = []
        self.logged: list[str] = []

    def tell(self, tasks: list[UntoldTask], folder: Path) -> tuple[dict[str, Telling], dict[str, int]]:
        """What is told, and what was rejected."""
        context: Context[InstantiationParams] = Context(
            task_instantiation,
            "SmallClinic",
            params=InstantiationParams(),
            setting=RunSetting(7, NOW, ()),
            store=Store(folder),
            visible={},
            services=self,
        )
        found = asyncio.run(ask_tellings(context, WORLD.blueprint, tasks))
        return found, context.activity.rejected

    async def complete(self, request: Request) -> Reply:
        tasks: Any = request.variables["tasks"]
        self.asked += [request.key] if request.attempt == 0 else []
        if any(task.combination.id in self.refused for task in tasks):
            raise AuthorError("I cannot help with that")
        tellings = [
            told(number, task, "Move it to 31 May." if task.combination.id in self.bad else "I want to move my visit.")
            for number, task in numbered_tasks(tasks).items()
            if task.combination.id not in self.missing
        ]
        return Reply(json.dumps({"tellings": [one.model_dump(mode="json") for one in tellings]}))

    async def close(self) -> None:
        """Nothing is open."""

    def line(self, step: str, role: str) -> AuthorChain:
        return AuthorChain([self], Ledger())

    def offload(self, *arguments: Any) -> Any:
        raise AssertionError

    def log(self, step: str, key: str, message: str) -> None:
        self.logged.append(message)


def test_a_task_whose_words_stay_faulty_is_rejected_alone_with_its_reason(tmp_path: Path) -> None:
    tasks = moves(4)
    bad, missing = tasks[1].combination.id, tasks[2].combination.id
    run = Run(bad=[bad], missing=[missing])
    found, rejected = run.tell(tasks, tmp_path)
    assert [*found] == [tasks[0].combination.id, tasks[3].combination.id]
    assert rejected == {"no words for it": 2}
    assert any(bad in line and "'31'" in line for line in run.logged if line.startswith("rejected"))


def test_what_one_task_is_refused_for_is_not_laid_on_the_others(tmp_path: Path) -> None:
    tasks = moves(4)
    run = Run(refused=[tasks[2].combination.id])
    found, rejected = run.tell(tasks, tmp_path)
    assert [*found] == [tasks[place].combination.id for place in (0, 1, 3)]
    assert rejected == {"no words for it": 1}
    assert run.asked == [
        "SmallClinic/move/000+3",
        "SmallClinic/move/000+1",
        "SmallClinic/move/002+1",
        "SmallClinic/move/002",
        "SmallClinic/move/003",
    ]
