"""s07: write each world's policy, after each rule's sentence was set against its SQL.

A rule is told twice, in words and in SQL; agents read the words, scores stand on the SQL. Where figures or values
differ, or where the judge, if `llm.judge` names one, decides a case from the words otherwise than the SQL does, the
author words the rule anew; a rule whose two tellings stay apart rejects the item.
"""

import asyncio
from collections.abc import Sequence

from pydantic import Field

from skillweave.errors import AuthorError
from skillweave.llm.question import question
from skillweave.schema.blueprint import Blueprint
from synth.artifacts import BLUEPRINTS, POLICIES
from synth.context import Context
from synth.policy.audit import Rule, audit_rule, common_words, rules_of
from synth.policy.cases import Case, cases_of
from synth.policy.manual import faults, stated_rules
from synth.policy.review import Decision, count_faults, disagreements, reworded
from synth.step import Params, step

WRITE = question("policy.write", returns=str, form="text")
DECIDE = question("policy.decide", returns=list[Decision], role="judge", most=400, under="decisions")
REWORD = question("policy.reword", returns=str, form="text")


class PolicyParams(Params):
    judged: bool = Field(default=True)
    """Have the judge, where `llm.judge` names one, decide cases of each rule from its sentence."""


@step(
    each=BLUEPRINTS,
    reads=[BLUEPRINTS],
    writes=[POLICIES],
    params=PolicyParams,
    questions=[WRITE, DECIDE, REWORD],
)
async def policy_generation(ctx: Context[PolicyParams], key: str) -> None:
    contract = ctx.read(BLUEPRINTS)
    sentences = await _agreed(ctx, contract)
    blueprint = reworded(contract, sentences)
    rules = {tool.name: stated_rules(tool) for tool in blueprint.tools}
    text = await ctx.ask(WRITE, blueprint=blueprint, rules=rules, check=lambda answer: faults(answer, blueprint))
    ctx.count("rules", len({rule for stated in rules.values() for rule in stated}))
    ctx.write(POLICIES, key, text.strip() + "\n")


async def _agreed(ctx: Context[PolicyParams], blueprint: Blueprint) -> dict[str, str]:
    """New sentences for the rules that need one. Raises AuthorError for those that get none that fits."""
    by_rule: dict[str, Sequence[Case]] = {}
    if not ctx.params.judged or not ctx.has_author(DECIDE):
        ctx.log("not judged: no cases of the rules are decided from their sentences")
    else:
        for found in await ctx.offload(cases_of, blueprint, ctx.now):
            by_rule[found.rule] = found.cases
            ctx.count("rules without a case", not found.cases)
    common = common_words(blueprint)

    async def settle(rule: Rule) -> tuple[str, str] | None:
        cases = by_rule.get(rule.number, ())
        wrong = audit_rule(rule, blueprint, common) + await _contradictions(ctx, rule.number, rule.says[0], cases, 0)
        if not wrong:
            return None
        ctx.count("rules worded anew")
        return rule.number, await _worded(ctx, blueprint, rule, cases, wrong)

    settled = await asyncio.gather(*(settle(rule) for rule in rules_of(blueprint)), return_exceptions=True)
    refused = [str(outcome) for outcome in settled if isinstance(outcome, AuthorError)]
    if refused:
        raise AuthorError(f"{len(refused)} rules say one thing and do another: {'; '.join(refused)}")
    for outcome in settled:
        if isinstance(outcome, BaseException):
            raise outcome
    return dict(outcome for outcome in settled if isinstance(outcome, tuple))


async def _worded(
    ctx: Context[PolicyParams], blueprint: Blueprint, rule: Rule, cases: Sequence[Case], wrong: list[str]
) -> str:
    common = common_words(blueprint)
    attempt = 0

    async def check(answer: str) -> list[str]:
        nonlocal attempt
        attempt += 1
        told = Rule(rule.number, [answer.strip()], rule.sql)
        found = audit_rule(told, blueprint, common)
        return found + await _contradictions(ctx, rule.number, answer.strip(), cases, attempt)

    try:
        answer = await ctx.ask(
            REWORD,
            key=f"{blueprint.server}/{rule.number}",
            conditions=rule.sql,
            sentence=rule.says[0],
            faults=wrong,
            check=check,
        )
    except AuthorError as error:
        raise AuthorError("; ".join(wrong), question=error.question, key=error.key, reasons=tuple(wrong)) from error
    return answer.strip()


async def _contradictions(
    ctx: Context[PolicyParams], rule: str, sentence: str, cases: Sequence[Case], attempt: int
) -> list[str]:
    """The cases that the judge decides otherwise than the SQL; only the first sentence's verdicts are counted."""
    if not cases:
        return []
    told = [case.text for case in cases]
    try:
        decisions = await ctx.ask(
            DECIDE,
            key=f"{ctx.key}/{rule}" + (f"/{attempt}" if attempt else ""),
            sentence=sentence,
            cases=told,
            check=lambda answer: count_faults(answer, told),
        )
    except AuthorError:
        decisions = [Decision(holds=None, why="the judge gave no verdict") for _ in cases]
    found = disagreements(cases, decisions)
    if not attempt:
        undecided = sum(decision.holds is None for decision in decisions)
        ctx.count("cases undecided", undecided)
        ctx.count("cases disagreed", len(found))
        ctx.count("cases agreed", len(cases) - undecided - len(found))
    return found
