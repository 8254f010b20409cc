"""Seatbelt, the sandbox of macOS: the profile that `sandbox-exec` is given. Everything that it does not name is denied.

Its language is Apple's own and hardly documented; of rules that fit, the last one holds.
"""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

SYSTEM = (
    "/usr/lib",
    "/usr/share/zoneinfo",
    "/System/Library",
    "/System/Cryptexes",
    "/System/Volumes/Preboot/Cryptexes",
    "/private/preboot/Cryptexes",
    "/private/var/db/dyld",
    "/private/var/db/timezone",
)
"""What the dynamic linker and the C library read."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
INTERPRETER = "Resources/Python.app/Contents/MacOS/Python"
"""In a framework build, `python` is a stub that becomes this program."""


def profile(readable: Sequence[str], writable: Sequence[str]) -> str:
    """Allow the interpreter, reading beneath `readable`, reading and writing beneath `writable`."""
    python = {sys.executable, os.path.realpath(sys.executable), os.path.join(sys.base_prefix, INTERPRETER)}
    above = {str(parent) for path in (*readable, *writable) for parent in Path(os.path.realpath(path)).parents}
    read = [*_named("subpath", {*SYSTEM, *map(os.path.realpath, (*readable, *writable))}), *_named("literal", DEVICES)]
    lines = [
        "(version 1)",
        "(deny default)",
        _allow("process-exec", _named("literal", python)),
        _allow("file-read*", read),
        _allow("file-read-metadata", _named("literal", above)),
        "(allow sysctl-read)",
        "(allow signal (target self))",
        _allow("file-write-data", _named("literal", ["/dev/null"])),
    ]
    if writable:
        lines.append(_allow("file-write*", _named("subpath", map(os.path.realpath, writable))))
        lines.append("(deny file-write-create (vnode-type SYMLINK))")
    return "\n".join([*lines, "(deny network*)", "(deny process-fork)"]) + "\n"


def _allow(operation: str, filters: Sequence[str]) -> str:
    return f"(allow {operation} {' '.join(filters)})"


def _named(kind: str, paths: Iterable[str]) -> list[str]:
    return [f"({kind} {json.dumps(path, ensure_ascii=False)})" for path in sorted(paths)]
