"""`teach`: what a strong model's trials say of each task."""

import shlex
from pathlib import Path

from evaluator.results import of_one_agent, results_in
from evaluator.teach import NEVER_SOLVED, TAUGHT, TAUGHT_TASKS, show_teaching, teach, write
from skillweave.errors import ConfigError


def run_teach(path: Path, min_passes: int, max_rate: float, *, agent: str | None, user: str | None) -> int:
    """The exit status. Raises ConfigError, ArtifactError."""
    results = results_in(path)
    teaching = teach(of_one_agent(results, agent, user))
    if not teaching.taught:
        raise ConfigError(f"{str(path)!r} holds no scored results to teach from; score first: python -m evaluator run")
    write(results.store, teaching, min_passes=min_passes, max_rate=max_rate)
    show_teaching(teaching, min_passes=min_passes, max_rate=max_rate)
    folder, tasks = shlex.quote(str(results.store.root)), shlex.quote(f"@{results.store.root / TAUGHT_TASKS}")
    print(
        f"wrote {TAUGHT}, {TAUGHT_TASKS}, {NEVER_SOLVED} in {folder}; next: audit what was never solved "
        f"(python -m evaluator show TASK), train on the rest: python -m rollout run --tasks {tasks}"
    )
    return 0
