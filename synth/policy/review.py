"""The review of a rule: what speaks against its sentence, by the audit and by the judge's decisions."""

from collections.abc import Sequence

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.bounds import Sentence
from skillweave.schema.contract import Tool
from skillweave.schema.record import Record
from synth.policy.cases import Case


class Decision(Record):
    """What a judge says of one case."""

    holds: bool | None = None
    """Whether the sentence lets it be done; null where its words leave that open."""
    why: Sentence = ""


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


def reworded(blueprint: Blueprint, sentences: dict[str, str]) -> Blueprint:
    """The blueprint with other sentences for some rules."""

    def told(tool: Tool) -> Tool:
        guards = [part.model_copy(update={"says": sentences.get(part.rule, part.says)}) for part in tool.guards]
        effects = [part.model_copy(update={"says": sentences.get(part.rule, part.says)}) for part in tool.effects]
        return tool.model_copy(update={"guards": guards, "effects": effects})

    return blueprint.model_copy(update={"tools": [told(tool) for tool in blueprint.tools]})


def _told(holds: bool) -> str:
    return "may be done" if holds else "may not be done"
