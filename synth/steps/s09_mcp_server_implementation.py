"""s09: have each world's MCP server written, and prove it equal to its contract.

The author's server is checked without running it, then against the contract on calls that a model would make and on
calls that nobody would; what differs goes back as it was seen, to be patched. Its own tests have to pass too. A server
that is still wrong after that is rejected: the least bad is never kept.
"""

import asyncio
from collections.abc import Sequence

from skillweave.errors import AuthorError
from skillweave.llm.patch import PatchError, apply_patch, parse_patch
from skillweave.llm.question import question
from skillweave.schema.blueprint import Blueprint
from synth.artifacts import BLUEPRINTS, DATABASE, SERVER_RUNTIME, SERVER_TESTS, SERVERS, each, text
from synth.codegen.own_tests import failures
from synth.codegen.proof import Proof, ServerReport, faults, prepare
from synth.codegen.runtime_files import runtime_files
from synth.codegen.static import static_faults, test_faults
from synth.context import Context
from synth.step import Params, step

WRITE = question("server.write", returns=str, role="coding", form="code")
REPAIR = question("server.repair", returns=str, role="coding", form="text")
TESTS = question("server.tests", returns=str, role="coding", form="code")

SERVER_SESSION = text("mcp_servers/_session.py")
SERVER_ARGUMENTS = text("mcp_servers/_arguments.py")
SERVER_REPORTS = each("mcp_servers/reports/{key}.json", ServerReport)
RUNTIME = {
    "_runtime.py": SERVER_RUNTIME,
    "_session.py": SERVER_SESSION,
    "_arguments.py": SERVER_ARGUMENTS,
}


class ServerParams(Params):
    """How servers are written. `repairs` also bounds the rounds of patching."""


async def write_runtime(ctx: Context[ServerParams], keys: list[str]) -> None:
    """The files that all servers stand on."""
    for name, source in runtime_files().items():
        ctx.write(RUNTIME[name], "all", source)


@step(
    each=BLUEPRINTS,
    reads=[BLUEPRINTS, DATABASE],
    writes=[SERVERS, SERVER_TESTS, SERVER_REPORTS],
    params=ServerParams,
    questions=[WRITE, REPAIR, TESTS],
    join=write_runtime,
    join_writes=[SERVER_RUNTIME, SERVER_SESSION, SERVER_ARGUMENTS],
)
async def mcp_server_implementation(ctx: Context[ServerParams], key: str) -> None:
    blueprint = ctx.read(BLUEPRINTS)
    database = ctx.path(DATABASE).read_bytes()
    proof = await ctx.offload(prepare, blueprint, database, ctx.now, f"{ctx.seed}/{key}")
    source, rounds = await _proved(ctx, blueprint, proof)

    async def failing(tests: str) -> Sequence[str]:
        wrong = test_faults(tests, blueprint)
        return wrong or await asyncio.to_thread(failures, key, source, tests, database)

    tests = await ctx.ask(TESTS, blueprint=blueprint, examples=list(proof.examples), now=ctx.now, check=failing)
    report = proof.report(rounds, tests.count("\ndef test_"))
    ctx.write(SERVERS, key, source)
    ctx.write(SERVER_TESTS, key, tests)
    ctx.write(SERVER_REPORTS, key, report)
    ctx.count("cases", report.cases)
    ctx.count("guards", report.guards)
    ctx.count("guards unmet", len(report.guards_unmet))


async def _proved(ctx: Context[ServerParams], blueprint: Blueprint, proof: Proof) -> tuple[str, int]:
    """A source that equals its contract, and how many patches that took. AuthorError where none does."""
    source = await ctx.ask(
        WRITE, blueprint=blueprint, now=ctx.now, check=lambda written: static_faults(written, blueprint)
    )
    for number in range(ctx.params.repairs + 1):
        wrong = await ctx.offload(faults, proof, source)
        if not wrong:
            return source, number
        if number < ctx.params.repairs:
            source = await _patched(ctx, blueprint, source, wrong, number + 1)
    raise AuthorError(
        f"the server of {ctx.key!r} still differs from its contract after {ctx.params.repairs} repairs: {wrong[0]}",
        question=REPAIR.name,
        key=ctx.key,
        reasons=tuple(wrong),
    )


async def _patched(
    ctx: Context[ServerParams], blueprint: Blueprint, source: str, wrong: Sequence[str], number: int
) -> str:
    """The source with the author's SEARCH/REPLACE blocks applied."""

    def check(answer: str) -> Sequence[str]:
        try:
            return static_faults(apply_patch(source, parse_patch(answer)), blueprint)
        except PatchError as error:
            return [str(error)]

    answer = await ctx.ask(
        REPAIR,
        key=f"{ctx.key}/{number}",
        blueprint=blueprint,
        source=source,
        failures=list(wrong),
        check=check,
    )
    return apply_patch(source, parse_patch(answer))
