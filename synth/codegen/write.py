"""A server is had written: asked for, checked, held against its contract, sent back as long as it differs, and tested.

What the author gives is checked without running it, then on calls that a model would make and on calls that nobody
would; what differs goes back as it was seen, to be patched. Its own tests have to pass too. A server that is still
wrong after that is an AuthorError: the least bad is never kept.
"""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from skillweave.errors import AuthorError
from skillweave.llm.patch import PatchError, apply_patch, parse_patch
from skillweave.llm.question import question
from skillweave.sandbox.strength import strength
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.fusion import BridgeProof
from synth.artifacts import each
from synth.codegen.differential import Difference
from synth.codegen.excerpt import excerpt
from synth.codegen.own_tests import failures
from synth.codegen.proof import Proof, ServerReport, faults, prepare
from synth.codegen.sheet import sheets_of, tables_of
from synth.codegen.skeleton import registry
from synth.codegen.static import static_faults, test_faults
from synth.context import Context
from synth.step import Params

P = TypeVar("P", bound=Params)

WRITE = question("server.write", returns=str, role="coding", form="code")
REPAIR = question("server.repair", returns=str, role="coding", form="text")
TESTS = question("server.tests", returns=str, role="coding", form="code")
QUESTIONS = (WRITE, REPAIR, TESTS)
"""What a step declares that has a server written."""
SERVER_REPORTS = each("mcp_servers/reports/{key}.json", ServerReport)


class Written(NamedTuple):
    source: str
    tests: str
    report: ServerReport


async def written_server(
    ctx: Context[P], blueprint: Blueprint, database: bytes, bridges: Sequence[BridgeProof] = ()
) -> Written:
    """The server of a world with its tests, both by the author, and its proof. AuthorError where it is never right.

    `bridges` show the bridge rules of a fused world. The step's `repairs` also bounds the rounds of patching.
    """
    name = blueprint.server
    ctx.log(f"sandbox strength: {strength()}")
    proof = await ctx.offload(prepare, blueprint, database, ctx.now, f"{ctx.seed}/{name}", (), tuple(bridges))
    source, rounds = await _proved(ctx, blueprint, proof)

    async def failing(tests: str) -> Sequence[str]:
        wrong = test_faults(tests, blueprint)
        return wrong or await asyncio.to_thread(failures, name, source, tests, database, ctx.sandbox)

    tests = await ctx.ask(TESTS, blueprint=blueprint, examples=list(proof.examples), check=failing)
    report = proof.report(rounds, tests.count("\ndef test_"))
    ctx.count("cases", report.cases)
    ctx.count("guards", report.guards)
    ctx.count("guards unmet", len(report.guards_unmet))
    return Written(source, tests, report)


async def _proved(ctx: Context[P], blueprint: Blueprint, proof: Proof) -> tuple[str, int]:
    """A source that equals its contract, and how many patches that took. AuthorError where none does."""
    source = await ctx.ask(
        WRITE,
        blueprint=blueprint,
        now=ctx.now,
        registry="\n".join(registry(blueprint, ctx.now)),
        sheets=sheets_of(blueprint),
        tables=[*blueprint.tables, *(view.entity for view in blueprint.views)],
        check=lambda written: static_faults(written, blueprint),
    )
    for number in range(ctx.params.repairs + 1):
        wrong = await ctx.offload(faults, proof, source, ctx.sandbox)
        if not wrong:
            return source, number
        if number < ctx.params.repairs:
            source = await _patched(ctx, blueprint, source, wrong, number + 1)
    raise AuthorError(
        f"the server of {ctx.key!r} still differs from its contract after {ctx.params.repairs} repairs: {wrong[0]}",
        question=REPAIR.name,
        key=ctx.key,
        reasons=tuple(map(str, wrong)),
    )


async def _patched(ctx: Context[P], blueprint: Blueprint, source: str, wrong: Sequence[Difference], number: int) -> str:
    """The source with the author's SEARCH/REPLACE blocks applied. Only what may be at fault is shown."""
    concerned = {tool for difference in wrong for tool in difference.tools}
    if not all(difference.tools for difference in wrong):
        concerned = set()
    sheets = sheets_of(blueprint, concerned)
    shown = excerpt(source, {tool.name for tool in blueprint.tools} - {sheet.tool.name for sheet in sheets})

    def corrected(answer: str) -> str:
        return shown.whole(apply_patch(shown.text, parse_patch(answer)))

    def check(answer: str) -> Sequence[str]:
        try:
            return static_faults(corrected(answer), blueprint)
        except PatchError as error:
            return [str(error)]

    answer = await ctx.ask(
        REPAIR,
        key=f"{ctx.key}/{number}",
        blueprint=blueprint,
        sheets=sheets,
        tables=tables_of(blueprint, sheets),
        source=shown.text,
        failures=[str(difference) for difference in wrong],
        check=check,
    )
    return corrected(answer)
