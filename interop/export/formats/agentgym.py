"""`agenttraj` and `agenteval`: AgentGym's trajectories to train on, and the items of an evaluation.

The text of a trajectory is what the AgentGym server says of the same task: ReAct form, one call a turn. A message with
several calls becomes a turn for each, with its result in between. The number in `item_id` is the one that servers take.
"""

from collections.abc import Iterator

from interop.export.conversation import with_one_call_each
from interop.export.format import ExportFormat, LeftOut, Row, TaskExample, TrajectoryExample
from interop.prompt import INSTRUCTION, OK, first_observation
from rollout.react.agent import rendered
from skillweave.schema.trajectory import Message

LOAD = """\
import json

trajectories = json.load(open("{folder}/{file}", encoding="utf-8"))"""


def item_id(of: TaskExample) -> str:
    """The id of a task's item."""
    return f"skillweave_{of.index}"


def trajectories(example: TrajectoryExample) -> Iterator[Row]:
    """One row: the instruction, its scripted reply, then observations and the agent's turns."""
    messages = example.messages
    begun = next((place for place, message in enumerate(messages) if message.role == "assistant"), 0)
    if not any(message.role == "user" for message in messages[:begun]):
        raise LeftOut("the conversation does not begin with the user")
    turns = rendered((message, message.reasoning_content or "") for message in with_one_call_each(messages[begun:]))
    yield {
        "conversations": [
            {"from": "human", "loss": None, "value": INSTRUCTION},
            {"from": "gpt", "loss": False, "value": OK},
            {"from": "human", "loss": None, "value": first_observation(messages[:begun], example.of.tools)},
            *map(_turn, turns),
        ],
        "item_id": item_id(example.of),
    }


def _turn(message: Message) -> Row:
    agent = message.role == "assistant"
    return {"from": "gpt" if agent else "human", "loss": True if agent else None, "value": message.content or ""}


def items(example: TaskExample) -> Iterator[Row]:
    """One row: the item of a task, without a conversation."""
    yield {"conversations": None, "item_id": item_id(example)}


AGENTTRAJ = ExportFormat(
    about="AgentGym's behavioural cloning: ReAct conversations with `loss`; `item_id` ends in the task's number",
    takes="trajectories",
    rows=trajectories,
    layout="json",
    loss="`loss` is true on the agent's turns, false on the scripted reply, null on what the environment says.",
    load=LOAD,
    use="{interop} serve agentgym --outputs {outputs}",
)
AGENTEVAL = ExportFormat(
    about="AgentGym's evaluation: one item a task; `item_id` ends in the number by which the server resets",
    takes="tasks",
    rows=items,
    layout="json",
    load=LOAD.replace("trajectories", "tasks"),
    use="{interop} serve agentgym --outputs {outputs}",
)
