"""s03: have each word explained."""

import asyncio
import os
from pathlib import Path

from skillweave.llm.question import question
from synth.engine.context import Context
from synth.engine.step import Params, step
from tests.engine.toy.artifacts import LENGTHS, LINES, NOTES, SUMMARY, WORDS
from tests.engine.toy.wording import shout

NOTE = question("note", returns=str, package="tests.engine.toy.questions", under="note")
MEND = question("mend", returns=str, package="tests.engine.toy.questions", under="note")


async def summary(ctx: Context[Params], keys: list[str]) -> None:
    ctx.write(SUMMARY, "", "".join(f"{key}: {len(ctx.read(NOTES, key))}\n" for key in keys))


def die_once(key: str) -> None:
    """End the process, once, for the key that the environment names."""
    dead = Path(os.environ.get("TOY_DEAD", "/nowhere/there"))
    if dead.parent.is_dir() and key == "beta" and not dead.exists():
        dead.touch()
        os._exit(1)


@step(
    each=LENGTHS,
    reads=[WORDS, LENGTHS],
    writes=[NOTES, LINES],
    params=Params,
    questions=[NOTE, MEND],
    join=summary,
    join_writes=[SUMMARY],
)
async def notes(ctx: Context[Params], key: str) -> None:
    if key == "broken":
        raise RuntimeError("this word breaks things")
    if "TOY_HELD" in os.environ and Path(os.environ["TOY_LOG"]).exists():
        await asyncio.Event().wait()
    die_once(key)
    word = ctx.read(WORDS)
    answer = await ctx.ask(NOTE, word=word)
    if ctx.sent_back:
        answer = await ctx.ask(MEND, word=word, answer=answer, reasons=list(ctx.sent_back))
    drawn = ctx.random(key).randrange(1000)
    ctx.write(
        NOTES, key, f"{answer}, loudly {await ctx.offload(shout, word)}, of {ctx.read(LENGTHS)} letters, {drawn}\n"
    )
    ctx.write(LINES, key, [{"n": n} for n in range(ctx.read(LENGTHS))])
    ctx.reject("the letter z", "rare letter")
    if "TOY_LOG" in os.environ:
        with Path(os.environ["TOY_LOG"]).open("a") as stream:
            stream.write(f"{key}\n")
