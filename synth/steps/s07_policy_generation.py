"""s07: write each world's policy, after its rules' sentences were set against their SQL.

A rule is told twice, in words and in SQL; agents read the words, scores stand on the SQL. An item whose two tellings
differ is rejected.
"""

from skillweave.llm.question import question
from synth.artifacts import BLUEPRINTS, DATABASE, POLICIES
from synth.context import Context
from synth.policy.manual import faults, stated_rules
from synth.step import Params, step

WRITE = question("policy.write", returns=str, form="text")


@step(each=BLUEPRINTS, reads=[BLUEPRINTS, DATABASE], writes=[POLICIES], params=Params, questions=[WRITE])
async def policy_generation(ctx: Context[Params], key: str) -> None:
    blueprint = ctx.read(BLUEPRINTS)
    rules = {tool.name: stated_rules(tool) for tool in blueprint.tools}
    text = await ctx.ask(WRITE, blueprint=blueprint, rules=rules, check=lambda answer: faults(answer, blueprint))
    ctx.count("rules", len({rule for stated in rules.values() for rule in stated}))
    ctx.write(POLICIES, key, text.strip() + "\n")
