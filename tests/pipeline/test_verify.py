"""`synth verify` proves a dataset from its files: what is changed in a task is found, with the file and the task."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skillweave.world.dataset import Dataset
from synth.cli.app import main
from synth.cli.options import PipelineSource
from synth.policy.manual import stated_rules
from synth.verification.dataset import report_faults, verify_tasks
from synth.verification.records import WorldRecords
from synth.verification.task import faults_of
from tests.shared import copied

Line = dict[str, Any]


@pytest.fixture
def copy(small: Path, tmp_path: Path) -> Path:
    """The dataset somewhere else, to be spoiled."""
    return copied(small, tmp_path / "moved")


def thinned(outputs: Path) -> Path:
    """The dataset with a fifth of its tasks."""
    for path in (outputs / "queries").glob("*.jsonl"):
        path.write_text("".join(path.read_text().splitlines(keepends=True)[::5]))
    return outputs


def spoil(outputs: Path, change: Callable[[Line], bool]) -> str:
    """Change the first task that `change` finds something to change in, and keep a few others; its id."""
    path = outputs / "queries" / "CornerPharmacy.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    spoiled = next(line for line in lines if change(line))
    others = [line for line in lines if line is not spoiled][::12]
    path.write_text("".join(json.dumps(line) + "\n" for line in (*others, spoiled)))
    return str(spoiled["id"])


def writes(line: Line) -> bool:
    return line["kind"] == "do" and bool(line["criteria"]["state"])


def drop_criterion(line: Line) -> bool:
    return writes(line) and bool(line["criteria"]["state"].pop())


def open_column(line: Line) -> bool:
    after = next((change["after"] for change in line["criteria"]["state"] if change["after"]), None)
    if not writes(line) or after is None:
        return False
    after[sorted(after)[-1]] = {"$any": True}
    return True


def drop_golden(line: Line) -> bool:
    is_plain = writes(line) and line["noise"] is None and line["criteria"]["declined"] is None
    ends_so = is_plain and not line["golden"][-1]["tool"].startswith(("list_", "find_", "get_", "search_"))
    return ends_so and bool(line["golden"].pop())


def doubled_read(line: Line) -> bool:
    reads = [call for call in line["golden"] if call["tool"].startswith(("list_", "find_"))]
    # What is declined is judged after the last call: another one would be a fault of its own.
    is_plain = writes(line) and line["kind"] == "do" and not line["criteria"].get("declined")
    if is_plain and reads and not line["criteria"]["communicate"]:
        line["golden"].append(reads[0])
        return True
    return False


def other_fact(line: Line) -> bool:
    facts = [fact for fact in line["criteria"]["communicate"] if not fact.get("parts")]
    if facts:
        facts[0]["values"] = ["a thing that nobody returned"]
    return bool(facts)


def other_sum(line: Line) -> bool:
    facts = [fact for fact in line["criteria"]["communicate"] if fact.get("parts")]
    if facts:
        facts[0]["values"] = [facts[0]["values"][0] + 1100]
    return bool(facts)


def guessed_fact(line: Line) -> bool:
    facts = line["criteria"]["communicate"]
    if facts:
        facts[0]["values"] = [3]
    return bool(facts)


def no_policy(line: Line) -> bool:
    found = "policy" in line["criteria"]["reward_basis"]
    line["criteria"]["reward_basis"] = [basis for basis in line["criteria"]["reward_basis"] if basis != "policy"]
    return found


def other_digest(line: Line) -> bool:
    line["initial_state"]["digest"] = "0" * 64
    return True


def other_policy(line: Line) -> bool:
    found = writes(line)
    if found:
        line["policy"] = "policies/CityHotel.md"
    return found


def unknown_kind(line: Line) -> bool:
    line["kind"] = "sing"
    return True


def hidden_tool(line: Line) -> bool:
    line["tools_hidden"] = [line["golden"][-1]["tool"]]
    return True


def demanded_by_nobody(line: Line) -> bool:
    found = writes(line) and line["criteria"]["declined"] is None
    if found:
        line["golden"][-1]["demanded_by"] = "R1"
    return found


def nothing_to_do(line: Line) -> bool:
    found = writes(line) and not line["criteria"]["communicate"] and not line["noise"]
    if found:
        line["criteria"]["state"], line["golden"] = [], line["golden"][:1]
    return bool(found)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (drop_criterion, "the criteria are not what the golden calls change"),
        (open_column, "the criteria are not what the golden calls change"),
        (drop_golden, "the criteria are not what the golden calls change"),
        (doubled_read, "read without use"),
        (other_fact, "which no golden call returns"),
        (other_sum, "do not make"),
        (guessed_fact, "which the user knows or may guess"),
        (no_policy, "the reward rests on ['state'"),
        (other_digest, "was proven on the state '000000000000'"),
        (other_policy, "policies/CityHotel.md does not state R"),
        (unknown_kind, "unknown kind of task 'sing'"),
        (hidden_tool, "does not offer"),
        (nothing_to_do, "already true"),
        (demanded_by_nobody, "one domain alone has no bridge rules"),
    ],
)
def test_a_changed_task_is_found(copy: Path, change: Callable[[Line], bool], said: str) -> None:
    hotel = copy / "queries" / "CityHotel.jsonl"
    hotel.write_text(hotel.read_text().splitlines(keepends=True)[0])
    id = spoil(copy, change)
    faults = verify_tasks(copy).faults
    assert any(fault.startswith(f"queries/CornerPharmacy.jsonl: {id}: ") and said in fault for fault in faults), faults
    assert {fault.split(": ")[1] for fault in faults} == {id}, faults


def longer(line: Line) -> None:
    line["difficulty"]["shortest"] = 99


def retold(line: Line) -> None:
    line["task_info"]["trajectory"] = ["nothing"]


def other_user(line: Line) -> None:
    line["persona"]["name"] = "Somebody Else"


def other_prompt(line: Line) -> None:
    line["user_system_prompt"] += " Agree to everything."


def elsewhere(line: Line) -> None:
    line["domains"] = ["CityHotel"]


def other_course(line: Line) -> None:
    wish = {"when": "after_report", "says": "Nothing else.", "facts": []}
    line["scenario"]["later"] = None if line["scenario"].get("later") else wish


def more_insistent(line: Line) -> None:
    line["scenario"]["insists"] = [*line["scenario"].get("insists", []), "Please."]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (other_course, "its later wish comes"),
        (more_insistent, "its user insists"),
        (longer, "difficulty is not what the task comes to"),
        (retold, "task_info is not what the task comes to"),
        (other_user, "persona is not what the task comes to"),
        (other_prompt, "user_system_prompt is not what the task comes to"),
        (elsewhere, "domains is ['CityHotel']"),
    ],
)
def test_what_a_task_counts_and_tells_again_follows_from_its_combination(
    small: Path, change: Callable[[Line], None], said: str
) -> None:
    assert not record_faults_of(small, lambda line: None)
    found = record_faults_of(small, change)
    assert any(said.replace("'", '"') in fault for fault in found), found


def record_faults_of(outputs: Path, change: Callable[[Line], None]) -> list[str]:
    dataset = Dataset(outputs)
    line = json.loads((outputs / "queries" / "CornerPharmacy.jsonl").read_text().splitlines()[0])
    change(line)
    found = faults_of(dataset, "CornerPharmacy", json.dumps(line).encode(), WorldRecords(dataset, "CornerPharmacy"))
    dataset.close()
    return found


def endless_search(kept: Line) -> bool:
    bounds = kept["gates"]["planner"].get("bounds")
    if bounds:
        bounds["expansions"] = 10**12
    return bool(bounds)


def fact_told_twice(kept: Line) -> bool:
    facts = kept["combination"]["communicate"]
    is_read = bool(facts) and not kept["combination"]["questions"]
    facts += facts if is_read else []
    return is_read


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (endless_search, "expansions is 1000000000000; it is a number from 1 to"),
        (fact_told_twice, "golden tells another value"),
    ],
)
def test_a_record_that_the_gates_cannot_take_is_a_fault(copy: Path, change: Callable[[Line], bool], said: str) -> None:
    path, queries = (copy / folder / "CornerPharmacy.jsonl" for folder in ("validated_tasks", "queries"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines_by_combo = {json.loads(line)["lineage"]["combo"]: line for line in queries.read_bytes().splitlines()}
    id = next(one["combination"]["id"] for one in lines if one["combination"]["id"] in lines_by_combo and change(one))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    dataset = Dataset(copy)
    records = WorldRecords(dataset, "CornerPharmacy")
    faults = faults_of(dataset, "CornerPharmacy", lines_by_combo[id], records)
    dataset.close()
    assert any(said in fault for fault in faults), faults


def test_an_id_that_comes_twice_and_a_torn_line_are_found(copy: Path) -> None:
    hotel, pharmacy = (thinned(copy) / "queries" / f"{name}.jsonl" for name in ("CityHotel", "CornerPharmacy"))
    first = hotel.read_text().splitlines()[0]
    pharmacy.write_text(pharmacy.read_text() + first + "\n" + first[:100])
    faults = verify_tasks(copy).faults
    assert any("is of the world 'CityHotel'" in fault for fault in faults)
    assert any("stands in queries/CityHotel.jsonl, line 1 already" in fault for fault in faults)
    assert any("the line is no task" in fault for fault in faults)


def reworded(text: str, sentence: str) -> str:
    return text.replace(sentence, sentence[:-1] + ", if it suits.")


def renumbered(text: str, sentence: str) -> str:
    return text.replace(sentence, sentence.replace("[R", "[R9", 1))


def elsewhere_alone(text: str, sentence: str) -> str:
    """Stated, but in the section of no tool that has the rule."""
    return text.replace("tool: order_refill -->", "tool: other -->")


@pytest.mark.parametrize("change", [reworded, renumbered, elsewhere_alone])
def test_a_policy_that_does_not_state_a_rule_as_the_contract_has_it_condemns_its_tasks(
    copy: Path, change: Callable[[str, str], str]
) -> None:
    path = copy / "policies" / "CornerPharmacy.md"
    text = path.read_text("utf-8")
    rules = stated_rules(Dataset(copy).blueprint("CornerPharmacy").tool("order_refill"))
    rule, says = next(iter(rules.items()))
    path.write_text(change(text, f"[{rule}] {says}"), "utf-8")
    assert any(f"does not state {rule} of order_refill" in fault for fault in verify_tasks(thinned(copy)).faults)


def test_a_changed_tool_list_or_contract_condemns_its_tasks(copy: Path) -> None:
    (copy / "tool_lists" / "CornerPharmacy.json").write_text("[]")
    servers = json.loads((copy / "blueprints.json").read_text())
    hotel = next(server for server in servers if server["server"] == "CityHotel")
    booking = next(tool for tool in hotel["tools"] if tool["name"] == "book_room")
    booking["effects"] = booking["effects"][:1]
    (copy / "blueprints.json").write_text(json.dumps(servers))
    faults = verify_tasks(thinned(copy)).faults
    lines = (copy / "queries" / "CornerPharmacy.jsonl").read_text().splitlines()
    assert sum("does not offer" in fault for fault in faults) == len(lines)
    assert any("queries/CityHotel.jsonl" in fault and "not what the golden calls change" in fault for fault in faults)


def status(outputs: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    with pytest.raises(SystemExit) as ended:
        main(PipelineSource(), ["verify", str(outputs), "--quick"])
    assert isinstance(ended.value.code, int)
    return ended.value.code, capsys.readouterr().out.splitlines()


def test_what_has_no_tasks_is_not_passed(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = json.loads((copy / "manifest.json").read_text())
    made = [item for item in manifest["items"] if item["step"] == "s17_task_instantiation"]
    manifest["items"] = [item for item in manifest["items"] if item not in made]
    for output in [output for item in made for output in item["outputs"]]:
        (copy / output["path"]).unlink(missing_ok=True)
    (copy / "README.md").unlink()
    (copy / "manifest.json").write_text(json.dumps(manifest))
    code, lines = status(copy, capsys)
    assert code == 1
    assert "no run has come to the tasks, so none is proven" in lines[-1]


def test_the_command_passes_a_moved_dataset_and_fails_a_changed_one(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, lines = status(copy, capsys)
    assert code == 0
    assert any(" tasks proven again; left out by --quick: servers" in line for line in lines), lines
    server = copy / "mcp_servers" / "CityHotel.py"
    server.write_text(server.read_text() + "\n# changed\n")
    id = spoil(thinned(copy), drop_criterion)
    (copy / "policies" / "Nowhere.md").write_text("Do as you like.\n")
    (copy / "README.md").write_text("# A million tasks\n")
    code, lines = status(copy, capsys)
    assert code == 1
    assert "policies/Nowhere.md: is in no record of the manifest" in lines
    assert any(line.startswith("README.md: does not tell what the files hold") for line in lines), lines
    assert "mcp_servers/CityHotel.py: changed" in lines
    assert f"queries/CornerPharmacy.jsonl: {id}: the criteria are not what the golden calls change" in lines


def test_a_manifest_that_lists_nothing_hides_nothing(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = thinned(copy) / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "items": []}))
    code, lines = status(copy, capsys)
    assert code == 1
    assert "queries/CornerPharmacy.jsonl: is in no record of the manifest" in lines


def test_a_report_that_tells_of_other_tasks_is_found(copy: Path) -> None:
    path = copy / "report" / "diversity.json"
    told = json.loads(path.read_text())
    assert report_faults(Dataset(copy)) == []
    path.write_text(json.dumps({**told, "structures": told["structures"] + 1}))
    assert report_faults(Dataset(copy)) == ["report/diversity.json: is not what the tasks give"]
    path.write_text("{}")
    assert [fault.partition(": ")[0] for fault in report_faults(Dataset(copy))] == ["report/diversity.json"]
