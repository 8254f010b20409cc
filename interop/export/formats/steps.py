"""`steps`: each golden state of a task with its best next calls and its cost to go, for training on single steps.

A row is the state after so many golden calls. `optimal` lists the calls with which a shortest way to the end may begin;
`interop.export.golden_states` says what may change places. Words to the user are no calls: what the agent asks, tells
or confirms is not in the rows, and `known` lists what the user would have said in answer. Arguments are JSON text.
"""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from interop.export.format import ExportFormat, Row, TaskExample
from interop.export.golden_states import golden_states
from skillweave.schema.contract import Call, CallResult
from skillweave.schema.task import Task
from skillweave.schema.task_row import json_text
from skillweave.world.tools import result_text

if TYPE_CHECKING:
    import pyarrow as pa

TRAIN = """\
import json

from datasets import load_dataset


def chat(row):
    \"\"\"Messages and tools as chat templates take them: no nulls, arguments as objects.\"\"\"
    messages = [{key: value for key, value in one.items() if value is not None} for one in row["messages"]]
    for call in [call for one in messages for call in one.get("tool_calls", ())]:
        call["function"] = {**call["function"], "arguments": json.loads(call["function"]["arguments"])}
    return messages, json.loads(row["tools"])


steps = load_dataset("{loader}", data_files={files})["{split}"]
messages, tools = chat(steps[0])
# tokenizer.apply_chat_template(messages, tools=tools, add_generation_prompt=True)"""


def rows(example: TaskExample) -> Iterator[Row]:
    """A row for each golden state. Raises LeftOut if the golden calls do not replay."""
    task, tools, known = example.task, json_text(example.tools), known_of(example.task)
    prompt = [_message(message.role, message.content) for message in example.prompt]
    for state in golden_states(example.world, task):
        yield {
            "task_id": task.id,
            "step": state.step,
            "split": task.split,
            "world": task.world,
            "kind": task.kind,
            "messages": [*prompt, *_calls(state.made)],
            "tools": tools,
            "known": known,
            "optimal": [{"tool": call.tool, "arguments": _arguments(call)} for call in state.optimal],
            "cost_to_go": state.cost_to_go,
            "state": state.digest,
            "done": state.cost_to_go == 0,
        }


def known_of(task: Task) -> list[str]:
    """What the user says when asked, or comes out with later."""
    later = task.scenario.later
    asked = [fact.text for fact in task.scenario.facts if fact.tell == "asked"]
    return [*asked, *([later.says] if later else [])]


def _message(role: str, content: str | None, **more: object) -> Row:
    return {"role": role, "content": content or "", "tool_calls": None, "tool_call_id": None, **more}


def _calls(results: Sequence[CallResult]) -> Iterator[Row]:
    """Calls with their results, as an agent's conversation has them."""
    for number, result in enumerate(results):
        id = f"call_{number}"
        function = {"name": result.call.tool, "arguments": _arguments(result.call)}
        yield _message("assistant", None, tool_calls=[{"id": id, "type": "function", "function": function}])
        yield _message("tool", result_text(result), tool_call_id=id)


def _arguments(call: Call) -> str:
    return json.dumps(call.arguments, ensure_ascii=False)


def schema() -> "pa.Schema":
    """The schema of the rows."""
    import pyarrow as pa

    text, integer = pa.string(), pa.int64()
    function = pa.struct([("name", text), ("arguments", text)])
    call = pa.struct([("id", text), ("type", text), ("function", function)])
    message = [("role", text), ("content", text), ("tool_calls", pa.list_(call)), ("tool_call_id", text)]
    return pa.schema(
        [
            ("task_id", text),
            ("step", integer),
            ("split", text),
            ("world", text),
            ("kind", text),
            ("messages", pa.list_(pa.struct(message))),
            ("tools", text),
            ("known", pa.list_(text)),
            ("optimal", pa.list_(pa.struct([("tool", text), ("arguments", text)]))),
            ("cost_to_go", integer),
            ("state", text),
            ("done", pa.bool_()),
        ]
    )


FORMAT = ExportFormat(
    about="training on single steps: each golden state with its best next calls (not words to the user) and cost to "
    "go; arguments may come from `known`, what the user says when asked; rows that are `done` have no next call",
    takes="tasks",
    rows=rows,
    layout="parquet",
    schema=schema,
    train=TRAIN,
)
