"""Orders of telling: the same user, with another manner and another order in which they tell what they know.

A telling neither loses nor adds a fact: it moves what is said at once to when it is asked for, or the other way.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

import yaml

from rollout.user.role import Role
from rollout.user.telling.bare import bare
from rollout.user.telling.errands import Errand, errands_of_task
from rollout.user.telling.fact_words import is_said, spoken
from rollout.user.telling.lower import lowered
from skillweave.schema.task import Fact, Persona, Task
from skillweave.user_prompt import draw_style, draw_traits, user_prompt

TELLINGS = ("written", "greeting", "piecemeal", "reserved", "forthcoming")


def role_of(task: Task, company: str, trial: int, random: Random) -> Role:
    """The role of a task's user in a trial; 0 is the user as the task has it."""
    errands = errands_of_task(task)
    telling = TELLINGS[trial % len(TELLINGS)]
    if trial == 0 or not errands:
        return Role(
            persona=task.persona,
            scenario=task.scenario,
            opening=task.messages[0].content or "" if task.messages else "",
            prompt=task.user_system_prompt,
            company=company,
            now=task.now,
            signed_in=task.login == "session",
            errands=errands,
        )
    style, patience = draw_style(random)
    persona = task.persona.model_copy(update={"style": style, "patience": patience, "traits": draw_traits(random)})
    facts = task.scenario.facts
    # What is left out of a request is told when it is asked for, however much this user tells.
    kept = [fact.id for fact in facts if task.kind == "clarify" and fact.tell == "asked"]
    if telling == "reserved":
        errands = tuple(_held_back(errand, facts) for errand in errands)
    told = [fact for fact in facts if fact.id not in kept]
    opening = _Opening(persona, task.scenario.reason, told, errands, random).text(telling)
    asked = [errand.words for errand in errands if not errand.only_if_needed]
    said = " ".join([opening, *asked]) if telling == "greeting" else opening
    facts = [fact if fact.id in kept else _told(fact, said) for fact in facts]
    scenario = task.scenario.model_copy(update={"facts": facts})
    return Role(
        persona=persona,
        scenario=scenario,
        opening=lowered(opening) if "writes in lower case" in persona.traits else opening,
        prompt=user_prompt(company, persona, scenario, _frames()["orders"].get(telling, "")),
        company=company,
        now=task.now,
        signed_in=task.login == "session",
        telling=telling,
        errands=errands,
    )


def _held_back(errand: Errand, facts: Sequence[Fact]) -> Errand:
    words, left_out = bare(errand.words, [fact for fact in facts if fact.tell != "never"])
    return replace(errand, words=words, full=errand.words) if left_out else errand


def _told(fact: Fact, said: str) -> Fact:
    """The fact, told at once iff the words hold it."""
    if fact.tell == "never":
        return fact
    at_once = fact.value is not None and is_said(fact, said)
    return fact.model_copy(update={"tell": "first" if at_once else "asked"})


class _Opening:
    """Makes a first message."""

    def __init__(
        self, persona: Persona, reason: str, facts: Sequence[Fact], errands: Sequence[Errand], random: Random
    ) -> None:
        self._style = persona.style
        self._reason = reason
        self._facts = facts
        self._errands = [errand for errand in errands if not errand.only_if_needed]
        self._agreed_to = [errand for errand in errands if errand.only_if_needed]
        self._random = random

    def text(self, telling: str) -> str:
        """The message of that telling."""
        if telling == "greeting":
            reason = self._reason if self._random.random() < 0.4 else ""
            return _joined([self._one("alone"), reason])
        errands = self._errands[:1] if telling == "piecemeal" else self._errands
        parts = [self._frame(place, errand) for place, errand in enumerate(errands)]
        if self._random.random() < 0.5:
            parts.insert(0, self._reason)
        agreed_to = self._agreed_to if telling == "forthcoming" else []
        parts += [self._random.choice(_frames()["consents"]).format(do=errand.words) for errand in agreed_to]
        if telling == "forthcoming":
            said = " ".join(errand.words for errand in [*errands, *agreed_to])
            rest = [spoken(fact) for fact in self._facts if _is_to_be_told(fact) and not is_said(fact, said)]
            if rest:
                parts.append(self._random.choice(_frames()["facts"]).format(facts=" ".join(rest)))
        return _joined([self._one("greetings"), *parts, self._one("closings")])

    def _frame(self, place: int, errand: Errand) -> str:
        frames = _frames()[f"next_{errand.kind}"] if place else _frames()[f"first_{errand.kind}"]
        ways = frames if place else self._of_style(frames)
        way = self._random.choice(ways)
        return str(way.format(do=errand.words, hear=errand.words))

    def _one(self, name: str) -> str:
        return str(self._random.choice(self._of_style(_frames()[name])))

    def _of_style(self, ways: dict[str, list[str]]) -> list[str]:
        return ways.get(self._style) or ways["friendly"]


def _is_to_be_told(fact: Fact) -> bool:
    return fact.tell != "never" and fact.value is not None


def _joined(parts: Sequence[str]) -> str:
    return " ".join(part for part in parts if part)


@cache
def _frames() -> Any:
    return yaml.safe_load(files("rollout.user.telling").joinpath("openings.yaml").read_text("utf-8"))
