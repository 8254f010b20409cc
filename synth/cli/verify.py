"""`verify`: whether a dataset's files are what its manifest says, each by its digest, and its tasks what they claim.

Digests show that a file is the one that was written; replaying the tasks shows that what was written is right.
"""

import os
from pathlib import Path

from skillweave.config.models import Config
from skillweave.digest import digest_bytes, digest_file
from skillweave.errors import ArtifactError, ConfigError
from skillweave.manifest import MANIFEST, Manifest, Output
from skillweave.store import Store
from synth.artifacts import Artifact
from synth.cli.place import CONFIG, Options, Place
from synth.cli.wording import counted
from synth.engine.codec import split_parts
from synth.engine.item import artifacts_of
from synth.engine.pipeline import load_pipeline


def verify_outputs(place: Place, outputs: Path) -> int:
    """Print what is wrong; the exit status. Raises ConfigError where there is no dataset."""
    store = Store(outputs)
    if not store.exists(MANIFEST):
        raise ConfigError(f"{str(outputs)!r} holds no {MANIFEST}; give the outputs folder of a run")
    advice = Options(CONFIG, None if str(outputs) == Config().outputs_dir else str(outputs))
    manifest = Manifest(store)
    joined = {
        artifact.pattern: artifact
        for step in load_pipeline(place.package).steps
        for artifact in artifacts_of(step)
        if artifact.kind == "joined"
    }
    written = [output for record in manifest.items() for output in record.outputs]
    wrong = [line for output in written if output.artifact not in joined for line in _check(store, output)]
    for pattern, artifact in sorted(joined.items()):
        wrong.extend(_check_joined(store, artifact, [output for output in written if output.artifact == pattern]))
    for line in wrong:
        print(line)
    faults = _tasks(outputs)
    if wrong:
        print(
            f"{counted(len(wrong), 'artifact')} of {len(written)} in {outputs} changed; next: {advice.command('run')}"
        )
        return 1
    if faults:
        print(f"{counted(faults, 'fault')} in the tasks of {outputs}; next: {advice.command('run', '--fresh', 's16')}")
        return 1
    print(
        f"{counted(len(written), 'artifact')} in {outputs} are as they were written; next: {advice.command('status')}"
    )
    return 0


def _tasks(outputs: Path) -> int:
    """Prove the tasks again, where there are any; how many faults were found and printed."""
    if not (outputs / "queries").is_dir():
        return 0
    for path in sorted((outputs / "queries").glob("*.jsonl")):
        # A pipe in a file's place would be waited for.
        Store(outputs).file(f"queries/{path.name}")
    # Worlds and their SQL take a while to load; a pipeline without tasks does without.
    from synth.gates.verify import verify_tasks

    verified = verify_tasks(outputs, os.cpu_count() or 1)
    for fault in verified.faults:
        print(fault)
    if not verified.faults:
        print(f"{counted(verified.tasks, 'task')} proven again")
    return len(verified.faults)


def _check(store: Store, output: Output) -> list[str]:
    try:
        if not store.exists(output.path):
            return [f"{output.label}: missing"]
        same = digest_file(store.file(output.path)) == output.digest
    except ArtifactError as error:
        return [f"{output.label}: {error}"]
    return [] if same else [f"{output.label}: changed"]


def _check_joined(store: Store, artifact: Artifact[object], outputs: list[Output]) -> list[str]:
    if not outputs:
        return []
    try:
        found = {key: digest_bytes(part) for key, part in split_parts(store.read(artifact.pattern), artifact).items()}
    except ArtifactError as error:
        return [f"{artifact.pattern}: {error}"]
    expected = {output.key: output.digest for output in outputs}
    keys = sorted(key for key in expected.keys() | found.keys() if expected.get(key) != found.get(key))
    return [f"{artifact.label(key)}: {'changed' if key in found else 'missing'}" for key in keys]
