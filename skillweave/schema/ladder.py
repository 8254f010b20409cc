"""The ladder: how far each scripted agent gets in the same tasks, and whether they stand in their order."""

from typing import Literal

from pydantic import Field

from skillweave.schema.record import Record
from skillweave.schema.task import Kind


class Step(Record):
    tasks: int
    """Tasks tried and scored."""
    passed: int
    """Of these."""

    @property
    def rate(self) -> float:
        """The share that passed; 0 of no tasks."""
        return self.passed / self.tasks if self.tasks else 0.0


class Rung(Record):
    agent: str
    """`oracle`, of the agents that play without a model."""
    overall: Step
    """All tasks."""
    reward: float
    """The mean over scored tasks."""
    by_kind: dict[Kind, Step]
    """The tasks of each kind."""
    lost: int = 0
    """Conversations that could not be scored."""


class Ladder(Record):
    """One conversation of each agent in each task, scored by the evaluator."""

    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    dataset: str
    """Digest of the dataset."""
    seed: int
    """Of the run's configuration: it draws the sample and what agents and users do."""
    sample: int | None
    """Tasks of each world; None: all of them."""
    tasks: int
    """Tasks that each agent was given."""
    rungs: list[Rung]
    """In the order in which they are to stand."""
    decided: list[str] = Field(default_factory=list)
    """Ids of the tasks that a rule decides which no tool of the request holds: it forbids the request, or demands
    another call before it. `policy_blind` must fail each."""
    oracle_failed: list[str] = Field(default_factory=list)
    """Ids of the tasks that the oracle did not pass."""
    wrong: list[str] = Field(default_factory=list)
    """What is not as it must be, in words."""

    def rung(self, agent: str) -> Rung:
        """That agent's; KeyError if it was not asked."""
        for rung in self.rungs:
            if rung.agent == agent:
                return rung
        raise KeyError(agent)
