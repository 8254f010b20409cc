"""The rules of a task's world, as an agent that declines speaks of them."""

from typing import NamedTuple

from evaluator.variants.workbench import Workbench


class Rules(NamedTuple):
    """What forbids a request, and what does not."""

    broken: list[str]
    """The rules that the request would break, the first one first."""
    says: str
    """What that one says, in words."""
    others: list[str]
    """Rules that it would not break, those of the tool asked for first."""

    @property
    def first(self) -> str:
        """The rule to be named."""
        return self.broken[0]

    @property
    def every(self) -> list[str]:
        """All rules, in the order of their numbers."""
        return sorted({*self.broken, *self.others}, key=lambda rule: (rule[:1], len(rule), rule))

    @property
    def reason(self) -> str:
        """The request declined as it ought to be."""
        return f"I am sorry, but I may not do that: rule {self.first} forbids it."


def rules_of(bench: Workbench) -> Rules | None:
    """The rules of a task whose request one of them forbids; None where it names none."""
    tools = bench.world.blueprint.tools
    asked = bench.task.criteria.asked
    near = [tool for tool in tools if asked is not None and tool.name == asked.tool]
    says = {guard.rule: guard.says for tool in [*near, *tools] for guard in tool.guards}
    broken = list(dict.fromkeys(ban.rule for ban in bench.task.criteria.must_not))
    if not broken:
        return None
    return Rules(broken, says.get(broken[0], ""), [rule for rule in says if rule not in broken])


def a_rule(bench: Workbench) -> str:
    """Some rule of the world."""
    return next((guard.rule for tool in bench.tools for guard in tool.guards), "R1")
