"""A dataset with a fused world beside single ones."""

import json
from pathlib import Path

import pytest

from skillweave.base.errors import ArtifactError
from skillweave.schema.fusion import Mediation
from skillweave.world.dataset import Dataset
from tests.world.fused.domains import NOW, a_domain, a_fused_blueprint, a_fused_database, a_world
from tests.world.fused.test_session import BRIDGE

NAME = "Clinic__Gym"
CONTRACT = f"database/{NAME}.contract.json"
BRIDGES = f"policies/{NAME}.bridges.json"


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """What a run writes of two domains and of the world that they are fused into."""
    fused = a_fused_blueprint(servers=["Clinic", "Gym"])
    mediation = Mediation(name=NAME, conflicts=[], bridges=[BRIDGE], proofs=[])
    singles = [a_domain(server).model_dump(mode="json") for server in ("Clinic", "Gym")]
    for folder in ("database", "policies"):
        (tmp_path / folder).mkdir()
    (tmp_path / "blueprints.json").write_text(json.dumps(singles))
    (tmp_path / "manifest.json").write_text(json.dumps({"fingerprints": {"s06": {"now": NOW}}}))
    (tmp_path / "database/Clinic.sqlite").write_bytes(a_world("Clinic").content)
    (tmp_path / f"database/{NAME}.sqlite").write_bytes(a_fused_database(fused))
    (tmp_path / CONTRACT).write_text(fused.model_dump_json())
    (tmp_path / BRIDGES).write_text(mediation.model_dump_json())
    (tmp_path / f"policies/{NAME}.md").write_text("[B1] First the clinic.\n")
    return tmp_path


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_fused_world_opens_by_its_name_with_its_bridge_rules_in_force(outputs: Path) -> None:
    dataset = Dataset(outputs)
    assert dataset.worlds == ["Clinic", NAME]
    assert dataset.blueprint(NAME) == a_fused_blueprint([BRIDGE], ["Clinic", "Gym"])
    assert dataset.policy(NAME).rules == ["B1"]
    with dataset.world(NAME).session(caller="PAT-P001") as session:
        refused = session.call("gym__visit", {})
    assert refused.error is not None
    assert (refused.error.rule, session.now) == ("B1", NOW)
    with dataset.world("Clinic").session(caller="CP-0001") as session:
        assert session.call("visit", {}).ok


@pytest.mark.parametrize("file", [CONTRACT, BRIDGES])
def test_the_digest_covers_the_contract_and_the_bridge_rules(outputs: Path, file: str) -> None:
    before = Dataset(outputs).digest
    edited(outputs / file, "gym__visit", "gym__visits")
    assert Dataset(outputs).digest != before


def test_a_fused_world_whose_bridge_rules_are_not_there_yet_is_none_of_the_worlds(outputs: Path) -> None:
    (outputs / BRIDGES).unlink()
    dataset = Dataset(outputs)
    assert dataset.worlds == ["Clinic"]
    with pytest.raises(ArtifactError, match=rf"'{CONTRACT}' has no bridge rules: there is no '{BRIDGES}'"):
        dataset.world(NAME)


def test_a_fused_world_without_its_contract_is_unknown(outputs: Path) -> None:
    (outputs / CONTRACT).unlink()
    with pytest.raises(ArtifactError, match=f"no blueprint '{NAME}' in blueprints.json; there are Clinic, Gym"):
        Dataset(outputs).world(NAME)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (CONTRACT, '"members":', '"member":', "is damaged: members"),
        (CONTRACT, '"account":"Gym"', '"account":"Spa"', "is damaged: .*Spa"),
        (CONTRACT, '"view":"Gym__Guest__person"', '"view":"Gym__Guest__persons"', "nothing in it is called"),
        (CONTRACT, '"own":"Gym__Guest"', '"own":"Gym__Stranger"', "nothing in it is called 'Gym__Stranger'"),
        (CONTRACT, f'"server":"{NAME}"', '"server":"Gym__Clinic"', "is of the world 'Gym__Clinic', not of"),
        (BRIDGES, '"name":', '"title":', "is damaged: name"),
        (BRIDGES, f'"name":"{NAME}"', '"name":"Gym__Clinic"', "is of the world 'Gym__Clinic', not of"),
        (BRIDGES, "gym__visit", "gym__fly", "B1 guards the tool 'gym__fly', which is not in"),
        (BRIDGES, "{", "[", "is damaged"),
    ],
)
def test_a_damaged_file_is_told_by_name(outputs: Path, file: str, old: str, new: str, message: str) -> None:
    edited(outputs / file, old, new)
    with pytest.raises(ArtifactError, match=message) as raised:
        Dataset(outputs).world(NAME)
    assert file in str(raised.value)
