"""The review of a blueprint's rules: each sentence has to mean the same as its SQL.

A rule has two forms, words and SQL. Agents read the words; scores depend on the SQL. If the two differ in figures or
values, or if the judge (`llm.judge`) decides a case differently from the words than the SQL does, the author rewords
the rule. The review removes a rule whose two forms still differ.
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
    """Whether the sentence allows it; null if its words leave that open."""
    why: Sentence = ""


class FaultyRule(Record):
    """A rule that needs a new sentence, as the author sees it."""

    rule: str
    sentence: str
    conditions: list[str]
    """SQL of its guards and effects."""
    faults: list[str]


class RewordedRule(Record):
    """A rule's new sentence."""

    rule: Label
    says: Sentence


class RewordedRules(Record):
    """New sentences for some rules."""

    sentences: list[RewordedRule] = Field(max_length=200)


def disagreements(cases: Sequence[RuleCase], decisions: Sequence[CaseDecision]) -> list[str]:
    """The cases that a sentence decides differently from its SQL, in words for the author.

    A case that the judge leaves undecided counts neither as an agreement nor as a disagreement.
    """
    return [
        f"{case.text} The SQL says that this {_in_words(case.holds)}, the sentence that it {_in_words(decision.holds)}"
        for case, decision in zip(cases, decisions, strict=True)
        if decision.holds is not None and decision.holds is not case.holds
    ]


def count_faults(decisions: Sequence[CaseDecision], cases: Sequence[str]) -> list[str]:
    """Why the decisions do not fit the cases, in words for the judge. Empty if there is one for each."""
    if len(decisions) == len(cases):
        return []
    return [f"there are {len(decisions)} decisions for {len(cases)} cases; give one for each, in their order"]


def with_sentences(blueprint: Blueprint, sentences: Mapping[str, str]) -> Blueprint:
    """The blueprint with these sentences, by rule, instead of its own."""

    def reworded(tool: Tool) -> Tool:
        guards = [part.model_copy(update={"says": sentences.get(part.rule, part.says)}) for part in tool.guards]
        effects = [part.model_copy(update={"says": sentences.get(part.rule, part.says)}) for part in tool.effects]
        return tool.model_copy(update={"guards": guards, "effects": effects})

    return blueprint.model_copy(update={"tools": [reworded(tool) for tool in blueprint.tools]})


def without_rules(blueprint: Blueprint, rules: Collection[str]) -> Blueprint:
    """The blueprint without the guards of these rules, and without the tools that have an effect of one of them."""
    tools = [
        tool.model_copy(update={"guards": [guard for guard in tool.guards if guard.rule not in rules]})
        for tool in blueprint.tools
        if not any(effect.rule in rules for effect in tool.effects)
    ]
    return blueprint.model_copy(update={"tools": tools})


def _in_words(holds: bool) -> str:
    return "may be done" if holds else "may not be done"


REWORD = question("policy.reword", returns=RewordedRules)
DECIDE = question("policy.decide", returns=list[CaseDecision], role="judge", most=400, under="decisions")
SENTENCE_AND_SQL_DIFFER = "a rule whose sentence and SQL stay apart"
"""The reason for removing a rule."""


class ReviewParams(Params):
    """Parameters of a step that reviews rules."""

    judged: bool = Field(default=True)
    """Have the judge, if `llm.judge` names one, decide cases of each rule from its sentence."""


P = TypeVar("P", bound=ReviewParams)


async def review_rules(
    ctx: Context[P],
    blueprint: Blueprint,
    reword: Question[RewordedRules] = REWORD,
    decide: Question[list[CaseDecision]] = DECIDE,
) -> Blueprint:
    """Ask the author to reword every rule whose sentence differs from its SQL.

    Args:
        ctx: The item that asks.
        blueprint: The blueprint to review.
        reword: Asks the author for new sentences.
        decide: Asks the judge to decide cases from a sentence.

    Returns:
        The blueprint with one sentence for each rule, in all its guards and effects. If a rule gets no right sentence,
        the review removes its guards from each tool, or the whole tool if the rule has an effect, and records it with
        `ctx.reject`. The caller decides whether enough remains.
    """
    rules = {rule.number: rule for rule in rules_of(blueprint)}
    review = _Review(ctx, decide, blueprint, await _cases(ctx, blueprint, decide))
    faults = await asyncio.gather(*(review.faults(rule, 0) for rule in rules.values()))
    rewording = _Rewording(review, rules, {name: wrong for name, wrong in zip(rules, faults, strict=True) if wrong})
    if not rewording.faults:
        return blueprint
    try:
        await ctx.ask(reword, rules=rewording.faulty_rules(), check=rewording.check)
    except AuthorError as error:
        ctx.log(str(error))
    ctx.count("rules worded anew", len(rewording.accepted))
    remaining = rewording.remaining()
    for name in remaining:
        ctx.reject(f"{name}: {'; '.join(rewording.faults[name])}", SENTENCE_AND_SQL_DIFFER)
    return with_sentences(without_rules(blueprint, remaining), rewording.accepted)


async def _cases(
    ctx: Context[P], blueprint: Blueprint, decide: Question[list[CaseDecision]]
) -> Mapping[str, Sequence[RuleCase]]:
    """Rule -> its cases; empty if no judge decides them."""
    if not ctx.params.judged or not ctx.has_author(decide):
        ctx.log("not judged: no cases of the rules are decided from their sentences")
        return {}
    rules = await ctx.offload(cases_of, blueprint, ctx.now)
    ctx.count("rules without a case", sum(not rule.cases for rule in rules))
    return {rule.rule: rule.cases for rule in rules}


class _Rewording:
    """One question to the author about all faulty rules. Each repair covers only the remaining ones."""

    def __init__(self, review: "_Review", rules: Mapping[str, Rule], faults: dict[str, list[str]]) -> None:
        self.faults = faults
        """Rule -> faults of its last sentence, for every rule that was faulty at first."""
        self.accepted: dict[str, str] = {}
        """Rule -> its new sentence."""
        self._review = review
        self._rules = rules
        self._attempts = 0

    def faulty_rules(self) -> list[FaultyRule]:
        """The faulty rules, as the author sees them."""
        return [
            FaultyRule(
                rule=name,
                sentence=" / ".join(self._rules[name].says),
                conditions=self._rules[name].sql,
                faults=faults,
            )
            for name, faults in self.faults.items()
        ]

    def remaining(self) -> list[str]:
        """The rules that have no accepted sentence yet."""
        return [name for name in self.faults if name not in self.accepted]

    async def check(self, answer: RewordedRules) -> list[str]:
        """Accept the right sentences of an answer. Returns the faults of the others, in words for the author."""
        self._attempts += 1
        waiting = set(self.remaining())
        sentences = {rule.rule: rule.says.strip() for rule in answer.sentences if rule.rule in waiting}
        reviews = [
            self._review.faults(Rule(name, [says], self._rules[name].sql), self._attempts)
            for name, says in sentences.items()
        ]
        faults = dict(zip(sentences, await asyncio.gather(*reviews), strict=True))
        self.accepted.update({name: says for name, says in sentences.items() if not faults[name]})
        remaining = self.remaining()
        self.faults.update({name: faults[name] for name in remaining if name in faults})
        complaints = [
            f"{name}: {fault}" for name in remaining for fault in faults.get(name, ["it has no new sentence"])
        ]
        if remaining and self.accepted:
            complaints.append(f"give sentences for these alone: {', '.join(remaining)}; the others are accepted")
        return complaints


class _Review:
    """Finds faults of the sentences of a blueprint's rules, by the audit and by the judge."""

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
        """The faults of a rule's sentence, in words for the author; `attempt` counts its rewordings."""
        faults = differences(rule, self._blueprint, self._common)
        if len(rule.says) == 1:
            faults += await self._contradictions(rule, attempt)
        return faults

    async def _contradictions(self, rule: Rule, attempt: int) -> list[str]:
        """The cases that the judge decides differently from the SQL. Only verdicts on first sentences are counted."""
        cases, ctx = self._cases.get(rule.number, ()), self._ctx
        if not cases:
            return []
        texts = [case.text for case in cases]
        try:
            decisions = await ctx.ask(
                self._decide,
                key=f"{ctx.key}/{rule.number}" + (f"/{attempt}" if attempt else ""),
                sentence=rule.says[0],
                cases=texts,
                check=lambda answer: count_faults(answer, texts),
            )
        except AuthorError:
            decisions = [CaseDecision(holds=None, why="the judge gave no verdict") for _ in cases]
        contradictions = disagreements(cases, decisions)
        if not attempt:
            undecided = sum(decision.holds is None for decision in decisions)
            ctx.count("cases undecided", undecided)
            ctx.count("cases disagreed", len(contradictions))
            ctx.count("cases agreed", len(cases) - undecided - len(contradictions))
        return contradictions
