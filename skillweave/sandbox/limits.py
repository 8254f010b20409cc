"""Limits of one run of generated code."""

from dataclasses import dataclass

MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Limits:
    seconds: float = 20.0
    """Of wall time."""
    cpu_seconds: int = 15
    memory_bytes: int = 1024 * MEGABYTE
    """Of address space."""
    file_bytes: int = 64 * MEGABYTE
    """The largest file that may be written."""
    disk_bytes: int = 256 * MEGABYTE
    """All files of the folder together; looked at while the code runs, so it may be passed for a moment."""
    files: int = 2000
    """Files in the folder."""
    open_files: int = 128
    output_bytes: int = 8 * MEGABYTE
    """Of stdout and stderr together."""

    def of_kernel(self) -> dict[str, tuple[int, int]]:
        """What the kernel itself enforces: name of the resource to its soft and hard limit."""
        return {
            "RLIMIT_AS": (self.memory_bytes, self.memory_bytes),
            # One second between them: first a signal that says what happened, then death.
            "RLIMIT_CPU": (self.cpu_seconds, self.cpu_seconds + 1),
            "RLIMIT_FSIZE": (self.file_bytes, self.file_bytes),
            "RLIMIT_NOFILE": (self.open_files, self.open_files),
            "RLIMIT_CORE": (0, 0),
        }
