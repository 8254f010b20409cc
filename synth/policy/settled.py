"""Settling the rules of a blueprint before it is a contract: each sentence says what its SQL does.

A rule is told twice, in words and in SQL; agents read the words, scores stand on the SQL. Where figures or values
differ, or where the judge, if `llm.judge` names one, decides a case from the words otherwise than the SQL does, the
author words the rule anew. A rule whose two tellings stay apart is taken out.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TypeVar

from pydantic import Field

from skillweave.errors import AuthorError
from skillweave.llm.question import Question, question
from skillweave.schema.blueprint import Blueprint
from synth.context import Context
from synth.policy.audit import Rule, common_words, differences, rules_of
from synth.policy.cases import Case, cases_of
from synth.policy.review import Decision, Faulty, Sentences, count_faults, disagreements, reworded, without
from synth.step import Params

REWORD = question("policy.reword", returns=Sentences)
DECIDE = question("policy.decide", returns=list[Decision], role="judge", most=400, under="decisions")
APART = "a rule whose sentence and SQL stay apart"
"""Why a rule is taken out."""


class SettledParams(Params):
    """Parameters of a step that settles rules."""

    judged: bool = Field(default=True)
    """Have the judge, where `llm.judge` names one, decide cases of each rule from its sentence."""


P = TypeVar("P", bound=SettledParams)


async def settled(
    ctx: Context[P],
    blueprint: Blueprint,
    reword: Question[Sentences] = REWORD,
    decide: Question[list[Decision]] = DECIDE,
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
        Faulty(rule=name, sentence=" / ".join(rules[name].says), conditions=rules[name].sql, faults=wrong)
        for name, wrong in faulty.items()
    ]
    accepted: dict[str, str] = {}
    attempt = 0

    async def check(answer: Sentences) -> list[str]:
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
        ctx.reject(f"{name}: {'; '.join(wrong)}", APART)
    return reworded(without(blueprint, left), accepted)


async def _cases(
    ctx: Context[P], blueprint: Blueprint, decide: Question[list[Decision]]
) -> Mapping[str, Sequence[Case]]:
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
        decide: Question[list[Decision]],
        blueprint: Blueprint,
        cases: Mapping[str, Sequence[Case]],
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
            decisions = [Decision(holds=None, why="the judge gave no verdict") for _ in cases]
        found = disagreements(cases, decisions)
        if not attempt:
            undecided = sum(decision.holds is None for decision in decisions)
            ctx.count("cases undecided", undecided)
            ctx.count("cases disagreed", len(found))
            ctx.count("cases agreed", len(cases) - undecided - len(found))
        return found
