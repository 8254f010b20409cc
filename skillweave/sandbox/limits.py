"""Limits of one run of generated code."""

from dataclasses import dataclass
from typing import Self

from skillweave.config.sections import SandboxConfig, Strength

MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class SandboxLimits:
    """What a run may use at most, and how strongly it must be confined. The defaults are those of the configuration."""

    minimum: Strength = "limits"
    """The weakest confinement allowed; on a machine that offers less, the code is not started."""
    seconds: float = 120.0
    """Seconds of wall time."""
    cpu_seconds: int = 60
    memory_bytes: int = 1024 * MEGABYTE
    """Bytes of address space, and of memory in use."""
    threads: int = 32
    """Threads at once, the first one included. The code can start no processes."""
    file_bytes: int = 64 * MEGABYTE
    """Bytes of the largest file that may be written."""
    disk_bytes: int = 256 * MEGABYTE
    """Bytes of all files in the folder. Checked at intervals, so the code may pass it for a moment."""
    files: int = 2000
    """Files and folders in the folder."""
    open_files: int = 128
    output_bytes: int = 64 * MEGABYTE
    """Bytes of stdout and stderr together."""

    @classmethod
    def of(cls, config: SandboxConfig) -> Self:
        """The limits that a configuration sets."""
        return cls(
            minimum=config.minimum,
            seconds=config.wall_s,
            cpu_seconds=config.cpu_s,
            memory_bytes=config.memory_mb * MEGABYTE,
            threads=config.processes,
            file_bytes=config.file_mb * MEGABYTE,
            disk_bytes=config.disk_mb * MEGABYTE,
            files=config.files,
            output_bytes=config.output_mb * MEGABYTE,
        )

    def of_kernel(self) -> dict[str, tuple[int, int]]:
        """What the kernel enforces: name of the resource -> soft and hard limit."""
        return {
            "RLIMIT_AS": (self.memory_bytes, self.memory_bytes),
            # The soft limit sends a signal that says what happened; one second later the hard limit kills.
            "RLIMIT_CPU": (self.cpu_seconds, self.cpu_seconds + 1),
            "RLIMIT_FSIZE": (self.file_bytes, self.file_bytes),
            "RLIMIT_NOFILE": (self.open_files, self.open_files),
            "RLIMIT_CORE": (0, 0),
        }

    def of_watch(self) -> dict[str, int]:
        """What the kernel does not limit and the launcher watches: name -> bound."""
        return {"threads": self.threads, "memory": self.memory_bytes, "disk": self.disk_bytes}

    def passed(self, word: str) -> str:
        """What the code did, in words. `word` is the bound of `of_watch` that it passed."""
        return {
            "threads": f"it started more than {self.threads} threads",
            "memory": f"it used more than {self.memory_bytes} bytes of memory",
            "disk": f"it wrote more than {self.disk_bytes} bytes to files that it deleted but kept open",
        }[word]
