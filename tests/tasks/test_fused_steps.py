"""s14 and s15 on a fused world: stories become templates, and instances come out validated."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from skillweave.base.manifest import ItemOutput, ItemRecord
from skillweave.base.store import Store
from skillweave.llm.ask import AuthorChain
from skillweave.llm.backends.backend import Reply, Request
from skillweave.llm.ledger import Ledger
from skillweave.schema.blueprint import BridgeRule
from skillweave.schema.fusion import Fusion, Mediation, ProvenLink
from skillweave.schema.template import ToolGraph
from synth.artifacts import (
    COMBINATIONS,
    CONTRACTS,
    DATABASE,
    FUSIONS,
    MEDIATIONS,
    POLICIES,
    QUOTAS,
    TEMPLATES,
    TOOL_GRAPHS,
    VALIDATED,
)
from synth.contracts.writes import auth_edges, data_edges
from synth.engine.artifact import Artifact, decode, encode
from synth.engine.context import Context, RunSetting
from synth.engine.executor import ItemExecutor
from synth.engine.step import PipelineStep
from synth.steps.s14_task_template_generation import task_template_generation
from synth.steps.s15_instance_combos_selection import instance_combos_selection
from synth.steps.s16_task_filtering import task_filtering
from synth.tasks.selection import fewer_one_way
from tests.gates.clinic_tasks import a_template
from tests.gates.services import NOW, PAID_FIRST, contract, world
from tests.tasks.test_stories import BRIDGED, PAID, REFERRED, rules

R = TypeVar("R")
T = TypeVar("T")
NAME = "Clinic__Insurer"
WORDS = "[" + ", ".join(f'{{"read": "{read}", "columns": ["billed_at"]}}' for read in REFERRED) + "]"


class Run:
    """A run's artifacts up to the merged policy; the steps after it."""

    def __init__(self, outputs: Path, bridges: list[BridgeRule]) -> None:
        self.store = Store(outputs)
        self.visible: dict[tuple[str, str], ItemOutput] = {}
        fused = contract("Clinic", "Insurer")
        graph = ToolGraph(
            server=NAME,
            tools=[tool.name for tool in fused.tools],
            edges=[*auth_edges(fused), *data_edges(fused)],
        )
        fusion = Fusion(
            name=NAME, domains=["Clinic", "Insurer"], storylines=[PAID], proofs={}, pruned=[], rejected={}, searches=0
        )
        self._put(CONTRACTS, encode(CONTRACTS, fused))
        self._put(FUSIONS, encode(FUSIONS, fusion))
        numbers = dict.fromkeys(["paid_first"][: len(bridges)], "B1")
        mediation = Mediation(name=NAME, conflicts=[], bridges=bridges, numbers=numbers, proofs=[])
        self._put(MEDIATIONS, encode(MEDIATIONS, mediation))
        self._put(TOOL_GRAPHS, encode(TOOL_GRAPHS, graph))
        self._put(DATABASE, world("Clinic", "Insurer").content)
        self._put(POLICIES, "\n".join(f"[{rule}] So it is." for rule in rules(BRIDGED)).encode())

    def run(self, step: PipelineStep[Any]) -> ItemRecord:
        """The step's item of the fused world; what it writes is seen by the next."""
        context: Context[Any] = Context(
            step,
            NAME,
            # Of a story one way an eighth of the instances are wanted: three.
            params=step.params(per_storyline=24) if step is instance_combos_selection else step.params(),
            setting=RunSetting(7, NOW, ()),
            store=self.store,
            visible=self.visible,
            services=self,
        )
        record = ItemExecutor().execute(step, context, [])
        self.visible |= {(output.artifact, output.key): output for output in record.outputs}
        return record

    def read(self, artifact: Artifact[T]) -> T:
        """What a step has written."""
        path = artifact.path(NAME)
        return decode(artifact, self.store.read(path), path)

    def line(self, step: str, role: str) -> AuthorChain:
        """An author who knows how people refer to bills."""
        return AuthorChain([_Author()], Ledger())

    async def offload(self, function: Callable[..., R], *arguments: object) -> R:
        """Work for the pool, done in place."""
        return function(*arguments)

    def log(self, step: str, key: str, message: str) -> None:
        """Nobody reads it."""

    def _put(self, artifact: Artifact[Any], content: bytes) -> None:
        path = f"given/{artifact.path(NAME)}"
        self.store.write(path, content)
        self.visible[artifact.pattern, NAME] = ItemOutput(
            artifact=artifact.pattern, key=NAME, label=artifact.label(NAME), path=path, digest="", size=0, mtime_ns=0
        )


class _Author:
    name = "test/author"

    async def complete(self, request: Request) -> Reply:
        """The one answer."""
        return Reply(WORDS)

    async def close(self) -> None:
        """Nothing is open."""


def test_stories_become_validated_tasks(tmp_path: Path) -> None:
    run = Run(tmp_path, [PAID_FIRST])
    assert run.run(task_template_generation).state == "done"
    assert [one.id for one in run.read(TEMPLATES)] == [f"{NAME}/story"]
    record = run.run(instance_combos_selection)
    assert record.state == "done", record.reasons
    assert record.figures == {"candidates": len(run.read(COMBINATIONS))}
    assert run.read(QUOTAS) == {f"{NAME}/story": 3}
    record = run.run(task_filtering)
    assert record.state == "done", record.reasons
    made = run.read(VALIDATED)
    assert {one.combination.caller for one in made} == {"PER-P001", "PER-P002", "PER-P003"}
    assert all(one.gates.interlock["crossings"] for one in made)
    assert record.figures == {"validated": 3, "validated on created rows": 1}


def test_a_story_whose_bridge_rule_was_dropped_is_rejected_with_the_reason(tmp_path: Path) -> None:
    run = Run(tmp_path, [])
    record = run.run(task_template_generation)
    assert record.rejected == {"a bridge rule that it leans on was not kept": 1}
    assert run.read(TEMPLATES) == []


@pytest.mark.parametrize("unstated", ["B1", "R3"])
def test_a_task_whose_rules_the_merged_policy_does_not_state_is_rejected(tmp_path: Path, unstated: str) -> None:
    run = Run(tmp_path, [PAID_FIRST])
    stated = [rule for rule in rules(BRIDGED) if rule != unstated]
    run._put(POLICIES, "\n".join(f"[{rule}] So it is." for rule in stated).encode())
    run.run(task_template_generation)
    run.run(instance_combos_selection)
    record = run.run(task_filtering)
    assert record.rejected["rule not in the policy"] >= 3
    assert run.read(VALIDATED) == []


def test_stories_in_which_a_domain_is_needed_by_none_have_an_eighth() -> None:
    links = [
        ProvenLink(kind="rule", source=source, target=target, call=1, tool="pay", rule="B1", held_by="tool")
        for source, target in (("Clinic", "Insurer"), ("Insurer", "Clinic"))
    ]
    fusion = Fusion(
        name=NAME,
        domains=["Clinic", "Insurer"],
        storylines=[],
        proofs={"one": links[:1], "both": links},
        pruned=[],
        rejected={},
        searches=0,
    )
    templates = [a_template(id=f"{NAME}/{name}") for name in ("one", "both")]
    templates.append(a_template(id=f"{NAME}/both_chosen", base=f"{NAME}/both", forms=["choice"]))
    templates.append(a_template(id=f"{NAME}/one_chosen", base=f"{NAME}/one", forms=["choice"]))
    templates.append(a_template(id=f"{NAME}/errands", parts=templates[:2], forms=["errands"]))
    templates.append(a_template(id=f"{NAME}/refuse", kind="refuse"))
    found = fewer_one_way({one.id: 12 for one in templates}, templates, fusion)
    assert [found[one.id] for one in templates] == [2, 12, 12, 0, 12, 12]
