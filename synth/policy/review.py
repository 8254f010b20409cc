"""The review of a blueprint's rules: each sentence has to say what its SQL does.

A rule is stated twice, in words and in SQL. Agents read the words; scores rest on the SQL. If the two differ in
figures or values, or if the judge (`llm.judge`) decides a case from the words otherwise than the SQL does, the
author rewords the rule. A rule whose two forms still differ is removed.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from pydantic import Field

from skillweave.base.errors import AuthorError
from skillweave.llm.question import Question, question
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.record import Label, Record, Sentence
from synth.engine.context import Context
from synth.engine.step import Params
from synth.policy.audit import Rule, common_words, differences, rules_of
from synth.policy.cases import RuleCase, cases_of


class CaseDecision(Record):
    """What a judge says of one case."""

    holds: bool | None = None
    """Whether the sentence lets it be done; null where its words leave that open."""
    why: Sentence = ""


class FaultyRule(Record):
    """A rule whose sentence is to be worded anew, as its author is told of it."""

    rule: str
    sentence: str
    conditions: list[str]
    """SQL of its guards and effects."""
    faults: list[str]


class RewordedRule(Record):
    rule: Label
    says: Sentence


class RewordedRules(Record):
    """New sentences for some rules."""

    sentences: list[RewordedRule] = Field(max_length=200)


def disagreements(cases: Sequence[RuleCase], decisions: Sequence[CaseDecision]) -> list[str]:
    """The cases that a sentence decides otherwise than its SQL, in words for the author. Undecided is no agreement."""
    return [
        f"{case.text} The SQL says that this {_told(case.holds)}, the sentence that it {_told(decision.holds)}"
        for case, decision in zip(cases, decisions, strict=True)
        if decision.holds is not None and decision.holds is not case.holds
    ]


def count_faults(decisions: Sequence[CaseDecision], cases: Sequence[str]) -> list[str]:
    """Whether there is one decision for each case, in words for the judge."""
    if len(decisions) == len(cases):
        return []
    return [f"there are {len(decisions)} decisions for {len(cases)} cases; give one for each, in their order"]


def with_sentences(blueprint: Blueprint, sentences: Mapping[str, str]) -> Blueprint:
    """The blueprint with other sentences for some rules."""

    def told(tool: Tool) -> Tool:
        guards = [part.model_copy(update={"says": sentences.get(part.rule, part.says)}) for part in tool.guards]
        effects = [part.model_copy(update={"says": sentences.get(part.rule, part.says)}) for part in tool.effects]
        return tool.model_copy(update={"guards": guards, "effects": effects})

    return blueprint.model_copy(update={"tools": [told(tool) for tool in blueprint.tools]})


def without_rules(blueprint: Blueprint, rules: Collection[str]) -> Blueprint:
    """The blueprint without the guards of these rules, and without the tools one of whose effects they tell."""
    tools = [
        tool.model_copy(update={"guards": [guard for guard in tool.guards if guard.rule not in rules]})
        for tool in blueprint.tools
        if not any(effect.rule in rules for effect in tool.effects)
    ]
    return blueprint.model_copy(update={"tools": tools})


def _told(holds: bool) -> str:
    return "may be done" if holds else "may not be done"


REWORD = question("policy.reword", returns=RewordedRules)
DECIDE = question("policy.decide", returns=list[CaseDecision], role="judge", most=400, under="decisions")
SENTENCE_AND_SQL_DIFFER = "a rule whose sentence and SQL stay apart"
"""Why a rule is taken out."""


class ReviewParams(Params):
    """Parameters of a step that settles rules."""

    judged: bool = Field(default=True)
    """Have the judge, where `llm.judge` names one, decide cases of each rule from its sentence."""


P = TypeVar("P", bound=ReviewParams)


async def review_rules(
    ctx: Context[P],
    blueprint: Blueprint,
    reword: Question[RewordedRules] = REWORD,
    decide: Question[list[CaseDecision]] = DECIDE,
) -> Blueprint:
    """The blueprint with sentences that say what the SQL does, one a rule, in all guards and effects of that rule.

    A rule that gets no such sentence is taken out: of guards, that guard of each tool; of an effect, its tools. Each
    is recorded by `ctx.reject`. Whether enough is left is for the caller to say.
    """
    rules = {rule.number: rule for rule in rules_of(blueprint)}
    review = _Review(ctx, decide, blueprint, await _cases(ctx, blueprint, decide))
    names = list(rules)
    found = await asyncio.gather(*(review.faults(rules[name], 0) for name in names))
    faulty = {name: wrong for name, wrong in zip(names, found, strict=True) if wrong}
    if not faulty:
        return blueprint
    told = [
        FaultyRule(rule=name, sentence=" / ".join(rules[name].says), conditions=rules[name].sql, faults=wrong)
        for name, wrong in faulty.items()
    ]
    accepted: dict[str, str] = {}
    attempt = 0

    async def check(answer: RewordedRules) -> list[str]:
        nonlocal attempt
        attempt += 1
        given = {one.rule: one.says.strip() for one in answer.sentences if one.rule in faulty.keys() - accepted.keys()}
        tried = [review.faults(Rule(name, [says], rules[name].sql), attempt) for name, says in given.items()]
        wrong = dict(zip(given, await asyncio.gather(*tried), strict=True))
        accepted.update({name: given[name] for name in given if not wrong[name]})
        left = [name for name in faulty if name not in accepted]
        faulty.update({name: wrong[name] for name in left if name in wrong})
        complaints = [f"{name}: {fault}" for name in left for fault in wrong.get(name, ["it has no new sentence"])]
        if left and accepted:
            complaints.append(f"give sentences for these alone: {', '.join(left)}; the others are accepted")
        return complaints

    try:
        await ctx.ask(reword, rules=told, check=check)
    except AuthorError as error:
        ctx.log(str(error))
    ctx.count("rules worded anew", len(accepted))
    left = {name: wrong for name, wrong in faulty.items() if name not in accepted}
    for name, wrong in left.items():
        ctx.reject(f"{name}: {'; '.join(wrong)}", SENTENCE_AND_SQL_DIFFER)
    return with_sentences(without_rules(blueprint, left), accepted)


async def _cases(
    ctx: Context[P], blueprint: Blueprint, decide: Question[list[CaseDecision]]
) -> Mapping[str, Sequence[RuleCase]]:
    """The cases of each rule; none where nobody decides them."""
    if not ctx.params.judged or not ctx.has_author(decide):
        ctx.log("not judged: no cases of the rules are decided from their sentences")
        return {}
    found = await ctx.offload(cases_of, blueprint, ctx.now)
    ctx.count("rules without a case", sum(not rule.cases for rule in found))
    return {rule.rule: rule.cases for rule in found}


class _Review:
    """What speaks against the sentences of a blueprint's rules, by the audit and by the judge."""

    def __init__(
        self,
        ctx: Context[P],
        decide: Question[list[CaseDecision]],
        blueprint: Blueprint,
        cases: Mapping[str, Sequence[RuleCase]],
    ) -> None:
        self._ctx = ctx
        self._decide = decide
        self._blueprint = blueprint
        self._cases = cases
        self._common = common_words(blueprint)

    async def faults(self, rule: Rule, attempt: int) -> list[str]:
        """In words for the author; `attempt` counts the sentences that the rule has had."""
        found = differences(rule, self._blueprint, self._common)
        if len(rule.says) == 1:
            found += await self._contradictions(rule, attempt)
        return found

    async def _contradictions(self, rule: Rule, attempt: int) -> list[str]:
        """The cases that the judge decides otherwise than the SQL; only a first sentence's verdicts are counted."""
        cases, ctx = self._cases.get(rule.number, ()), self._ctx
        if not cases:
            return []
        told = [case.text for case in cases]
        try:
            decisions = await ctx.ask(
                self._decide,
                key=f"{ctx.key}/{rule.number}" + (f"/{attempt}" if attempt else ""),
                sentence=rule.says[0],
                cases=told,
                check=lambda answer: count_faults(answer, told),
            )
        except AuthorError:
            decisions = [CaseDecision(holds=None, why="the judge gave no verdict") for _ in cases]
        found = disagreements(cases, decisions)
        if not attempt:
            undecided = sum(decision.holds is None for decision in decisions)
            ctx.count("cases undecided", undecided)
            ctx.count("cases disagreed", len(found))
            ctx.count("cases agreed", len(cases) - undecided - len(found))
        return found
