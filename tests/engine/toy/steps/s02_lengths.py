"""s02: count letters; only whether there are many matters further on."""

from skillweave.base.errors import AuthorError
from synth.engine.context import Context
from synth.engine.step import Params, step
from tests.engine.toy.artifacts import LENGTHS, WORDS
from tests.engine.toy.voices import VOICES


class LengthParams(Params):
    most: int = 100


@step(each=WORDS, reads=[WORDS], writes=[LENGTHS], params=LengthParams, registries=[VOICES])
async def lengths(ctx: Context[LengthParams], key: str) -> None:
    if key == "endless":
        raise AuthorError("nobody can count that far")
    ctx.write(LENGTHS, key, min(len(ctx.read(WORDS)), ctx.params.most))
