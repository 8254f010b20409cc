"""Gate: the golden calls break no rule, and the policy states every rule of the tools called or requested."""

from collections.abc import Collection

from skillweave.schema.combination import Combination
from skillweave.schema.record import Json
from skillweave.world.tools import tool_of
from skillweave.world.world import World
from synth.gates.gate import TaskGate
from synth.tasks.replay import GoldenRun, Rejected

GATE = TaskGate(
    name="lawful",
    proves="The golden calls break no rule, and the policy states the rules in play.",
    runs="The verdict of each rule of the agent's at the moment of the call; the rule numbers in the policy.",
    figures={
        "lawful.rules_met": "rules of the tools called or requested",
        "lawful.agent_rules_in_play": "rules evaluated that only the agent enforces",
        "lawful.violations": "rules that the golden calls break: always none",
    },
    reasons=(
        "golden breaks a rule",
        "rule not in the policy",
    ),
    check=lambda judged: {"lawful": check_lawful(judged.world, judged.combination, judged.golden, judged.stated)},
)


def check_lawful(world: World, combination: Combination, run: GoldenRun, stated: Collection[str]) -> dict[str, Json]:
    """The gate's figures. Raises Rejected if a golden call breaks a rule, or the policy lacks one."""
    broken = [rule for result in run.results for rule in result.violations]
    if broken:
        raise Rejected("golden breaks a rule", ", ".join(broken))
    tools = dict.fromkeys(call.tool for call in combination.calls)
    called = [tool_of(world.blueprint, tool) for tool in tools]
    rules = [guard.rule for tool in called for guard in tool.guards]
    rules += [effect.rule for tool in called for effect in tool.effects]
    unstated = [rule for rule in rules if rule not in stated]
    if unstated:
        raise Rejected("rule not in the policy", ", ".join(unstated))
    in_play = sorted({verdict.rule for result in run.results for verdict in result.verdicts})
    return {"rules_met": len(set(rules)), "agent_rules_in_play": [*in_play], "violations": 0}
