"""The check whether a blueprint can run: `problems` lists its faults and their places."""

from skillweave.world.contract.check import problems
from skillweave.world.contract.entities import ContractProblem

__all__ = ["ContractProblem", "problems"]
