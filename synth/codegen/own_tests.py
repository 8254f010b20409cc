"""Runs a server's own tests by pytest, in the sandbox, in the folders that they will lie in."""

import re

from skillweave.sandbox.limits import Limits
from skillweave.sandbox.run import run
from synth.codegen.runtime_files import runtime_files

PASSED = re.compile(r"^(\d+) passed\b.* in [\d.]+s.*\s*\Z", re.MULTILINE)
"""pytest's last line. Code that ends the process has a status of 0 as well."""
TEST = re.compile(r"^def (test_\w+)", re.MULTILINE)
SHOWN = 3000
"""Characters of pytest's report that are told."""


def failures(server: str, source: str, tests: str, database: bytes, limits: Limits | None = None) -> list[str]:
    """What fails, in words; empty where all tests pass."""
    files: dict[str, str | bytes] = {f"mcp_servers/{name}": text for name, text in runtime_files().items()}
    files[f"mcp_servers/{server}.py"] = source
    files[f"mcp_servers/tests/test_{server}.py"] = tests
    files[f"database/{server}.sqlite"] = database
    command = ["-m", "pytest", "-q", "-x", "--tb=short", "-p", "no:cacheprovider", "--disable-plugin-autoload"]
    outcome = run(files, [*command, "mcp_servers/tests"], limits=limits, packages=True)
    passed = PASSED.search(outcome.stdout)
    if outcome.ok and passed and int(passed[1]) >= len(set(TEST.findall(tests))):
        return []
    why = outcome.reason or "pytest did not tell that all of them have passed"
    return [f"the tests do not pass: {why}\n{(outcome.stdout + outcome.stderr)[-SHOWN:]}"]
