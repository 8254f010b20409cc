"""`verl`: Parquet for verl's RL trainers, with a conversation of our own agent loop.

The trainer hands a row to the agent loop that `agent_name` names; the loop opens the task of `extra_info.task_id`,
plays the conversation with the simulated user, and gives the evaluator's reward. What is nested is JSON text, and
`tools_kwargs` has one key in all rows, because Arrow merges the structures of all rows into one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from interop.export.format import ExportFormat, Row, TaskExample, ground_truth
from interop.prompt import chat_prompt

if TYPE_CHECKING:
    import pyarrow as pa

AGENT = "skillweave"
"""The name under which the agent loop is registered."""
LOOP = "interop.frameworks.verl_agent_loop"
"""Its module."""
_LOOPS = f"""\
# The agent loops of `agent_name`; actor_rollout_ref.rollout.agent.agent_loop_config_path names this file.
- name: {AGENT}
  _target_: {LOOP}.SkillweaveAgentLoop
"""
_CONFIG = """\
# Settings of verl for this data, to be merged into the trainer's own. Paths are relative to this folder.
data:
{files}
  prompt_key: prompt
  reward_fn_key: data_source
  return_raw_chat: true
actor_rollout_ref:
  rollout:
    mode: async
    multi_turn:
      enable: true
    agent:
      default_agent_loop: {agent}
      agent_loop_config_path: agent_loops.yaml
"""


def rows(example: TaskExample) -> Iterator[Row]:
    """One row: the prompt, what the reward stands on, and where the task is found."""
    task = example.task
    yield {
        "data_source": f"skillweave/{task.world}",
        "prompt": chat_prompt(example.prompt, example.tools),
        "ability": "tool_use",
        "reward_model": {"style": "rule", "ground_truth": ground_truth(example)},
        "extra_info": {
            "split": task.split,
            "index": example.index,
            "task_id": task.id,
            "world": task.world,
            "kind": task.kind,
            "level": task.difficulty.level,
            "need_tools_kwargs": False,
            "tools_kwargs": {AGENT: {"create_kwargs": {"task_id": task.id}}},
        },
        "agent_name": AGENT,
    }


def schema() -> "pa.Schema":
    """The schema of the rows."""
    import pyarrow as pa

    text, integer = pa.string(), pa.int64()
    tools = pa.struct([(AGENT, pa.struct([("create_kwargs", pa.struct([("task_id", text)]))]))])
    info = [("split", text), ("index", integer), ("task_id", text), ("world", text), ("kind", text), ("level", integer)]
    return pa.schema(
        [
            ("data_source", text),
            ("prompt", pa.list_(pa.struct([("role", text), ("content", text)]))),
            ("ability", text),
            ("reward_model", pa.struct([("style", text), ("ground_truth", text)])),
            ("extra_info", pa.struct([*info, ("need_tools_kwargs", pa.bool_()), ("tools_kwargs", tools)])),
            ("agent_name", text),
        ]
    )


def companions(splits: Sequence[str], _card: Mapping[str, str]) -> dict[str, str]:
    """The settings of the trainer, and the list of agent loops."""
    names = {"train": "train_files", "validation": "val_files"}
    files = "\n".join(f"  {names[split]}: {split}.parquet" for split in splits if split in names)
    return {"verl.yaml": _CONFIG.format(files=files, agent=AGENT), "agent_loops.yaml": _LOOPS}


FORMAT = ExportFormat(
    about="verl's RL trainers: prompts whose conversations our agent loop holds (`agent_loops.yaml`)",
    takes="tasks",
    rows=rows,
    layout="parquet",
    schema=schema,
    companions=companions,
)
