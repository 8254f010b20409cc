"""s11: stories that an author tells are tried, and each comes to something that is on record."""

from pathlib import Path

from skillweave.base.manifest import ItemRecord
from skillweave.schema.fusion import DomainCombination, Storyline
from skillweave.schema.record import Record, Row
from skillweave.schema.template import ToolGraph
from synth.artifacts import BLUEPRINTS, DATABASE, DOMAIN_COMBINATIONS, ENTITY_ROWS, FUSIONS, TOOL_GRAPHS
from synth.contracts.writes import auth_edges, data_edges
from synth.questions.types import RowWords
from synth.steps.s11_trajectory_fusion import FusionParams, trajectory_fusion
from tests.fusion.stage import Stage
from tests.gates.services import NOW, key, service, single_state
from tests.stories.test_proof import LINKED, NEVER, SERVERS, SIDE_BY_SIDE

NAME = "Clinic__Insurer"
WORDS: list[Record] = [
    RowWords(read=f"{namespace}__list_bills", columns=["billed_at"]) for namespace in ("clinic", "insurer")
]


def told(outputs: Path, stories: str | list[Storyline]) -> tuple[Stage, ItemRecord]:
    """The step's item, with an author who tells these stories."""
    answer: str | list[Record] = stories if isinstance(stories, str) else [*stories]
    made = Stage(outputs, NOW, {"fusion.stories": answer, "tasks.references": WORDS})
    for server in SERVERS:
        blueprint = service(server)
        edges = [*auth_edges(blueprint), *data_edges(blueprint)]
        made.give(BLUEPRINTS, server, blueprint)
        made.give_file(DATABASE, server, single_state(server))
        made.give(
            TOOL_GRAPHS, server, ToolGraph(server=server, tools=[tool.name for tool in blueprint.tools], edges=edges)
        )
    people: list[Row] = [
        {"person_id": f"PER-P00{n}", **{server: key(server, n) for server in SERVERS}} for n in range(1, 4)
    ]
    made.give(ENTITY_ROWS, "Person", people)
    made.give(DOMAIN_COMBINATIONS, NAME, DomainCombination(name=NAME, domains=[*SERVERS], person="Person", links=[]))
    return made, made.run(trajectory_fusion, NAME, FusionParams())


def test_each_story_is_kept_pruned_or_fallen_and_counted(tmp_path: Path) -> None:
    made, record = told(tmp_path, [LINKED, NEVER, SIDE_BY_SIDE])
    assert record.state == "done", record.reasons
    found = made.read(FUSIONS, NAME)
    assert [story.name for story in found.storylines] == ["linked"]
    assert [lost.storyline for lost in found.pruned] == ["never"]
    assert list(found.rejected) == ["side_by_side"]
    assert record.rejected == {
        "not feasible on a single world": 1,
        "not carried out, or not interlocked, on the fused world": 1,
    }
    assert record.figures == {"stories": 3, "stories proven": 1, "searches": found.searches, "searches saved": 6}


def test_a_combination_without_a_story_that_interlocks_is_rejected(tmp_path: Path) -> None:
    _, record = told(tmp_path, [NEVER, SIDE_BY_SIDE])
    assert (record.state, record.outputs) == ("rejected", [])
    assert record.reasons == ["no story joins Clinic, Insurer; the step's log says why for each"]


def test_stories_of_tools_that_there_are_not_go_back_to_their_author_and_cost_the_item(tmp_path: Path) -> None:
    flying = LINKED.model_copy(update={"calls": [call.model_copy(update={"tool": "fly"}) for call in LINKED.calls]})
    made, record = told(tmp_path, [flying])
    assert record.state == "rejected"
    assert "Clinic has no tool 'fly'" in record.reasons[0]
    asked = [request for request in made.requests if request.question == "fusion.stories"]
    assert "story 'linked': Clinic has no tool 'fly'" in str(asked[-1].messages)


def test_an_answer_that_is_no_list_of_stories_costs_the_item(tmp_path: Path) -> None:
    assert told(tmp_path, "Once upon a time.")[1].state == "rejected"
