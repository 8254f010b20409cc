"""The worked example of docs/extending.md as a blueprint, as rows that were lived, and as a task."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.criteria import Criteria, FactToTell, GoldenCall
from skillweave.schema.record import Row
from skillweave.schema.task import (
    Difficulty,
    EnvVariables,
    Fact,
    Gates,
    InitialState,
    Persona,
    Scenario,
    Task,
    TaskInfo,
    TaskLineage,
)
from skillweave.schema.trajectory import Message
from skillweave.world.canonical import canonical
from skillweave.world.world import World
from synth.offline.services import Knob, Service
from synth.simulation.build import HistoryResult, simulate_history
from synth.simulation.generation import filled_tables, run_generator, state_of
from synth.simulation.history import HistoryPlan
from synth.trial.draft import formulate
from synth.trial.generator import write_generator
from synth.trial.trial import with_enforcers

DOCS = Path(__file__).parents[2] / "docs"
NOW = "2025-03-17 09:00:00"


def service() -> Service:
    """The example's file, read as the catalogue's are."""
    return Service((DOCS / "examples" / "bike_hire.yaml").read_text("utf-8"))


def blueprint(knobs: Mapping[str, Knob] | None = None) -> Blueprint:
    """The example as s04 and s05 leave it."""
    setting = service().setting("BikeHire")
    found = service().render(setting, knobs or service().choices(setting)[0])
    draft = Blueprint(
        server=setting.domain,
        domain=setting.topic,
        title=setting.title,
        core_entity=found.core_entity,
        entities=found.entities,
        relationships=found.relationships,
        tools=found.tools,
        invariants=found.invariants,
        events=found.events,
    )
    return formulate(with_enforcers(draft, 0.4, Random(1).shuffle), "BH")


@cache
def lived() -> HistoryResult:
    """A short history of the example."""
    made = blueprint()
    script = write_generator(made.server, made.core_entity, filled_tables(made), made.tables)
    rows, faults = run_generator(script, made, 7, NOW)
    assert faults == []
    return simulate_history(made, rows, NOW, HistoryPlan(visits=60, days=40), "bikes")


def a_world() -> World:
    """The example with its history."""
    return World(blueprint(), state_of(lived().rows, blueprint()), now=NOW)


def a_task(first_message: str = "Hi, a bike please.") -> Task:
    """A rider who has no bike hires a free one."""
    rider, bike = _free_rider(), _free_bike()
    golden = [
        GoldenCall(tool="list_free_bikes", arguments={}),
        GoldenCall(
            tool="hire_bike",
            arguments={"bike_id": bike["bike_id"]},
            grounding={"bike_id": "call 0 [0].bike_id"},
        ),
    ]
    with a_world().session(caller=str(rider["rider_id"])) as session:
        digest = session.digest()
        for call in golden:
            assert session.call(call.tool, call.arguments).ok
        changes = canonical(session.diff(), session.minted)
    name = str(rider["full_name"])
    return Task(
        id="BikeHire-0a1b2c3d",
        domains=["BikeHire"],
        world="BikeHire",
        kind="do",
        login="session",
        messages=[Message(role="user", content=first_message)],
        user_system_prompt=f"You are {name}.",
        persona=Persona(name=name, age=41, style="brief", patience=5, traits=["writes in lower case"]),
        scenario=Scenario(
            goal="You want to hire a bike.",
            reason="I want to ride along the coast.",
            facts=[Fact(id="bike", text=f"I like {bike['bike_name']}.", value=bike["bike_name"], tell="first")],
        ),
        now=NOW,
        env_variables=EnvVariables(
            CURRENT_DATE=NOW[:10], LOGGED_IN_USER=str(rider["rider_id"]), LOGGED_IN_NAME=str(rider["full_name"])
        ),
        tools="tool_lists/BikeHire.json",
        policy="policies/BikeHire.md",
        initial_state=InitialState(database="database/BikeHire.sqlite", digest=digest),
        golden=golden,
        criteria=Criteria(
            state=changes,
            communicate=[
                FactToTell(
                    fact="told_1",
                    noun="hire fee",
                    values=[bike["day_price_cents"]],
                    type="integer",
                    unit="cents",
                    rivals=[99],
                )
            ],
            reward_basis=["state", "communicate"],
        ),
        difficulty=Difficulty(calls=2, writes=1, domains=1, facts=1),
        gates=Gates(golden={"replays": 2}, not_already_true={}, minimal={"writes": 1}, grounded={}, lawful={}),
        split="train",
        task_info=TaskInfo(
            trajectory=[call.tool for call in golden],
            instruction="You want to hire a bike.",
            reason_for_call="I want to ride along the coast.",
            known_info="",
            trajectory_hash="",
            combo_id="BikeHire/hire_a_bike/001",
        ),
        lineage=TaskLineage(
            template="BikeHire/hire_a_bike", combo="BikeHire/hire_a_bike/001", seed_domain="bicycle hire"
        ),
    )


def _free_rider() -> Row:
    taken = {row["rider_id"] for row in lived().rows["hire"] if row["status"] == "running"}
    return next(row for row in lived().rows["rider"] if row["rider_id"] not in taken)


def _free_bike() -> Row:
    taken = {row["bike_id"] for row in lived().rows["hire"] if row["status"] == "running"}
    free = [row for row in lived().rows["bike"] if row["bike_id"] not in taken]
    return min(free, key=lambda row: str(row["bike_name"]))
