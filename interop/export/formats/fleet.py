"""`fleet`: tool-use tasks in the form of Fleet's task files, with a verifier in Python for each.

There is no simulated user in such an environment, so that the prompt has the rules, the first message, and all that the
user would say when asked. Tasks whose outcome no row and no answer shows are left out.
"""

from collections.abc import Iterator, Mapping, Sequence

from interop.export.format import ExportFormat, LeftOut, Row, TaskExample
from interop.export.formats.fleet_verifier import can_verify, verifier_of
from skillweave.schema.task import Task

LEVELS = {1: 1, 2: 1, 3: 2, 4: 3, 5: 3}
"""Level of a task -> difficulty, 1 to 3."""
VERSION = "1"
VERIFIERS = """\
# What the verifiers check

`verifier_func` is the source of `validate_task(env, final_answer=None)`, which returns 1 or 0. It reads all rows of
`env.db("seed")` and `env.db("current")` by `table(name).all()`, and demands that they differ as one of the task's end
states says, and in no other way. What the user asked to be told must stand in `final_answer`, in a usual form.

- The seed is the database that `data_id` names, in the dataset's folder, with the task's own row changes made; the
  sha256 of its rows is `data_version`.
- How the agent behaved is not checked: whether it asked before it acted, whether a call that failed broke a rule.
- Tasks that end in a refusal or a hand-over leave no rows, and are left out.
- There is no simulated user: the prompt has all that the user would say when asked.

The project's own evaluator checks all of that: `python -m evaluator`.
"""
ALONE = "Nobody answers questions in this conversation. If the assistant needs to know more, it is this:"


def rows(example: TaskExample) -> Iterator[Row]:
    """One task. Raises LeftOut for one that a verifier cannot judge."""
    task = example.task
    if not can_verify(task):
        raise LeftOut("neither rows nor the answer show whether it was done: it is declined, or handed over")
    known = task.env_variables.model_dump(mode="json", exclude_none=True)
    yield {
        "key": task.id,
        "prompt": prompt_of(example),
        "env_key": task.world,
        "env_id": task.world,
        "env_version": VERSION,
        "version": VERSION,
        "data_id": task.initial_state.database,
        "data_version": task.initial_state.digest,
        "env_variables": known,
        "task_modality": "tool_use",
        "difficulty": LEVELS[task.difficulty.level],
        "verifier_func": verifier_of(task, example.world),
    }


def prompt_of(example: TaskExample) -> str:
    """The system prompt, the first message, and what the user would say when asked."""
    texts = [message.content or "" for message in example.prompt]
    known = list(_known(example.task))
    if known:
        texts.append("\n".join([ALONE, *(f"- {text}" for text in known)]))
    return "\n\n".join(texts)


def _known(task: Task) -> Iterator[str]:
    scenario = task.scenario
    yield from (fact.text for fact in scenario.facts if fact.tell == "asked")
    if scenario.later:
        yield scenario.later.says


def companions(_splits: Sequence[str], _card: Mapping[str, str]) -> dict[str, str]:
    """What the verifiers check, and what they do not."""
    return {"VERIFIERS.md": VERIFIERS}


FORMAT = ExportFormat(
    about="Fleet's training of tool use: tasks with verifiers of rows and answers (not of the agent's conduct)",
    takes="tasks",
    rows=rows,
    layout="json",
    under="tasks",
    load='import json\n\ntasks = json.load(open("{folder}/{file}", encoding="utf-8"))["tasks"]',
    companions=companions,
)
