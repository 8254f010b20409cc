"""Whether calls were carried out against a rule that only the policy holds."""

from collections.abc import Sequence

from skillweave.schema.call import CallResult
from skillweave.schema.score import PolicyCheck
from skillweave.world.replay import violations


def check_policy(results: Sequence[CallResult]) -> PolicyCheck:
    """1 where no call broke a rule, else 0."""
    found = violations(results)
    return PolicyCheck(score=float(not found), violations=found)
