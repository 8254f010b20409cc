"""What is written down about the tasks of finished worlds: repeats left out, rules exercised, diversity."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.task import Task
from synth.artifacts import (
    BLUEPRINTS,
    CONTRACTS,
    DATABASE,
    DIVERSITY,
    DUPLICATES,
    FALLEN,
    LACKING,
    MEDIATIONS,
    QUERIES,
    RULES,
    TEMPLATES,
)
from synth.engine.context import Context
from synth.engine.step import Params
from synth.reports.diversity import diversity_of
from synth.reports.duplicates import REASONS, is_undecided, without_duplicates
from synth.reports.rule_coverage import rules_of

P = TypeVar("P", bound=Params)


def without_repeats(ctx: Context[P], tasks: Sequence[Task], families: Mapping[str, str]) -> list[Task]:
    """The tasks, by id, without those that repeat others or are in a split where they may not be."""
    decided = []
    for task in tasks:
        if task.split == "test" and is_undecided(task):
            ctx.reject(task.id, "in test, and undecided whether its outcome is unique")
        else:
            decided.append(task)
    kept = without_duplicates(decided, families)
    for task, repeat in kept.removed:
        ctx.reject(task.id, REASONS[repeat])
    ctx.write(DUPLICATES, ctx.key, kept.duplicates)
    return kept.tasks


async def write_rules(ctx: Context[P], blueprint: Blueprint, tasks: Sequence[Task]) -> None:
    """Write down which rules the tasks keep and break, and why the others are in none."""
    lacking = [*ctx.read(LACKING), *ctx.read(FALLEN)]
    templates = ctx.read(TEMPLATES)
    rules = await ctx.offload(rules_of, blueprint, ctx.path(DATABASE), ctx.now, [*tasks], templates, lacking)
    ctx.count("rules", len(rules))
    ctx.count("rules kept and broken", sum(rule.why is None for rule in rules))
    ctx.write(RULES, ctx.key, rules)


async def write_diversity(ctx: Context[P], keys: list[str]) -> None:
    """Write down how much the tasks of all worlds differ."""
    fused = set(ctx.keys(CONTRACTS))
    contracts = {
        key: ctx.read(CONTRACTS, key).with_bridges(ctx.read(MEDIATIONS, key).bridges)
        if key in fused
        else ctx.read(BLUEPRINTS, key)
        for key in keys
    }
    tasks = {key: ctx.read(QUERIES, key) for key in keys}
    removed = {key: ctx.read(DUPLICATES, key) for key in keys}
    report = await ctx.offload(diversity_of, tasks, contracts, removed, ctx.splits.holdout_domains)
    ctx.write(DIVERSITY, "diversity", report)
