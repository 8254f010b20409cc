"""Runs a server's own tests by pytest, in the sandbox, in the folders that they will lie in."""

from skillweave.sandbox.limits import Limits
from skillweave.sandbox.run import run
from synth.codegen.runtime_files import runtime_files

LIMITS = Limits(seconds=90, cpu_seconds=30)
SHOWN = 3000
"""Characters of pytest's report that are told."""


def failures(server: str, source: str, tests: str, database: bytes) -> list[str]:
    """What fails, in words; empty where all tests pass."""
    files: dict[str, str | bytes] = {f"mcp_servers/{name}": text for name, text in runtime_files().items()}
    files[f"mcp_servers/{server}.py"] = source
    files[f"mcp_servers/tests/test_{server}.py"] = tests
    files[f"database/{server}.sqlite"] = database
    command = ["-m", "pytest", "-q", "-x", "--tb=short", "-p", "no:cacheprovider", "--disable-plugin-autoload"]
    outcome = run(files, [*command, "mcp_servers/tests"], limits=LIMITS, packages=True)
    if outcome.ok:
        return []
    return [f"the tests do not pass: {outcome.reason}\n{(outcome.stdout + outcome.stderr)[-SHOWN:]}"]
