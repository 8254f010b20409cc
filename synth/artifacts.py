"""Artifacts: every path under the outputs folder, declared once, with the type of what it holds.

`joined` artifacts are one file with one value a key; their values are kept apart in the cache until the step that
makes them has ended. All others are one file a key.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, TypeVar

from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.combination import Combination, ValidatedTask
from skillweave.schema.entity import Domain, Entity, EntityGraph
from skillweave.schema.fusion import DomainCombination, FusedReplays, Fusion, Mediation, StatementRewrite
from skillweave.schema.record import Json, Row
from skillweave.schema.reports import DatabaseSummary, Diversity, DuplicateCounts, RuleCoverage, TemplateWithoutTasks
from skillweave.schema.score import StepTruth
from skillweave.schema.task import Task
from skillweave.schema.template import TaskTemplate, ToolGraph

T = TypeVar("T")
ArtifactKind = Literal["joined", "json", "jsonl", "text", "file"]


@dataclass(frozen=True)
class Artifact(Generic[T]):
    """A family of files. `pattern` identifies it; `{key}` in it stands for the key."""

    pattern: str
    kind: ArtifactKind
    returns: type[T]
    listed_by: str | None = None
    """For a joined file that is a list and no mapping: the field of its values that holds the key."""

    def path(self, key: str) -> str:
        """The file of a key, relative to the outputs folder."""
        return self.pattern.replace("{key}", key)

    def label(self, key: str) -> str:
        """What people call it: `policies/DentalClinic.md`, `entities.json[DentalClinic]`."""
        return f"{self.pattern}[{key}]" if self.kind == "joined" else self.path(key)


@dataclass(frozen=True)
class Every(Generic[T]):
    """A read of all keys of an artifact by an item that has one of them."""

    artifact: Artifact[T]


def every(artifact: Artifact[T]) -> Every[T]:
    """Declare that a step's item reads other keys than its own: it then waits for all of them."""
    return Every(artifact)


def joined(pattern: str, returns: type[T], listed_by: str | None = None) -> Artifact[T]:
    """One JSON file for all keys."""
    return Artifact(pattern, "joined", returns, listed_by)


def each(pattern: str, returns: type[T]) -> Artifact[T]:
    """One JSON file a key."""
    return Artifact(pattern, "json", returns)


def jsonl(pattern: str, returns: type[T]) -> Artifact[list[T]]:
    """One file of JSON lines a key."""
    return Artifact(pattern, "jsonl", list[returns])  # type: ignore[valid-type]


def text(pattern: str) -> Artifact[str]:
    """One text file a key."""
    return Artifact(pattern, "text", str)


def file(pattern: str) -> Artifact[Path]:
    """One file a key, used by its path."""
    return Artifact(pattern, "file", Path)


DOMAIN_TOPICS = joined("domain_topics.json", Domain)
ENTITIES = joined("entities.json", list[Entity])
"""By domain."""
ENTITY_GRAPH = joined("entity_graph.json", EntityGraph)
"""By domain."""
DRAFTS = each("blueprints/{key}.json", Blueprint)
"""By server, as its author gave it; the server has the name of its domain."""
BLUEPRINTS = joined("blueprints.json", Blueprint, listed_by="server")
"""By server, final."""
TOOL_LISTS = each("tool_lists/{key}.json", list[dict[str, Json]])
"""OpenAI tool definitions by world."""
DATABASE = file("database/{key}.sqlite")
GENERATORS = text("database/scripts/{key}.py")
ENTITY_ROWS = each("database/outputs/entities/{key}.json", list[Row])
"""By `Patient` (a shared person) or `DentalClinic__Dentist`."""
RELATIONSHIP_ROWS = each("database/outputs/relationships/{key}.json", list[Row])
"""By `DentalClinic/Appointment`."""
SUMMARIES = each("database_summary/{key}.json", DatabaseSummary)
POLICIES = text("policies/{key}.md")
TOOL_GRAPHS = each("tool_graphs/{key}.json", ToolGraph)
SERVERS = text("mcp_servers/{key}.py")
SERVER_RUNTIME = text("mcp_servers/_runtime.py")
SERVER_TESTS = text("mcp_servers/tests/test_{key}.py")
DOMAIN_COMBINATIONS = joined("cross_domain_templates/_combinations.json", DomainCombination, listed_by="name")
"""By fused world."""
FUSIONS = each("cross_domain_templates/{key}.json", Fusion)
CONTRACTS = each("database/{key}.contract.json", FusedBlueprint)
"""By fused world, without bridge rules."""
REWRITES = each("database/{key}.rewrites.json", list[StatementRewrite])
MEDIATIONS = each("policies/{key}.bridges.json", Mediation)
TEMPLATES = each("task_templates/{key}.json", list[TaskTemplate])
COMBINATIONS = jsonl("combinations/{key}.jsonl", Combination)
LACKING = each("combinations/{key}.lacking.json", list[TemplateWithoutTasks])
"""Templates without an instance."""
VALIDATED = jsonl("validated_tasks/{key}.jsonl", ValidatedTask)
FALLEN = each("validated_tasks/{key}.lacking.json", list[TemplateWithoutTasks])
"""Templates of a single domain whose instances all fell at a gate."""
FUSED_REPLAYS = each("validated_tasks/{key}.json", list[FusedReplays])
"""Under the key `_fused_replays`."""
QUERIES = jsonl("queries/{key}.jsonl", Task)
STEP_TRUTH = jsonl("step_truth/{key}.jsonl", StepTruth)
"""Only where `step_truth` of s17 asks for it."""
RULES = each("rules/{key}.json", list[RuleCoverage])
DUPLICATES = joined("report/duplicates.json", DuplicateCounts)
"""By world."""
DIVERSITY = each("report/{key}.json", Diversity)
"""Under the key `diversity`."""
