"""s07: write each world's policy: the author words it, and each rule stands in it in the contract's very sentence."""

from skillweave.llm.question import question
from synth.artifacts import BLUEPRINTS, POLICIES, SUMMARIES
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.policy.manual import ManualParts, assemble_manual, manual_faults, sentences_of, stated_rules

WRITE = question("policy.write", returns=ManualParts)


# SUMMARIES is read so that the item waits for its world: a world that s06 rejects needs no policy.
@step(each=BLUEPRINTS, reads=[BLUEPRINTS, SUMMARIES], writes=[POLICIES], params=Params, questions=[WRITE])
async def policy_generation(ctx: Context[Params], key: str) -> None:
    blueprint = ctx.read(BLUEPRINTS)
    sentences = sentences_of(blueprint)
    manual = await ctx.ask(
        WRITE,
        blueprint=blueprint,
        rules={tool.name: list(stated_rules(tool)) for tool in blueprint.tools},
        sentences=sentences,
        check=lambda answer: manual_faults(answer, blueprint),
    )
    ctx.count("rules", len(sentences))
    ctx.write(POLICIES, key, assemble_manual(manual, blueprint))
