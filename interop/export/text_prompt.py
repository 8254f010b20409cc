"""The prompt of formats whose environments take text: the tools stand in the system prompt, with how to call them.

It is the chat prompt of the text environments: what a policy is trained on is what it meets when it acts.
"""

from interop.export.format import Row, TaskExample
from interop.prompt import with_tools


def text_prompt(example: TaskExample) -> list[Row]:
    """The system prompt with the tools as text, and the user's first message."""
    return [
        {
            "role": message.role,
            "content": with_tools(message.content or "", example.tools)
            if message.role == "system"
            else message.content or "",
        }
        for message in example.prompt
    ]


def ground_truth(example: TaskExample) -> str:
    """JSON text by which a reward can be computed: the task, and what it is scored against."""
    criteria = example.task.criteria.model_dump_json()
    return f'{{"task_id":"{example.task.id}","criteria":{criteria}}}'
