"""Commands about a finished dataset: `verify`, `card` and `decontaminate`.

`verify` compares every file's digest with the manifest. Digests show that a file is the one that was written; to
show that its content is right, `verify` runs all gates again, and every server in the sandbox.
"""

import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from skillweave.base.command import one_line
from skillweave.base.digest import digest_bytes, digest_file
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.manifest import MANIFEST, ItemOutput, Manifest
from skillweave.base.progress import progress
from skillweave.base.store import Store
from skillweave.config.sections import Config
from skillweave.schema.call import SESSION_TOOLS
from skillweave.schema.reports import Decontamination
from skillweave.world.dataset import Dataset
from synth.artifacts import QUERIES
from synth.cli.display import counted, show_table
from synth.cli.options import DEFAULT_CONFIG, PipelineOptions, PipelineSource
from synth.engine.artifact import Artifact, split_parts
from synth.engine.pipeline import load_pipeline
from synth.reports.card import CARD, write_card
from synth.reports.decontamination import SHOWN, BenchmarkComparison, BenchmarkTool, read_benchmark, within

DATASET_FOLDERS = frozenset({"queries", "policies", "tool_lists", "database", "mcp_servers", "blueprints"})
"""Where what tasks are made of lies, whether or not the manifest says so."""
SHOWN_FAULTS = 20
"""Faults that are told of one file."""


def verify_outputs(place: PipelineSource, outputs: Path, *, is_quick: bool = False) -> int:
    """Print what is wrong; the exit status. Raises ConfigError where there is no dataset.

    A quick one does not try again those gates that have to be run on a task's combination, and runs no server.
    """
    store = Store(outputs)
    if not store.exists(MANIFEST):
        raise ConfigError(f"{str(outputs)!r} holds no {MANIFEST}; give the outputs folder of a run")
    advice = PipelineOptions(DEFAULT_CONFIG, None if str(outputs) == Config().outputs_dir else str(outputs))
    manifest = Manifest(store)
    joined = {
        artifact.pattern: artifact
        for step in load_pipeline(place.package).steps
        for artifact in step.artifacts
        if artifact.kind == "joined"
    }
    written = [output for record in manifest.items() for output in record.outputs]
    wrong = [line for output in written if output.artifact not in joined for line in _check(store, output)]
    for pattern, artifact in sorted(joined.items()):
        wrong.extend(_check_joined(store, artifact, [output for output in written if output.artifact == pattern]))
    wrong += _unlisted(outputs, [*(output.path for output in written), *joined])
    for line in wrong:
        print(one_line(line))
    faults = _proofs(outputs, is_quick=is_quick)
    wrong += _stale_card(outputs)
    if wrong:
        print(
            f"{counted(len(wrong), 'artifact')} in {outputs}, of {len(written)} written, changed or are no run's; "
            f"next: {advice.command('run')}"
        )
        return 1
    if faults:
        print(f"{counted(faults, 'fault')} in the tasks of {outputs}; next: {advice.command('run', '--fresh', 's16')}")
        return 1
    whole = f"{counted(len(written), 'artifact')} in {outputs} are as they were written"
    if _lacks_tasks(place, manifest):
        print(f"{whole}, but no run has come to the tasks, so none is proven; next: {advice.command('status')}")
        return 1
    print(f"{whole}; next: {advice.command('status')}")
    return 0


def _lacks_tasks(place: PipelineSource, manifest: Manifest) -> bool:
    """Whether the pipeline makes tasks, and nobody has made any."""
    makers = [step.name for step in load_pipeline(place.package).steps if QUERIES in step.writes]
    return bool(makers) and not any(record.state == "done" for name in makers for record in manifest.items(name))


def _proofs(outputs: Path, *, is_quick: bool) -> int:
    """Prove the tasks and the servers again, where there are any; how many faults were found and printed."""
    if not (outputs / "queries").is_dir():
        return 0
    for path in sorted((outputs / "queries").glob("*.jsonl")):
        # A pipe in a file's place would be waited for.
        Store(outputs).file(f"queries/{path.name}")
    # Worlds and their SQL take a while to load; a pipeline without tasks does without.
    from synth.verification.card import report_faults
    from synth.verification.dataset import ProofJob, ProofScope, run_jobs, shared_faults, task_count, task_jobs
    from synth.verification.servers import runtime_faults

    if not is_quick:
        _say_how_strong()
    dataset = Dataset(outputs)
    worlds = dataset.tasks.worlds
    against: ProofScope = "records" if is_quick else "gates"
    # The servers first: they take longest.
    servers = [ProofJob(outputs, world, None) for world in worlds if not is_quick]
    jobs = [*servers, *(job for world in worlds for job in task_jobs(outputs, world, against))]
    found: list[str] = []
    with progress("proofs", len(jobs)) as shown:
        for number, (job, faults) in enumerate(run_jobs(jobs, os.cpu_count() or 1), start=1):
            found += faults
            shown.advance(number, f"{job.world}, {counted(len(found), 'fault')}")
    found += [*shared_faults(outputs), *runtime_faults(outputs), *report_faults(dataset)]
    _print(found)
    if not found:
        tried = f", {counted(len(servers), 'server')} run in the sandbox"
        also = "; left out by --quick: servers, rules' coverage, variants and searches" if is_quick else tried
        print(f"{counted(task_count(outputs), 'task')} proven again{also}")
    return len(found)


def _stale_card(outputs: Path) -> list[str]:
    """Print and return what is wrong with the card: it is made anew by each run, and no task is wrong for it."""
    if not (outputs / "queries").is_dir():
        return []
    from synth.verification.card import card_faults

    found = card_faults(Dataset(outputs))
    for line in found:
        print(one_line(line))
    return found


def _say_how_strong() -> None:
    """Where generated code is not confined, it is said before it is run."""
    from skillweave.sandbox.strength import caution, strength

    print(caution() or f"sandbox strength: {strength()}")


def _print(faults: list[str]) -> None:
    """The faults of each file, the first of them where there are many."""
    files: dict[str, list[str]] = {}
    for fault in faults:
        files.setdefault(fault.partition(": ")[0], []).append(fault)
    for path, found in files.items():
        for fault in found[:SHOWN_FAULTS]:
            print(one_line(fault))
        if len(found) > SHOWN_FAULTS:
            print(one_line(f"{path}: and {len(found) - SHOWN_FAULTS} more"))


def _unlisted(outputs: Path, listed: Sequence[str]) -> list[str]:
    """Files among the artifacts that the manifest does not know, so that no digest says what they are."""
    named = {path.partition("/")[0] for path in listed if "/" in path}
    folders = sorted({name for name in named if not name.startswith(".")} | DATASET_FOLDERS)
    known = frozenset(listed)
    files = [path for folder in folders for path in sorted((outputs / folder).rglob("*")) if not path.is_dir()]
    paths = [path.relative_to(outputs) for path in files if "__pycache__" not in path.parts]
    return [f"{path.as_posix()}: is in no record of the manifest" for path in paths if path.as_posix() not in known]


def _check(store: Store, output: ItemOutput) -> list[str]:
    try:
        if not store.exists(output.path):
            return [f"{output.label}: missing"]
        same = digest_file(store.file(output.path)) == output.digest
    except ArtifactError as error:
        return [f"{output.label}: {error}"]
    return [] if same else [f"{output.label}: changed"]


def _check_joined(store: Store, artifact: Artifact[object], outputs: list[ItemOutput]) -> list[str]:
    if not outputs:
        return []
    try:
        found = {key: digest_bytes(part) for key, part in split_parts(store.read(artifact.pattern), artifact).items()}
    except ArtifactError as error:
        return [f"{artifact.pattern}: {error}"]
    expected = {output.key: output.digest for output in outputs}
    keys = sorted(key for key in expected.keys() | found.keys() if expected.get(key) != found.get(key))
    return [f"{artifact.label(key)}: {'changed' if key in found else 'missing'}" for key in keys]


def write_dataset_card(options: PipelineOptions) -> None:
    """Write it. Raises ConfigError where there are no tasks, ArtifactError where a file is damaged."""
    folder = options.folder()
    if not write_card(folder, options.load().card.license):
        raise ConfigError(f"{str(folder)!r} holds no tasks; write some with: {options.command('run')}")
    print(one_line(f"wrote {Path(folder, CARD)}; next: python -m synth verify {shlex.quote(str(folder))}"))


DECONTAMINATION_FILE = "decontamination.json"
SHOWN_LEAKS = 5
"""Leaks and pairs of tools that are printed."""


def decontaminate(outputs: Path, files: Sequence[Path]) -> int:
    """Print what is in common, and write it to the folder; 0. Raises ConfigError where a file cannot be read."""
    dataset = Dataset(outputs)
    tasks = [task for world in dataset.tasks.worlds for task in dataset.tasks.of(world)]
    if not tasks:
        raise ConfigError(f"{str(outputs)!r} holds no tasks; write some with: python -m synth run")
    comparison = BenchmarkComparison(tasks, _tools(dataset.store, dataset.tasks.worlds))
    for file in files:
        comparison.add(str(file).encode("utf-8", "backslashreplace").decode(), read_benchmark(file))
    found = comparison.result()
    dataset.store.write(DECONTAMINATION_FILE, f"{found.model_dump_json(indent=2)}\n".encode())
    _show(found)
    print(f"wrote {outputs / DECONTAMINATION_FILE}")
    return 0


def _tools(store: Store, worlds: Sequence[str]) -> dict[str, BenchmarkTool]:
    """The tools of the single domains, by world and name; that which every world has is left out."""
    found: dict[str, BenchmarkTool] = {}
    for world in worlds:
        path = f"tool_lists/{world}.json"
        if not store.exists(path):
            continue
        try:
            value = json.loads(store.read(path))
        except (ValueError, RecursionError) as error:
            raise ArtifactError(f"{path!r} is not JSON: {str(error)[:200]}") from error
        schemas = [one for one in within(value) if isinstance(one, BenchmarkTool)]
        own = (schema for schema in schemas if "__" not in schema.name and schema.name not in SESSION_TOOLS)
        found.update({f"{world}/{schema.name}": schema for schema in own})
    return found


def _show(found: Decontamination) -> None:
    rows = [
        [f"tasks with {length} words in a row in common", str(count), f"{count / found.tasks:.1%}"]
        for length, count in found.shared.items()
    ]
    rows += [
        ["people of the dataset in the files", str(len(found.people)), ""],
        ["email addresses of the dataset in the files", str(len(found.emails)), ""],
    ]
    show_table(["in common", "found", f"of {counted(found.tasks, 'task')}"], rows)
    for path, file in found.files.items():
        print(one_line(f"{path}: {counted(file.texts, 'text')}, {counted(file.tools, 'tool')}"))
    for leak in found.leaks[:SHOWN_LEAKS]:
        print(one_line(f"{leak.task}: {leak.words!r}, in {leak.file}"))
    for twin in found.twins[:SHOWN_LEAKS]:
        print(one_line(f"{twin.tool} is nearest to {twin.other}: {twin.similarity:.2f}"))
    hidden = len(found.leaks) - SHOWN_LEAKS
    if hidden > 0:
        print(f"{hidden}{' or more' if len(found.leaks) == SHOWN else ''} further tasks are in {DECONTAMINATION_FILE}")
