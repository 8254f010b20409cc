"""Whether a blueprint can run: `problems` says what is wrong with it, and where."""

from skillweave.world.contract.check import problems
from skillweave.world.contract.entities import ContractProblem

__all__ = ["ContractProblem", "problems"]
