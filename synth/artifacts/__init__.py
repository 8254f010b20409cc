"""The pipeline's artifacts: every family of files under the outputs folder, with the type of what it holds.

Each path is declared here, once. A step's declaration names the artifacts that it reads and writes.

The world of a step's item: a single domain's, or a fused one with its bridge rules.

Each function reads from the item's context; the step declares the artifacts that it names.
"""

from typing import TypeVar

from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.combination import Combination, ValidatedTask
from skillweave.schema.contract import KeyCall
from skillweave.schema.entity import Domain, Entity, EntityGraph
from skillweave.schema.fusion import DomainCombination, FusedReplays, Fusion, Mediation, StatementRewrite
from skillweave.schema.record import Json, Row
from skillweave.schema.reports import DatabaseSummary, Diversity, DuplicateCounts, RuleCoverage, TemplateWithoutTasks
from skillweave.schema.score import StepTruth
from skillweave.schema.task import Task
from skillweave.schema.task_row import TaskRow
from skillweave.schema.template import TaskTemplate, ToolGraph
from synth.engine.artifact import each, file, joined, jsonl, text
from synth.engine.context import Context
from synth.engine.step import Params

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
KEY_CALLS = each("mcp_servers/calls/{key}.json", list[KeyCall])
"""Of single worlds: the calls on which the proof of a server stands."""
DOMAIN_COMBINATIONS = joined("cross_domain_templates/_combinations.json", DomainCombination, listed_by="name")
"""By fused world."""
FUSIONS = each("cross_domain_templates/{key}.json", Fusion)
CONTRACTS = each("database/{key}.contract.json", FusedBlueprint)
"""By fused world, without bridge rules."""
REWRITES = each("database/{key}.rewrites.json", list[StatementRewrite])
MEDIATIONS = each("policies/{key}.bridges.json", Mediation)
TEMPLATES = each("task_templates/{key}.json", list[TaskTemplate])
COMBINATIONS = jsonl("combinations/{key}.jsonl", Combination)
QUOTAS = each("combinations/{key}.quotas.json", dict[str, int])
"""Of fused worlds: template -> tasks that are kept of its candidates. Empty: all that pass the gates are kept."""
LACKING = each("combinations/{key}.lacking.json", list[TemplateWithoutTasks])
"""Templates without an instance."""
VALIDATED = jsonl("validated_tasks/{key}.jsonl", ValidatedTask)
FALLEN = each("validated_tasks/{key}.lacking.json", list[TemplateWithoutTasks])
"""Templates whose combinations were all rejected."""
FUSED_REPLAYS = each("validated_tasks/{key}.json", list[FusedReplays])
"""Under the key `_fused_replays`."""
QUERIES = jsonl("queries/{key}.jsonl", Task)
TASK_ROWS = jsonl("data/{key}.jsonl", TaskRow)
"""By split: the tasks of all worlds as flat rows."""
STEP_TRUTH = jsonl("step_truth/{key}.jsonl", StepTruth)
"""Only where `step_truth` of s17 asks for it."""
RULES = each("rules/{key}.json", list[RuleCoverage])
DUPLICATES = joined("report/duplicates.json", DuplicateCounts)
"""By world."""
DIVERSITY = each("report/{key}.json", Diversity)
"""Under the key `diversity`."""


P = TypeVar("P", bound=Params)


def is_fused(ctx: Context[P]) -> bool:
    """Whether the item's key is that of a fused world. Lists CONTRACTS."""
    return ctx.key in ctx.keys(CONTRACTS)


def fused_contract(ctx: Context[P]) -> FusedBlueprint:
    """The contract of the item's fused world, with its bridge rules among the guards. Reads CONTRACTS, MEDIATIONS."""
    return ctx.read(CONTRACTS).with_bridges(ctx.read(MEDIATIONS).bridges)


def contract_of(ctx: Context[P]) -> Blueprint:
    """The contract of the item's world. Reads BLUEPRINTS, CONTRACTS and MEDIATIONS."""
    return fused_contract(ctx) if is_fused(ctx) else ctx.read(BLUEPRINTS)


def servers_of(blueprint: Blueprint) -> list[str]:
    """The single-domain servers that a world is made of; of a single domain, its own."""
    if isinstance(blueprint, FusedBlueprint):
        return [member.server for member in blueprint.members]
    return [blueprint.server]
