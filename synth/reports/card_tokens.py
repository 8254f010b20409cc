"""The section of a dataset's card on tokens: how much of a model's window is full before the agent's first word."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from statistics import mean, median
from typing import Literal, NamedTuple, get_args

from skillweave.base.errors import ArtifactError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Policy
from skillweave.schema.task import Task
from skillweave.world.dataset import Dataset
from skillweave.world.instruction import instruction
from skillweave.world.tools import ToolDefinition, tool_definitions
from synth.reports.card_sections import table

CHARACTERS_A_TOKEN = 4
"""The estimate by which tokens are counted, without a tokenizer."""
PromptLength = Literal["full", "compact"]
LEGEND = (
    f"Characters / {CHARACTERS_A_TOKEN}, which is about what tokenizers make of English and JSON. The system prompt is "
    "in full, or compact with each rule once (`rollout.prompt`); the tools are their JSON definitions."
)


class PromptCharacters(NamedTuple):
    """Characters that a task has before the agent's first word."""

    system: int
    tools: int
    first: int

    @property
    def together(self) -> int:
        """All of them."""
        return sum(self)


def tokens(dataset: Dataset, tasks: Sequence[Task]) -> list[str]:
    """Tokens of the prompts, full and compact; empty if a policy is missing."""
    try:
        rows = [_row(length, list(_prompts(dataset, tasks, length))) for length in get_args(PromptLength)]
    except ArtifactError:
        return []
    columns = ("of one task, on average", "system prompt", "tools", "first message", "together", "median", "most")
    return [*table(columns, rows), LEGEND, ""]


def _row(length: PromptLength, prompts: Sequence[PromptCharacters]) -> tuple[object, ...]:
    parts = [mean(part) for part in zip(*prompts, strict=True)]
    sums = [prompt.together for prompt in prompts]
    figures = [*parts, sum(parts), median(sums), max(sums)]
    return (length, *(round(figure / CHARACTERS_A_TOKEN) for figure in figures))


def _prompts(dataset: Dataset, tasks: Sequence[Task], length: PromptLength) -> Iterator[PromptCharacters]:
    worlds = cache(_World)
    for task in tasks:
        world = worlds(dataset, task.world)
        tools = world.offered(frozenset(task.tools_hidden), task.login == "session")
        system = instruction(task, world.policy, world.blueprint, tools, compact=length == "compact")
        first = sum(len(message.content or "") for message in task.messages)
        yield PromptCharacters(len(system), len(json.dumps(tools, ensure_ascii=False)), first)


class _World:
    """A world's contract and policy, read once."""

    def __init__(self, dataset: Dataset, name: str) -> None:
        self.blueprint: Blueprint = dataset.blueprint(name)
        self.policy: Policy = dataset.policy(name)
        self.offered = cache(self._offered)

    def _offered(self, hidden: frozenset[str], is_signed_in: bool) -> list[ToolDefinition]:
        """The tools of a session: whoever is signed in needs no tool for that."""
        sign_ins = [tool.name for tool in self.blueprint.tools if tool.kind == "auth"] if is_signed_in else []
        return tool_definitions(self.blueprint, hidden.union(sign_ins))
