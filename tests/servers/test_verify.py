"""Verification of servers: an edited one is caught by what it does, whatever digests say."""

import json
from pathlib import Path

import pytest

from synth.servers.runtime import runtime_files
from synth.verification.worlds import runtime_faults, server_faults
from tests.servers.mutants import mutants
from tests.servers.served import serve_from
from tests.world.clinic import a_world

WORLD = a_world()
NAME = WORLD.blueprint.server


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with one server; what a test spoils in it, it mends."""
    folder = tmp_path_factory.mktemp("served")
    serve_from(folder, WORLD)
    (folder / "blueprints.json").write_text(json.dumps([WORLD.blueprint.model_dump(mode="json")]), "utf-8")
    (folder / "manifest.json").write_text(json.dumps({"fingerprints": {"one": {"now": WORLD.now}}}), "utf-8")
    return folder


def test_the_server_that_was_written_is_its_contract(outputs: Path) -> None:
    assert server_faults(outputs, NAME) == []
    assert runtime_faults(outputs) == []


def test_an_edited_server_is_caught_by_what_it_does(outputs: Path) -> None:
    path = outputs / "mcp_servers" / f"{NAME}.py"
    source = path.read_text()
    edited = next(mutant for mutant in mutants(source, ("dropped",)))
    path.write_text(edited.source)
    try:
        found = server_faults(outputs, NAME)
    finally:
        path.write_text(source)
    assert found
    assert all(fault.startswith(f"mcp_servers/{NAME}.py: ") for fault in found)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"import os\n", "os"),
        (b"\xff\xfe", "cannot be proved"),
        (b"def broken(:\n", "syntax error"),
        (None, "missing"),
    ],
)
def test_a_server_that_is_none_is_a_fault(outputs: Path, content: bytes | None, said: str) -> None:
    path = outputs / "mcp_servers" / f"{NAME}.py"
    before = path.read_bytes()
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    try:
        found = server_faults(outputs, NAME)
    finally:
        path.write_bytes(before)
    assert any(said in fault for fault in found), found


def test_a_link_in_a_servers_place_is_not_followed(outputs: Path) -> None:
    path = outputs / "mcp_servers" / f"{NAME}.py"
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved").name)
    try:
        found = server_faults(outputs, NAME)
    finally:
        path.unlink()
        path.with_suffix(".moved").rename(path)
    assert found
    assert "link" in found[0]


def test_a_missing_part_of_the_runtime_is_named(outputs: Path) -> None:
    name = min(runtime_files())
    path = outputs / "mcp_servers" / name
    before = path.read_bytes()
    path.unlink()
    try:
        assert runtime_faults(outputs) == [f"mcp_servers/{name}: missing"]
    finally:
        path.write_bytes(before)
