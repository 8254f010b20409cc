"""Trials of stories: pruned on the single worlds, fallen on the fused one, or proven, each on record."""

from pathlib import Path

import pytest

from skillweave.schema.fusion import Fusion, StoryCall, Storyline
from skillweave.schema.record import Row
from skillweave.schema.template import ToolGraph
from synth.contracts.writes import auth_edges, data_edges
from synth.stories.proof import StoryInputs, try_stories
from tests.gates.services import NOW, PAID_FIRST, contract, key, service, single_state

SERVERS = ("Clinic", "Insurer")
PAY = StoryCall(server="Clinic", tool="settle_bill", demanded_by="B1")
CLAIM = StoryCall(
    server="Insurer",
    tool="claim_back",
    same={
        "reference": "1.bill_id.bill_id",
        "amount_cents": "1.bill_id.amount_cents",
        "day": "date(1.bill_id.billed_at)",
    },
)
LINKED = Storyline(name="linked", title="Linked", calls=[PAY, CLAIM], reasons=["I was ill."], bridges=[PAID_FIRST])
FREE = StoryCall(server="Insurer", tool="claim_back", names={"reference": "Clinic.Bill"}, given={"amount_cents": 0})
HURRY = StoryCall(server="Insurer", tool="hurry_claim", same={"claim_id": "1.claim_id"})
NEVER = Storyline(name="never", title="Never", calls=[FREE, HURRY], reasons=["I was ill."])
SIDE_BY_SIDE = Storyline(
    name="side_by_side",
    title="Side by side",
    calls=[StoryCall(server=server, tool="settle_bill") for server in SERVERS],
    reasons=["I pay what I owe."],
)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> StoryInputs:
    """Both companies, with three persons who are at both."""
    folder = tmp_path_factory.mktemp("singles")
    databases: dict[str, Path] = {}
    for server in SERVERS:
        databases[server] = folder / f"{server}.sqlite"
        databases[server].write_bytes(single_state(server))
    fused = contract(*SERVERS)
    people: list[Row] = [
        {"person_id": f"PER-P00{number}", **{server: key(server, number) for server in SERVERS}}
        for number in range(1, 4)
    ]
    edges = [*auth_edges(fused), *data_edges(fused)]
    return StoryInputs(
        fused=fused,
        blueprints={server: service(server) for server in SERVERS},
        databases=databases,
        people=people,
        graph=ToolGraph(server=fused.server, tools=[tool.name for tool in fused.tools], edges=edges),
        referred_by={"clinic__list_bills": ["billed_at"], "insurer__list_bills": ["billed_at"]},
        now=NOW,
        seed="seed",
    )


@pytest.fixture(scope="module")
def fusion(ground: StoryInputs) -> Fusion:
    return try_stories(ground, [LINKED, NEVER, SIDE_BY_SIDE])


def test_a_story_that_interlocks_is_kept_with_the_links_that_its_proof_showed(fusion: Fusion) -> None:
    assert [story.name for story in fusion.storylines] == ["linked"]
    crossings = fusion.proofs["linked"]
    assert {(one.source, one.target) for one in crossings} == {("Clinic", "Insurer")}
    assert {one.rule or one.parameter for one in crossings} >= {"B1", "reference", "amount_cents"}
    assert set(fusion.proofs) == {"linked"}


def test_a_story_whose_part_nobody_can_have_never_gets_to_the_fused_world(ground: StoryInputs, fusion: Fusion) -> None:
    (lost,) = fusion.pruned
    assert (lost.storyline, lost.server) == ("never", "Insurer")
    assert lost.reason.startswith("claim_back: no lawful call")
    # Three persons, and two calls for each, that the fused world is not searched for.
    assert lost.saved == 6
    assert try_stories(ground, [NEVER]).searches == 0


def test_a_story_that_is_two_laid_side_by_side_falls_on_the_fused_world(fusion: Fusion) -> None:
    assert list(fusion.rejected) == ["side_by_side"]
    assert "not interlocked" in fusion.rejected["side_by_side"]
    assert fusion.searches > 0


def test_the_same_stories_come_to_the_same(ground: StoryInputs, fusion: Fusion) -> None:
    assert try_stories(ground, [LINKED, NEVER, SIDE_BY_SIDE]) == fusion
