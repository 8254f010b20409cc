"""s01: take the seeds as words."""

from synth.engine.context import Context
from synth.engine.step import Params, step
from tests.engine.toy.artifacts import WORDS


@step(each=None, reads=[], writes=[WORDS], params=Params)
async def words(ctx: Context[Params], key: str) -> None:
    for seed in ctx.seeds:
        ctx.write(WORDS, seed, seed)
