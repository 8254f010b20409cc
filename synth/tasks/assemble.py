"""Assembly: a validated combination and its words become a task, the record that rollouts and scores work with."""

import hashlib
import json
from collections.abc import Sequence

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import DECLINE, SESSION_TOOLS
from skillweave.schema.combination import Combination, ValidatedTask
from skillweave.schema.domain import Domain
from skillweave.schema.fused import FusedBlueprint
from skillweave.schema.message import Message
from skillweave.schema.record import Row
from skillweave.schema.task import (
    Criteria,
    Difficulty,
    EnvVariables,
    Fact,
    GoldenCall,
    InitialState,
    Lineage,
    MustAsk,
    Scenario,
    Split,
    Task,
    TaskInfo,
)
from skillweave.schema.telling import Request, Telling
from skillweave.user_prompt import user_prompt
from skillweave.world.tools import tool_of
from skillweave.world.world import World
from synth.tasks.naming import tool_word
from synth.tasks.words import VALUE, name_in_words


class Assembly:
    """Assembles the tasks of one world."""

    def __init__(self, world: World, domains: Sequence[Domain]) -> None:
        self._world = world
        self._domains = domains
        with world.session() as session:
            self._digest = session.digest()

    def person(self, caller: str) -> Row:
        """The caller's own row; KeyError where there is none."""
        row = self._world.original(self._world.people.table, caller)
        if row is None:
            raise KeyError(caller)
        return row

    def task(self, validated: ValidatedTask, request: Request, telling: Telling, split: Split) -> Task:
        """The whole record."""
        combination, blueprint = validated.combination, self._world.blueprint
        scenario, golden = scenario_of(request, telling, blueprint), golden_of(combination)
        signed_in = combination.login == "session"
        return Task(
            id=f"{blueprint.server}-{_digest(combination)[:8]}",
            domains=[domain.name for domain in self._domains],
            world=blueprint.server,
            kind=combination.kind,
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
            difficulty=self._difficulty(validated, scenario),
            gates=validated.gates,
            split=split,
            task_info=info_of(golden, scenario, combination.id),
            lineage=Lineage(template=combination.template, combo=combination.id, seed_domain=self._seeds),
        )

    @property
    def _seeds(self) -> str:
        return ", ".join(dict.fromkeys(domain.seed for domain in self._domains))

    def _patched_digest(self, combination: Combination) -> str:
        if not combination.patch:
            return self._digest
        with self._world.session(patch=combination.patch) as session:
            return session.digest()

    def _difficulty(self, validated: ValidatedTask, scenario: Scenario) -> Difficulty:
        combination, shortest = validated.combination, validated.gates.planner.get("calls")
        golden = golden_of(combination)
        called = [call.tool for call in combination.calls if call.tool not in SESSION_TOOLS]
        return Difficulty(
            calls=len(golden),
            writes=sum(tool_of(self._world.blueprint, call.tool).kind == "write" for call in golden),
            domains=len({self._world.role(tool).account for tool in called}),
            facts=len(scenario.facts),
            shortest=shortest if isinstance(shortest, int) else None,
        )


def golden_of(combination: Combination) -> list[GoldenCall]:
    """The golden calls of its task: the combination's own and, of a request that a rule forbids, the record of that."""
    if combination.kind != "refuse" or not combination.forbidden:
        return combination.golden
    rule = combination.forbidden[0]
    declined = GoldenCall(tool=DECLINE, arguments={"rule": rule}, grounding={"rule": f"policy {rule}"})
    return [*combination.golden, declined]


def _asking(criteria: Criteria, combination: Combination, request: Request) -> Criteria:
    """The criteria with the facts that have to be asked for, under their ids."""
    left_out = [thing.id for thing in request.known if thing.withheld]
    tools = [combination.golden[one.call].tool for one in combination.withheld]
    return criteria.model_copy(update={"must_ask": [MustAsk(facts=left_out, tool=tools[0])] if left_out else []})


def scenario_of(request: Request, telling: Telling, blueprint: Blueprint) -> Scenario:
    """The goal, the reason, and all that the user knows, what they do not want included."""
    words = {fact.id: fact for fact in telling.facts}
    facts = [
        Fact(id=thing.id, text=thing.says, value=thing.value, tell="asked")
        if thing.secret
        else Fact(
            id=thing.id,
            text=words[thing.id].text.replace(VALUE, thing.words),
            value=thing.value,
            tell=words[thing.id].tell,
        )
        for thing in request.known
    ]
    for wish in request.wishes:
        for parameter in wish.unwanted:
            text = f"I want nothing special as to the {name_in_words(parameter)}; leave it out."
            facts.append(Fact(id=f"{tool_word(blueprint, wish.tool)}.{parameter}", text=text, value=None, tell="asked"))
    return Scenario(goal=telling.goal, reason=telling.reason or "", facts=facts)


def info_of(golden: Sequence[GoldenCall], scenario: Scenario, combo: str) -> TaskInfo:
    """The task in short."""
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
    return hash_of(combination.model_dump(mode="json", exclude={"id"}))


def hash_of(value: object) -> str:
    """sha256 of a value as JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
