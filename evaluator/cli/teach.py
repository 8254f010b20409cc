"""`teach`: what a strong model's trials say of each task."""

import shlex
from pathlib import Path

from evaluator.results import results_in
from evaluator.teach import NEVER_SOLVED, TAUGHT, TAUGHT_TASKS, show_teaching, teach, write


def run_teach(path: Path, min_passes: int, max_rate: float) -> int:
    """The exit status. Raises ConfigError, ArtifactError."""
    results = results_in(path)
    teaching = teach(results)
    write(results.store, teaching, min_passes=min_passes, max_rate=max_rate)
    show_teaching(teaching, min_passes=min_passes, max_rate=max_rate)
    folder = shlex.quote(str(results.store.root))
    audit = f"; audit what was never solved ({NEVER_SOLVED}) with: python -m evaluator show ID"
    print(f"wrote {TAUGHT}, {TAUGHT_TASKS} in {folder}{audit if teaching.never_solved else ''}")
    return 0
