"""What a process and all that it started hold in memory, by `/proc`; nothing where the platform does not tell."""

from pathlib import Path


def held(process: int) -> int:
    """Bytes that the whole family holds, each page shared out among those that share it (PSS)."""
    return sum(_held(each) for each in family(process))


def family(process: int) -> list[int]:
    """A process and all that it started; only itself where there is no `/proc`."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name in brackets may hold anything; state and parent stand behind it.
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        parents.setdefault(parent, []).append(int(path.parent.name))
    found = [process]
    for each in found:
        found += parents.get(each, [])
    return found


def megabytes(size: int) -> int | None:
    """None where nothing was seen."""
    return round(size / 2**20) if size else None


def _held(process: int) -> int:
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
