"""`rescore`: old rollouts scored again, and every result that is another one than before."""

import shutil
from collections.abc import Iterator
from dataclasses import replace

from evaluator.cli.begin import begun
from evaluator.cli.options import Options
from evaluator.cli.run import evaluate
from evaluator.cli.tell import tell
from evaluator.compare import flips, show_flips
from evaluator.results import ResultsFile
from skillweave.errors import ConfigError
from skillweave.schema.comparison import Rescored

FLIPS = "flips.jsonl"


def run_rescore(options: Options) -> int:
    """The exit status. Raises ConfigError, ArtifactError.

    New results are made in a file beside the old ones, which take their name when all are there.
    """
    if not options.output.is_file():
        raise ConfigError(
            f"there are no results at {str(options.output)!r} to compare with; score first: python -m evaluator run"
        )
    made = options.output.with_name(f"{options.output.stem}.rescored.jsonl")
    before = options.output.with_name(f"{options.output.stem}.before.jsonl")
    with begun(replace(options, output_file=made)) as run:
        evaluate(run)
        # Flips first: a rescoring that is stopped here finds the old results where they were.
        _write_flips(run.results, flips(ResultsFile(options.output), run.results))
        shutil.copyfile(options.output, before)
        made.replace(options.output)
        run.results = ResultsFile(options.output)
        status = tell(run)
        show_flips(flips(ResultsFile(before), run.results))
        print(f"wrote {FLIPS} in {run.results.store.root}; the results before are {before.name}")
    return status


def _write_flips(results: ResultsFile, found: Iterator[Rescored]) -> None:
    with results.store.replacing(FLIPS) as temporary, temporary.open("w", encoding="utf-8") as stream:
        stream.writelines(one.model_dump_json() + "\n" for one in found)
