"""s12, on a small run's artifacts: what it writes, and what it rejects."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from skillweave.base.manifest import ItemOutput, ItemRecord
from skillweave.base.store import Store
from skillweave.llm.ask import AuthorChain
from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.fusion import DomainCombination, Fusion, StoryCall, Storyline
from skillweave.schema.template import ToolGraph
from skillweave.world import database
from skillweave.world.world import World
from synth.artifacts import (
    BLUEPRINTS,
    CONTRACTS,
    DATABASE,
    DOMAIN_COMBINATIONS,
    ENTITY_ROWS,
    FUSIONS,
    RELATIONSHIP_ROWS,
    REWRITES,
    TOOL_GRAPHS,
)
from synth.engine.artifact import Artifact, decode, encode
from synth.engine.context import Context, RunSetting
from synth.engine.executor import ItemExecutor
from synth.engine.step import Params
from synth.fusion.blueprint import fuse
from synth.steps.s12_database_fusion import database_fusion
from tests.fusion.libraries import NOW, databases, library, people

R = TypeVar("R")
T = TypeVar("T")
NAME = "Vet__VetClinic"
STORY = Storyline(
    name="story",
    title="A story",
    calls=[StoryCall(server="Vet", tool="renew_loan"), StoryCall(server="VetClinic", tool="renew_loan")],
    reasons=["I read in both."],
)


class Run:
    """A run's artifacts up to the stories, and the step on them."""

    def __init__(self, outputs: Path, blueprints: list[Blueprint], storylines: list[Storyline]) -> None:
        self.store = Store(outputs)
        self.visible: dict[tuple[str, str], ItemOutput] = {}
        for one in blueprints:
            self._write(BLUEPRINTS, one.server, encode(BLUEPRINTS, one))
            self._write(DATABASE, one.server, database.to_bytes(databases(blueprints)[one.server], one))
            graph = ToolGraph(server=one.server, tools=[tool.name for tool in one.tools], edges=[])
            self._write(TOOL_GRAPHS, one.server, encode(TOOL_GRAPHS, graph))
        servers = [one.server for one in blueprints]
        combination = DomainCombination(name=NAME, domains=servers, person="Person", links=[])
        fusion = Fusion(
            name=NAME, domains=servers, storylines=storylines, proofs={}, pruned=[], rejected={}, searches=0
        )
        self._write(ENTITY_ROWS, "Person", encode(ENTITY_ROWS, people(blueprints)))
        self._write(DOMAIN_COMBINATIONS, NAME, encode(DOMAIN_COMBINATIONS, combination))
        self._write(FUSIONS, NAME, encode(FUSIONS, fusion))

    def record(self) -> ItemRecord:
        """The step's item, run."""
        context: Context[Params] = Context(
            database_fusion,
            NAME,
            params=Params(),
            setting=RunSetting(7, NOW, ()),
            store=self.store,
            visible=self.visible,
            services=self,
        )
        return ItemExecutor().execute(database_fusion, context, [])

    def read(self, artifact: Artifact[T], key: str) -> T:
        """What the step has written."""
        path = artifact.path(key)
        return decode(artifact, self.store.read(path), path)

    def line(self, step: str, role: str) -> AuthorChain:
        raise AssertionError("the step asks nobody")

    async def offload(self, function: Callable[..., R], *arguments: object) -> R:
        """Work for the pool, done in place."""
        return function(*arguments)

    def log(self, step: str, key: str, message: str) -> None:
        """Nobody reads it."""

    def _write(self, artifact: Artifact[Any], key: str, content: bytes) -> None:
        path = f"given/{artifact.pattern.replace('{key}', '')}/{key}"
        self.store.write(path, content)
        self.visible[artifact.pattern, key] = ItemOutput(
            artifact=artifact.pattern, key=key, label=artifact.label(key), path=path, digest="", size=0, mtime_ns=0
        )


BOTH = [library("Vet"), library("VetClinic")]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    made = Run(tmp_path_factory.mktemp("outputs"), BOTH, [STORY])
    record = made.record()
    assert record.state == "done", record.reasons
    return made


def test_the_contract_and_the_database_make_a_world(run: Run) -> None:
    contract = run.read(CONTRACTS, NAME)
    assert isinstance(contract, FusedBlueprint)
    assert contract == fuse(BOTH)
    world = World(contract, run.store.path(DATABASE.path(NAME)), now=NOW)
    with world.session(caller="PER-P001") as session:
        assert session.call("vet__list_loans", {}).ok
        assert session.call("vet_clinic__list_loans", {}).ok


def test_every_statement_is_on_record_with_its_proof(run: Run) -> None:
    rewrites = run.read(REWRITES, NAME)
    changed = next(one for one in rewrites if one.server == "Vet" and one.where == "change_phone effect 1")
    assert (changed.author, changed.proof) == (BOTH[0].tools[3].effects[0].sql, "through the view")
    assert changed.fused == run.read(CONTRACTS, NAME).tool("vet__change_phone").effects[0].sql


def test_the_graph_and_rows_are_written_under_the_fused_world(run: Run) -> None:
    assert {edge.kind for edge in run.read(TOOL_GRAPHS, NAME).edges} == {"auth"}
    assert [row["person_id"] for row in run.read(ENTITY_ROWS, f"{NAME}/Person")][:1] == ["PER-P001"]
    assert run.read(RELATIONSHIP_ROWS, f"{NAME}/VetClinic__Fine")[0]["note"] == "VetClinic hold"


def test_a_combination_without_stories_is_left_alone(tmp_path: Path) -> None:
    record = Run(tmp_path, BOTH, []).record()
    assert (record.state, record.outputs) == ("done", [])


def test_domains_that_cannot_be_joined_are_rejected_with_the_reason(tmp_path: Path) -> None:
    leaver = library("VetClinic", writes=["DELETE FROM member WHERE member_id = :caller"])
    record = Run(tmp_path, [BOTH[0], leaver], [STORY]).record()
    assert record.state == "rejected"
    assert "deletes its Member" in record.reasons[0]
    assert record.outputs == []


def test_the_same_artifacts_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = (Run(tmp_path / name, BOTH, [STORY]).record() for name in ("one", "two"))
    assert [output.digest for output in first.outputs] == [output.digest for output in second.outputs]
    assert len(first.outputs) > 10
