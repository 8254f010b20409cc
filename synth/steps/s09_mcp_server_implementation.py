"""s09: ask the author for each world's MCP server, and prove it equal to its contract.

The server's source is checked without being run. Then it is run on ordinary and on absurd calls and compared with the
contract; the author sees what differs and patches it. The tests that the author writes for the server must pass too. A
server that is still wrong after the last repair is rejected: the least bad one is never kept. The calls on which its
proof stands are kept for the worlds that domains are joined to.
"""

from synth.artifacts import BLUEPRINTS, DATABASE, KEY_CALLS, SERVER_RUNTIME
from synth.engine.artifact import text
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.servers.runtime import runtime_files
from synth.servers.writing import QUESTIONS, WRITES, written_server

SERVER_SESSION = text("mcp_servers/_session.py")
SERVER_ARGUMENTS = text("mcp_servers/_arguments.py")
SERVER_STATE = text("mcp_servers/_state.py")
SERVER_PEOPLE = text("mcp_servers/_people.py")
SERVER_NOISE = text("mcp_servers/_noise.py")
SERVER_TRANSPORT = text("mcp_servers/_transport.py")
RUNTIME = {
    "_runtime.py": SERVER_RUNTIME,
    "_session.py": SERVER_SESSION,
    "_arguments.py": SERVER_ARGUMENTS,
    "_state.py": SERVER_STATE,
    "_people.py": SERVER_PEOPLE,
    "_noise.py": SERVER_NOISE,
    "_transport.py": SERVER_TRANSPORT,
}


class ServerParams(Params):
    """How servers are written. `repairs` also bounds the rounds of patching."""


async def write_runtime(ctx: Context[ServerParams], keys: list[str]) -> None:
    """Write the runtime, the files that all servers import."""
    for name, source in runtime_files().items():
        ctx.write(RUNTIME[name], "all", source)


@step(
    each=BLUEPRINTS,
    reads=[BLUEPRINTS, DATABASE],
    writes=[*WRITES, KEY_CALLS],
    params=ServerParams,
    questions=QUESTIONS,
    join=write_runtime,
    join_writes=list(RUNTIME.values()),
)
async def mcp_server_implementation(ctx: Context[ServerParams], key: str) -> None:
    server = await written_server(ctx, ctx.read(BLUEPRINTS), ctx.path(DATABASE).read_bytes())
    server.write(ctx)
    ctx.write(KEY_CALLS, key, server.key_calls)
