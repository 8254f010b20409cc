"""Commands about a finished dataset: `verify`, `card` and `decontaminate`.

`verify` compares every file's digest with the manifest. Digests show that a file is the one that was written; to
show that its content is right, `verify` runs all gates again, and every server in the sandbox.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from skillweave.base.command import command_line, counted, one_line, rollout_line, shell_word
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.manifest import MANIFEST, ItemOutput, Manifest
from skillweave.base.progress import progress
from skillweave.base.store import Store, digest_bytes, digest_file
from skillweave.plugins import load_plugins, loaded_plugins
from skillweave.sandbox.strength import caution, strength
from skillweave.schema.contract import SESSION_TOOLS
from skillweave.schema.reports import Decontamination
from skillweave.world.dataset import Dataset
from synth.artifacts import QUERIES
from synth.cli.display import show_table
from synth.cli.options import PipelineOptions, PipelineSource
from synth.engine.artifact import Artifact, split_parts
from synth.engine.pipeline import load_pipeline
from synth.reports.card import CARD, license_of, write_card
from synth.reports.decontamination import SHOWN, BenchmarkComparison, BenchmarkTool, read_benchmark, within
from synth.reports.task_table import table_faults
from synth.verification.dataset import (
    ProofJob,
    ProofScope,
    card_faults,
    report_faults,
    run_jobs,
    shared_faults,
    task_count,
    task_jobs,
)
from synth.verification.worlds import runtime_faults

DATASET_FOLDERS = frozenset({"queries", "data", "policies", "tool_lists", "database", "mcp_servers", "blueprints"})
"""Folders of what tasks are made of. Each file in them has to be in the manifest."""
SHOWN_FAULTS = 20
"""Faults of one file that are printed."""
DECONTAMINATION_FILE = "decontamination.json"
SHOWN_LEAKS = 5
"""Leaks and pairs of tools that are printed."""


def verify_outputs(source: PipelineSource, outputs: Path, options: PipelineOptions, *, is_quick: bool = False) -> int:
    """Print what is wrong with a finished dataset.

    Args:
        source: The pipeline that made it.
        outputs: Its folder.
        options: What the command line says of the run; it names plug-ins, and commands that are advised repeat it.
        is_quick: Run no server, and only those gates that a task's own record is enough for.

    Returns:
        The exit status: 1 if anything is wrong.

    Raises:
        ConfigError: There is no dataset.
    """
    store = Store(outputs)
    if not store.exists(MANIFEST):
        raise ConfigError(f"{str(outputs)!r} holds no {MANIFEST}; give the outputs folder of a run")
    load_plugins(options.load().plugins)
    manifest = Manifest(store)
    written = [output for record in manifest.items() for output in record.outputs]
    changed = _changed_files(source, store, written)
    for line in changed:
        print(one_line(line))
    faults = _proofs(outputs, is_quick=is_quick)
    changed += _stale_card(outputs)
    if changed:
        print(
            f"{counted(len(changed), 'artifact')} in {outputs}, of {len(written)} written, changed or are no run's; "
            f"next: {options.command('run')}"
        )
        return 1
    if faults:
        print(f"{counted(faults, 'fault')} in the tasks of {outputs}; next: {options.command('run', '--fresh', 's16')}")
        return 1
    intact = f"{counted(len(written), 'artifact')} in {outputs} are as they were written"
    if _lacks_tasks(source, manifest):
        print(f"{intact}, but no run has come to the tasks, so none is proven; next: {options.command('status')}")
        return 1
    rollouts = outputs.parent / ("rollouts" if outputs.name == "outputs" else f"rollouts-{outputs.name}")
    print(f"{intact}; next: {rollout_line(outputs, rollouts, config=options.config)}")
    return 0


def _changed_files(source: PipelineSource, store: Store, written: Sequence[ItemOutput]) -> list[str]:
    """What is wrong with files, by their digests: changed, missing, or in no record of the manifest."""
    joined = {
        artifact.pattern: artifact
        for step in load_pipeline(source.package).steps
        for artifact in step.artifacts
        if artifact.kind == "joined"
    }
    changed = [line for output in written if output.artifact not in joined for line in _check(store, output)]
    for pattern, artifact in sorted(joined.items()):
        changed += _check_joined(store, artifact, [output for output in written if output.artifact == pattern])
    return changed + _unlisted(store.root, [*(output.path for output in written), *joined])


def _lacks_tasks(source: PipelineSource, manifest: Manifest) -> bool:
    """Whether the pipeline makes tasks, and no item has made any."""
    makers = [step.name for step in load_pipeline(source.package).steps if QUERIES in step.writes]
    return bool(makers) and not any(record.state == "done" for name in makers for record in manifest.items(name))


def _proofs(outputs: Path, *, is_quick: bool) -> int:
    """Prove the tasks and the servers again, if there are any. Print the faults, and return their number."""
    if not (outputs / "queries").is_dir():
        return 0
    for path in sorted((outputs / "queries").glob("*.jsonl")):
        # The store refuses a pipe in a file's place, which a reader would wait for.
        Store(outputs).file(f"queries/{path.name}")
    if not is_quick:
        print(caution() or f"sandbox strength: {strength()}")
    dataset = Dataset(outputs)
    worlds = dataset.tasks.worlds
    scope: ProofScope = "records" if is_quick else "gates"
    # The servers first: they take longest.
    servers = [ProofJob(outputs, world, None, plugins=loaded_plugins()) for world in worlds if not is_quick]
    jobs = [*servers, *(job for world in worlds for job in task_jobs(outputs, world, scope))]
    faults: list[str] = []
    with progress("proofs", len(jobs)) as shown:
        for number, (job, job_faults) in enumerate(run_jobs(jobs, os.cpu_count() or 1), start=1):
            faults += job_faults
            shown.advance(number, f"{job.world}, {counted(len(faults), 'fault')}")
    faults += [*shared_faults(outputs), *runtime_faults(outputs), *report_faults(dataset), *table_faults(dataset)]
    _print_faults(faults)
    if not faults:
        proven = f", {counted(len(servers), 'server')} run in the sandbox"
        also = "; left out by --quick: servers, rules' coverage, variants and searches" if is_quick else proven
        print(f"{counted(task_count(outputs), 'task')} proven again{also}")
    return len(faults)


def _stale_card(outputs: Path) -> list[str]:
    """Print and return what is wrong with the card. Each run writes it anew, so a stale card is no fault of a task."""
    if not (outputs / "queries").is_dir():
        return []
    faults = card_faults(Dataset(outputs))
    for line in faults:
        print(one_line(line))
    return faults


def _print_faults(faults: list[str]) -> None:
    """Print the first SHOWN_FAULTS faults of each file, and how many more there are."""
    files: dict[str, list[str]] = {}
    for fault in faults:
        files.setdefault(fault.partition(": ")[0], []).append(fault)
    for path, of_file in files.items():
        for fault in of_file[:SHOWN_FAULTS]:
            print(one_line(fault))
        if len(of_file) > SHOWN_FAULTS:
            print(one_line(f"{path}: and {len(of_file) - SHOWN_FAULTS} more"))


def _unlisted(outputs: Path, listed: Sequence[str]) -> list[str]:
    """Files in the dataset's folders that no record of the manifest lists."""
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
        parts = split_parts(store.read(artifact.pattern), artifact)
    except ArtifactError as error:
        return [f"{artifact.pattern}: {error}"]
    digests = {key: digest_bytes(part) for key, part in parts.items()}
    expected = {output.key: output.digest for output in outputs}
    keys = sorted(key for key in expected.keys() | digests.keys() if expected.get(key) != digests.get(key))
    return [f"{artifact.label(key)}: {'changed' if key in digests else 'missing'}" for key in keys]


def write_dataset_card(options: PipelineOptions) -> None:
    """Write the dataset's card. Raises ConfigError if there are no tasks, ArtifactError if a file is damaged."""
    folder = options.folder()
    if not write_card(folder, license_of(options.load())):
        raise ConfigError(f"{str(folder)!r} holds no tasks; write some with: {options.command('run')}")
    print(f"wrote {shell_word(folder / CARD)}; next: {command_line('synth', 'verify', folder)}")


def decontaminate(outputs: Path, files: Sequence[Path]) -> int:
    """Compare a dataset with benchmarks; print what they have in common, and write it to the dataset's folder.

    Args:
        outputs: The dataset's folder.
        files: Files of benchmarks: .jsonl, .json, .csv, .txt or .md.

    Returns:
        The exit status, always 0.

    Raises:
        ConfigError: There are no tasks, or a file cannot be read.
    """
    dataset = Dataset(outputs)
    tasks = [task for world in dataset.tasks.worlds for task in dataset.tasks.of(world)]
    if not tasks:
        run = command_line("synth", "run", "--outputs-dir", outputs)
        raise ConfigError(f"{str(outputs)!r} holds no tasks; write some with: {run}")
    comparison = BenchmarkComparison(tasks, _tools(dataset.store, dataset.tasks.worlds))
    for file in files:
        comparison.add(str(file).encode("utf-8", "backslashreplace").decode(), read_benchmark(file))
    result = comparison.result()
    dataset.store.write(DECONTAMINATION_FILE, f"{result.model_dump_json(indent=2)}\n".encode())
    _show(result)
    following = command_line("synth", "card", "--outputs-dir", outputs)
    print(f"wrote {shell_word(outputs / DECONTAMINATION_FILE)}; next: {following}")
    return 0


def _tools(store: Store, worlds: Sequence[str]) -> dict[str, BenchmarkTool]:
    """The tools of single domains by `world/name`, without the session tools that every world has."""
    tools: dict[str, BenchmarkTool] = {}
    for world in worlds:
        path = f"tool_lists/{world}.json"
        if not store.exists(path):
            continue
        try:
            value = json.loads(store.read(path))
        except (ValueError, RecursionError) as error:
            raise ArtifactError(f"{path!r} is not JSON: {str(error)[:200]}") from error
        schemas = [schema for schema in within(value) if isinstance(schema, BenchmarkTool)]
        own = (schema for schema in schemas if "__" not in schema.name and schema.name not in SESSION_TOOLS)
        tools.update({f"{world}/{schema.name}": schema for schema in own})
    return tools


def _show(result: Decontamination) -> None:
    rows = [
        [f"tasks with {length} words in a row in common", str(count), f"{count / result.tasks:.1%}"]
        for length, count in result.shared.items()
    ]
    rows += [
        ["people of the dataset in the files", str(len(result.people)), ""],
        ["email addresses of the dataset in the files", str(len(result.emails)), ""],
    ]
    show_table(["in common", "found", f"of {counted(result.tasks, 'task')}"], rows)
    for path, file in result.files.items():
        print(one_line(f"{path}: {counted(file.texts, 'text')}, {counted(file.tools, 'tool')}"))
    for leak in result.leaks[:SHOWN_LEAKS]:
        print(one_line(f"{leak.task}: {leak.words!r}, in {leak.file}"))
    for twin in result.twins[:SHOWN_LEAKS]:
        print(one_line(f"{twin.tool} is nearest to {twin.other}: {twin.similarity:.2f}"))
    hidden = len(result.leaks) - SHOWN_LEAKS
    if hidden > 0:
        print(f"{hidden}{' or more' if len(result.leaks) == SHOWN else ''} further tasks are in {DECONTAMINATION_FILE}")
