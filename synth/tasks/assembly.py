"""Assembly of task records from a combination, a persona and an author's words.

A provisional task is the record in bare words, before an author has told it. What is tried on it holds for the
told one: the id, the golden calls and the criteria are the same.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache
from random import Random

from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.combination import Combination, ValidatedTask
from skillweave.schema.criteria import Criteria, GoldenCall, MustAsk
from skillweave.schema.entity import Domain
from skillweave.schema.record import Row
from skillweave.schema.request import FactWords, KnownFact, Telling, UserRequest
from skillweave.schema.task import (
    EnvVariables,
    Fact,
    Gates,
    InitialState,
    LaterWish,
    Persona,
    Scenario,
    Split,
    Task,
    TaskInfo,
    TaskLineage,
)
from skillweave.schema.template import TaskTemplate
from skillweave.schema.trajectory import Message
from skillweave.user_prompt import draw_style, draw_traits, user_prompt
from skillweave.world.database import digest_of, text_of
from skillweave.world.world import World
from synth.contracts.wording import VALUE_PLACEHOLDER, name_in_words, short_tool_name
from synth.tasks.difficulty import difficulty_of
from synth.tasks.kinds import KINDS
from synth.tasks.requests import later_facts, request_of
from synth.tasks.splits import person_name


def persona_of(row: Row, now: str, random: Random) -> Persona:
    """The persona of a person: name and age are their own in the data, the manner is drawn.

    Args:
        row: The person's row.
        now: The clock, from which the age is counted.
    """
    style, patience = draw_style(random)
    return Persona(
        name=person_name(row),
        age=_age(str(row.get("date_of_birth") or ""), now, Random(f"{sorted(map(str, row.values()))}")),
        style=style,
        patience=patience,
        traits=draw_traits(style, random),
    )


def _age(born: str, now: str, random: Random) -> int:
    try:
        birth, today = date.fromisoformat(born), date.fromisoformat(now[:10])
    except ValueError:
        return random.randint(21, 79)
    return today.year - birth.year - ((today.month, today.day) < (birth.month, birth.day))


class TaskAssembler:
    """Assembles the tasks of one world."""

    def __init__(self, world: World, domains: Sequence[Domain]) -> None:
        self._world = world
        self._domains = domains
        with world.session() as session:
            self._texts = {entity.table: text_of(session.rows(entity.table)) for entity in world.blueprint.tables}
        self._digest = digest_of(self._texts)

    def person(self, caller: str) -> Row:
        """The caller's own row.

        Raises:
            KeyError: There is no such person.
        """
        row = self._world.original(self._world.people.table, caller)
        if row is None:
            raise KeyError(caller)
        return row

    def request(self, template: TaskTemplate, combination: Combination, random: Random) -> UserRequest:
        """What the caller of a combination wants and knows; their manner is drawn."""
        persona = persona_of(self.person(combination.caller), combination.now, random)
        return request_of(self._world.blueprint, template, combination, persona, random)

    def task(self, validated: ValidatedTask, request: UserRequest, telling: Telling, split: Split) -> Task:
        """The whole record of a task.

        Args:
            telling: The author's words for the request.
        """
        combination, blueprint = validated.combination, self._world.blueprint
        scenario, golden = scenario_of(request, telling, blueprint), golden_of(combination)
        signed_in = combination.login == "session"
        return Task(
            id=f"{blueprint.server}-{_digest(combination)[:8]}",
            domains=[domain.name for domain in self._domains],
            world=blueprint.server,
            kind=combination.kind,
            forms=combination.forms,
            login=combination.login,
            messages=[Message(role="user", content=telling.first_message)],
            user_system_prompt=user_prompt(blueprint.title, request.persona, scenario, combination.now),
            persona=request.persona,
            scenario=scenario,
            now=combination.now,
            namespaces=_namespaces(blueprint),
            env_variables=EnvVariables(
                CURRENT_DATE=combination.now[:10],
                LOGGED_IN_USER=combination.caller if signed_in else None,
                LOGGED_IN_NAME=request.persona.name if signed_in else None,
            ),
            tools=f"tool_lists/{blueprint.server}.json",
            tools_hidden=combination.hidden,
            policy=f"policies/{blueprint.server}.md",
            initial_state=InitialState(
                database=f"database/{blueprint.server}.sqlite",
                digest=self._patched_digest(combination),
                patch=combination.patch,
            ),
            golden=golden,
            criteria=_asking(validated.criteria, combination, request),
            difficulty=difficulty_of(
                self._world, combination, facts=len(scenario.facts), shortest=_shortest(validated.gates)
            ),
            gates=validated.gates,
            split=split,
            task_info=info_of(golden, scenario, combination.id),
            lineage=TaskLineage(template=combination.template, combo=combination.id, seed_domain=self._seeds),
        )

    @property
    def _seeds(self) -> str:
        return ", ".join(dict.fromkeys(domain.seed for domain in self._domains))

    def _patched_digest(self, combination: Combination) -> str:
        if not combination.patch:
            return self._digest
        with self._world.session(patch=combination.patch) as session:
            patched = {change.table for change in combination.patch}
            return digest_of({**self._texts, **{table: text_of(session.rows(table)) for table in patched}})


def _shortest(gates: Gates) -> int | None:
    calls = gates.planner.get("calls")
    return calls if isinstance(calls, int) else None


def golden_of(combination: Combination) -> list[GoldenCall]:
    """The golden calls of its task: the combination's own, and those with which its kind ends."""
    own = map(combination.marked, range(len(combination.golden)))
    return [*own, *KINDS[combination.kind].ending(combination)]


def _asking(criteria: Criteria, combination: Combination, request: UserRequest) -> Criteria:
    """The criteria with the ids of the facts that the agent has to ask for."""
    left_out = [fact.id for fact in request.known if fact.withheld]
    tools = [combination.golden[one.call].tool for one in combination.withheld]
    return criteria.model_copy(update={"must_ask": [MustAsk(facts=left_out, tool=tools[0])] if left_out else []})


def scenario_of(request: UserRequest, telling: Telling, blueprint: Blueprint) -> Scenario:
    """The goal, the reason, and all that the user knows, including what they do not want.

    With it goes what they come out with later, and what they say when something is declined.
    """
    words = {fact.id: fact for fact in telling.facts}
    facts = [
        Fact(id=fact.id, text=fact.says, value=fact.value, tell="asked")
        if fact.secret
        else Fact(
            id=fact.id,
            text=words[fact.id].text.replace(VALUE_PLACEHOLDER, fact.words),
            value=fact.value,
            tell=words[fact.id].tell,
        )
        for fact in request.known
    ]
    return Scenario(
        goal=telling.goal,
        reason=telling.reason or "",
        facts=[*facts, *_not_wanted(request, blueprint)],
        later=_later_wish(request, telling),
        insists=telling.insists,
    )


def _not_wanted(request: UserRequest, blueprint: Blueprint) -> Iterator[Fact]:
    """What is not wanted, once for each kind of deed; where only some of these go without, for each of them."""
    known = {fact.id: fact for fact in request.known if not fact.withheld and fact.type == "string"}
    counts: Counter[str] = Counter()
    for intent in request.wishes:
        alike = [one for one in request.wishes if one.tool == intent.tool]
        for parameter in intent.unwanted:
            name = f"{short_tool_name(blueprint, intent.tool)}.{parameter}"
            without = [one for one in alike if parameter in one.unwanted]
            if len(without) == len(alike) and intent is not without[0]:
                continue
            # A thing by its name; a slot has none, only a day and a place.
            named = [row for row in intent.rows.values() if {*row.columns.values()} <= known.keys()]
            told = [known[fact].words for row in named for fact in row.columns.values()]
            for_what = f" for the {told[0]}" if told and len(without) < len(alike) else ""
            counts[name] += 1
            own = name if counts[name] == 1 else f"{name}_{counts[name]}"
            text = f"No {name_in_words(parameter)} is needed{for_what}; leave it out."
            yield Fact(id=own, text=text, value=None, tell="asked")


def _later_wish(request: UserRequest, telling: Telling) -> LaterWish | None:
    """What the user comes out with later, at the first moment that one of their wishes names."""
    moments = [intent.later for intent in request.wishes if intent.later]
    if not moments or telling.later is None:
        return None
    told = [fact.id for fact in telling.facts if fact.tell == "later"]
    return LaterWish(when=moments[0], says=telling.later, facts=told)


def info_of(golden: Sequence[GoldenCall], scenario: Scenario, combo: str) -> TaskInfo:
    """A short form of the task, for readers of other formats."""
    return TaskInfo(
        trajectory=[call.tool for call in golden],
        instruction=scenario.goal,
        reason_for_call=scenario.reason,
        known_info=" ".join(fact.text for fact in scenario.facts),
        trajectory_hash=hash_of([[call.tool, call.arguments] for call in golden]),
        combo_id=combo,
    )


def _namespaces(blueprint: Blueprint) -> dict[str, str]:
    members = blueprint.members if isinstance(blueprint, FusedBlueprint) else []
    return {member.server: member.namespace for member in members}


def _digest(combination: Combination) -> str:
    """The digest of a combination. What only requests in some form have does not count where there is none of it."""
    absent = {name for name in FORM_FIELDS if not getattr(combination, name)}
    return hash_of(combination.model_dump(mode="json", exclude={"id", *absent}))


def hash_of(value: object) -> str:
    """The sha256 of a value's JSON, in hexadecimal."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


FORM_FIELDS = (
    "asked_after",
    "undone",
    "forms",
    "terms",
    "questions",
    "beliefs",
    "any_of",
    "insists",
    "thought_better_of",
)
"""Fields of a combination that only requests in some form have."""
CACHED_WORLDS = 8
"""Worlds whose assembler, with the digest of its state, is cached."""
LONGEST_WORDS = 200
"""Characters of one value's words at most."""
MOST_FIRST_FACTS = 12
"""Facts that the first message says at most; the rest stands in the scenario."""


def provisional_task(
    world: World, combination: Combination, template: TaskTemplate, criteria: Criteria, gates: Gates
) -> Task:
    """The task in bare words. The same combination gives the same task."""
    assembly, random = _assembly(world), Random(f"{combination.id}/provisional")
    request = assembly.request(template, combination, random)
    validated = ValidatedTask(combination=combination, criteria=criteria, gates=gates)
    return assembly.task(validated, request, _bare_telling(request), "train")


def _bare_telling(request: UserRequest) -> Telling:
    """A telling that lists what is known, fact by fact, without what is given only when asked for."""
    later = later_facts(request)
    facts = [
        FactWords(
            id=fact.id,
            text=_words(fact),
            tell="asked" if fact.withheld else "later" if fact.id in later else "first",
        )
        for fact in request.known
        if not fact.secret
    ]
    said = {moment: [fact.text for fact in facts if fact.tell == moment] for moment in ("first", "later")}
    goal = request.title or "Something is to be done."
    return Telling(
        id="1",
        reason=request.reason,
        first_message=f"{goal}. {' '.join(said['first'][:MOST_FIRST_FACTS])}".strip(),
        goal=goal,
        facts=facts,
        later=" ".join(["There is something else.", *said["later"]]) if _is_later(request) else None,
        insists=["Please make an exception."] * request.insists,
    )


def _is_later(request: UserRequest) -> bool:
    return any(intent.later for intent in request.wishes)


def _words(fact: KnownFact) -> str:
    return f"{fact.about}: {fact.words[:LONGEST_WORDS]}."


@lru_cache(maxsize=CACHED_WORLDS)
def _assembly(world: World) -> TaskAssembler:
    return TaskAssembler(world, _domains(world.blueprint))


def _domains(blueprint: Blueprint) -> list[Domain]:
    """The domains of a world, as far as its contract knows them."""
    if isinstance(blueprint, FusedBlueprint):
        named = [(member.server, member.domain) for member in blueprint.members]
    else:
        named = [(blueprint.server, blueprint.domain)]
    person = blueprint.core.name
    return [Domain(name=server, topic=topic, summary=topic, person=person, seed=topic) for server, topic in named]
