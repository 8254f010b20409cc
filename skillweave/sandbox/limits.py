"""Limits of one run of generated code."""

from dataclasses import dataclass
from typing import Self

from skillweave.config.sections import SandboxConfig, Strength

MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class SandboxLimits:
    """What a run may use at most, and how it has to be confined at least. The defaults are the configuration's."""

    minimum: Strength = "limits"
    """On a machine that offers less, the code is not started."""
    seconds: float = 120.0
    """Of wall time."""
    cpu_seconds: int = 60
    memory_bytes: int = 1024 * MEGABYTE
    """Of address space, and of memory in use."""
    threads: int = 32
    """All that run at once, the first one included; further processes there are none."""
    file_bytes: int = 64 * MEGABYTE
    """The largest file that may be written."""
    disk_bytes: int = 256 * MEGABYTE
    """All files of the folder together; looked at while the code runs, so it may be passed for a moment."""
    files: int = 2000
    """Files and folders in the folder."""
    open_files: int = 128
    output_bytes: int = 64 * MEGABYTE
    """Of stdout and stderr together."""

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
        """What the kernel itself enforces: name of the resource to its soft and hard limit."""
        return {
            "RLIMIT_AS": (self.memory_bytes, self.memory_bytes),
            # One second between them: first a signal that says what happened, then death.
            "RLIMIT_CPU": (self.cpu_seconds, self.cpu_seconds + 1),
            "RLIMIT_FSIZE": (self.file_bytes, self.file_bytes),
            "RLIMIT_NOFILE": (self.open_files, self.open_files),
            "RLIMIT_CORE": (0, 0),
        }

    def of_watch(self) -> dict[str, int]:
        """What no limit of the kernel bounds, and the launcher watches instead."""
        return {"threads": self.threads, "memory": self.memory_bytes, "disk": self.disk_bytes}

    def passed(self, word: str) -> str:
        """What the code did, where the watch found it beyond one of its bounds."""
        return {
            "threads": f"it started more than {self.threads} threads",
            "memory": f"it used more than {self.memory_bytes} bytes of memory",
            "disk": f"it wrote more than {self.disk_bytes} bytes to files that it deleted but kept open",
        }[word]
