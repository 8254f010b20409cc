"""Evaluate tasks of all kinds with Inspect's mock model, as `oracle` and as `nothing`: `OUTPUTS TASKS LOGS`."""

import json
import sys
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput, ModelUsage, get_model
from inspect_ai.tool import ToolCall
from scripted import ScriptedPlayer, tasks_of_all_kinds

from interop.frameworks.inspect_task import skillweave
from interop.frameworks.shared import DatasetOptions
from skillweave.schema.trajectory import FunctionCall, Message
from skillweave.schema.trajectory import ToolCall as OurCall

outputs, most, logs = sys.argv[1], int(sys.argv[2]), sys.argv[3]
factory = DatasetOptions(outputs=outputs).factory()
chosen = set(tasks_of_all_kinds(factory, most))
by_words = {factory.record(id).messages[0].content: id for id in factory.ids}


def read(message: Any) -> Message:
    """A message of Inspect as ours."""
    calls = [
        OurCall(id=call.id, function=FunctionCall(name=call.function, arguments=call.arguments))
        for call in getattr(message, "tool_calls", None) or ()
    ]
    id = getattr(message, "tool_call_id", None)
    return Message(role=message.role, content=message.text, tool_calls=calls or None, tool_call_id=id)


def model(agent: str) -> Any:
    player = ScriptedPlayer(factory.dataset, agent)

    def answer(messages: Any, tools: Any, _: Any, __: Any) -> Any:
        ours = [read(message) for message in messages]
        definitions = [
            {
                "type": "function",
                "function": {"name": tool.name, "parameters": tool.parameters.model_dump(exclude_none=True)},
            }
            for tool in tools
        ]
        said = player.message(by_words[ours[1].content], ours, definitions)
        calls = [
            ToolCall(id=call.id, function=call.function.name, arguments=call.function.arguments)
            for call in said.tool_calls or ()
        ]
        message = ChatMessageAssistant(content=said.content or "", tool_calls=calls or None)
        # Without figures, tokens would be counted with a file that is downloaded.
        return ModelOutput(model="mock", choices=[ChatCompletionChoice(message=message)], usage=ModelUsage())

    return get_model("mockllm/model", custom_outputs=answer)


def played(agent: str) -> list[dict[str, Any]]:
    whole = skillweave(outputs=outputs)
    some = [sample for sample in whole.dataset if sample.id in chosen]
    task = Task(dataset=some, solver=whole.solver, scorer=whole.scorer, name=agent)
    [log] = eval(task, model=model(agent), log_dir=logs, display="none")
    assert log.status == "success", log.error
    return [
        {"kind": sample.metadata["kind"], "reward": sample.scores["episode_reward"].value} for sample in log.samples
    ]


print(json.dumps({agent: played(agent) for agent in ("oracle", "nothing")}))
