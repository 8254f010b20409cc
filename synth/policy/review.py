"""The review of rules: the judge's decisions, new sentences, and the blueprint with them or without some rules."""

from collections.abc import Collection, Mapping, Sequence

from pydantic import Field

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.bounds import Label, Sentence
from skillweave.schema.contract import Tool
from skillweave.schema.record import Record
from synth.policy.cases import Case


class Decision(Record):
    """What a judge says of one case."""

    holds: bool | None = None
    """Whether the sentence lets it be done; null where its words leave that open."""
    why: Sentence = ""


class Faulty(Record):
    """A rule whose sentence is to be worded anew, as its author is told of it."""

    rule: str
    sentence: str
    conditions: list[str]
    """SQL of its guards and effects."""
    faults: list[str]


class Reworded(Record):
    rule: Label
    says: Sentence


class Sentences(Record):
    """New sentences for some rules."""

    sentences: list[Reworded] = Field(max_length=200)


def disagreements(cases: Sequence[Case], decisions: Sequence[Decision]) -> list[str]:
    """The cases that a sentence decides otherwise than its SQL, in words for the author. Undecided is no agreement."""
    return [
        f"{case.text} The SQL says that this {_told(case.holds)}, the sentence that it {_told(decision.holds)}"
        for case, decision in zip(cases, decisions, strict=True)
        if decision.holds is not None and decision.holds is not case.holds
    ]


def count_faults(decisions: Sequence[Decision], cases: Sequence[str]) -> list[str]:
    """Whether there is one decision for each case, in words for the judge."""
    if len(decisions) == len(cases):
        return []
    return [f"there are {len(decisions)} decisions for {len(cases)} cases; give one for each, in their order"]


def reworded(blueprint: Blueprint, sentences: Mapping[str, str]) -> Blueprint:
    """The blueprint with other sentences for some rules."""

    def told(tool: Tool) -> Tool:
        guards = [part.model_copy(update={"says": sentences.get(part.rule, part.says)}) for part in tool.guards]
        effects = [part.model_copy(update={"says": sentences.get(part.rule, part.says)}) for part in tool.effects]
        return tool.model_copy(update={"guards": guards, "effects": effects})

    return blueprint.model_copy(update={"tools": [told(tool) for tool in blueprint.tools]})


def without(blueprint: Blueprint, rules: Collection[str]) -> Blueprint:
    """The blueprint without the guards of these rules, and without the tools one of whose effects they tell."""
    tools = [
        tool.model_copy(update={"guards": [guard for guard in tool.guards if guard.rule not in rules]})
        for tool in blueprint.tools
        if not any(effect.rule in rules for effect in tool.effects)
    ]
    return blueprint.model_copy(update={"tools": tools})


def _told(holds: bool) -> str:
    return "may be done" if holds else "may not be done"
