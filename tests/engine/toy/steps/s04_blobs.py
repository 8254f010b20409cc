"""s04: keep notes as bytes."""

from skillweave.base.errors import AuthorError
from synth.engine.context import Context
from synth.engine.step import Params, step
from tests.engine.toy.artifacts import BLOBS, NOTES, SHOUTS


@step(each=NOTES, reads=[NOTES], writes=[BLOBS, SHOUTS], params=Params)
async def blobs(ctx: Context[Params], key: str) -> None:
    if "dull" in ctx.read(NOTES):
        raise AuthorError(f"the note on {key} is dull", lies_in="s03_notes")
    with ctx.write_path(BLOBS, key) as path:
        path.write_bytes(ctx.read(NOTES).encode())
    ctx.write(SHOUTS, key, {"note": ctx.path(NOTES).read_text()})
