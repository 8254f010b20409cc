"""Runs a server's own tests by pytest, in the sandbox, in the folders that they will lie in."""

import re

from skillweave.sandbox.limits import Limits
from skillweave.sandbox.run import run
from synth.codegen.runtime_files import runtime_files

PASSED = re.compile(r"^(\d+) passed\b.* in [\d.]+s.*\s*\Z", re.MULTILINE)
"""pytest's last line. Code that ends the process has a status of 0 as well."""
TEST = re.compile(r"^def (test_\w+)", re.MULTILINE)
FAILED = re.compile(r"^_{3,} (.+?) _{3,}\n(.*?)(?=^_{3,} |^={3,} |\Z)", re.MULTILINE | re.DOTALL)
"""A test that fails, with pytest's account of it."""
MOST = 12
"""Tests that fail and are told; pytest stops there."""
LINES = 12
"""Of pytest's account of one of them."""
COMMAND = ("-m", "pytest", "-q", f"--maxfail={MOST}", "--tb=short", "-o", "verbosity_assertions=2")


def failures(server: str, source: str, tests: str, database: bytes, limits: Limits | None = None) -> list[str]:
    """What fails, in words; empty where all tests pass."""
    files: dict[str, str | bytes] = {f"mcp_servers/{name}": text for name, text in runtime_files().items()}
    files[f"mcp_servers/{server}.py"] = source
    files[f"mcp_servers/tests/test_{server}.py"] = tests
    files[f"database/{server}.sqlite"] = database
    command = [*COMMAND, "-p", "no:cacheprovider", "--disable-plugin-autoload", "mcp_servers/tests"]
    outcome = run(files, command, limits=limits, packages=True)
    passed = PASSED.search(outcome.stdout)
    if outcome.ok and passed and int(passed[1]) >= len(set(TEST.findall(tests))):
        return []
    why = outcome.reason or "pytest did not tell that all of them have passed"
    told = [f"{name}:\n{_account(text)}" for name, text in FAILED.findall(outcome.stdout)]
    if told:
        return [f"these tests do not pass on the right server:\n{one}" if n == 0 else one for n, one in enumerate(told)]
    last = (outcome.stdout + outcome.stderr).strip().splitlines()[-LINES:]
    return ["\n".join([f"the tests do not pass: {why}", *last])]


def _account(text: str) -> str:
    """What a failing test did and what pytest says of it, without the code around it."""
    lines = [line for line in text.splitlines() if line.startswith(("E ", "    "))]
    return "\n".join(lines[:LINES])
