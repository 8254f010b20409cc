import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.replay.rollouts import LONGEST_LINE, TrajectoryKey, find_rollouts
from skillweave.base.errors import ConfigError


def a_line(id: str, said: str = "Hello", **changes: Any) -> str:
    return json.dumps({"id": id, "messages": [{"role": "user", "content": said}], **changes}) + "\n"


def failed(kind: str) -> dict[str, Any]:
    return {"error": {"kind": kind, "message": "it broke"}}


def counting(root: Path, id: str) -> str:
    """What the user says in the line that counts."""
    found = find_rollouts(root)
    place = found.places[TrajectoryKey("", "", id)]
    with found.files[place.file].open("rb") as stream:
        stream.seek(place.offset)
        said: str = json.loads(stream.read(place.length))["messages"][0]["content"]
    return said


def test_every_jsonl_below_the_folder_is_read_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / ".cache").mkdir()
    (tmp_path / "a b.jsonl").write_text(a_line("T-1#0") + "\n" + a_line("T-2#0"))
    (tmp_path / "deep" / "er" / "x.jsonl").write_text(a_line("T-3#0"))
    (tmp_path / ".cache" / "y.jsonl").write_text(a_line("T-4#0"))
    (tmp_path / "run.json").write_text("{}")
    found = find_rollouts(tmp_path)
    assert sorted(key.id for key in found.places) == ["T-1#0", "T-2#0", "T-3#0"]
    assert found.bad == []
    assert counting(tmp_path, "T-3#0") == "Hello"


@pytest.mark.parametrize(
    ("lines", "said", "replaced"),
    [
        ([a_line("T#0", "first"), a_line("T#0", "last")], "last", 1),
        ([a_line("T#0", "scored"), a_line("T#0", "lost", **failed("provider"))], "scored", 0),
        ([a_line("T#0", "lost", **failed("infrastructure")), a_line("T#0", "scored")], "scored", 0),
        ([a_line("T#0", "scored"), a_line("T#0", "agent's", **failed("agent"))], "agent's", 1),
        ([a_line("T#0", "one", **failed("provider")), a_line("T#0", "two", **failed("provider"))], "two", 0),
    ],
)
def test_of_several_lines_with_one_id_the_last_that_is_not_owed_counts(
    tmp_path: Path, lines: list[str], said: str, replaced: int
) -> None:
    (tmp_path / "w.jsonl").write_text("".join(lines))
    assert counting(tmp_path, "T#0") == said
    assert find_rollouts(tmp_path).replaced == replaced


def test_the_runs_of_several_agents_and_users_do_not_take_each_others_place(tmp_path: Path) -> None:
    held = [("one", "u"), ("two", "u"), ("two", "v")]
    for agent, user in held:
        path = tmp_path / f"{agent}-{user}.jsonl"
        path.write_text(a_line("T#0", agent, agent={"backend": agent}, user={"backend": user}))
    (tmp_path / "w.jsonl").write_text(a_line("T#0", agent={"backend": None}, model="three", user="nobody"))
    found = find_rollouts(tmp_path)
    assert set(found.places) == {*((*one, "T#0") for one in held), ("three", "", "T#0")}
    assert found.replaced == 0


def test_lines_that_are_no_trajectories_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    deep = "[" * 100_000
    bad = ["not json", "[]", "{}", '{"id": 7, "messages": []}', '{"id": "T#9"}', '{"id": "", "messages": []}', deep]
    torn = a_line("T#1")[:-20]
    (tmp_path / "w.jsonl").write_text("\n".join(bad) + "\n" + a_line("T#0") + "\n \n" + torn)
    found = find_rollouts(tmp_path)
    assert [key.id for key in found.places] == ["T#0"]
    assert [line.place for line in found.bad] == [f"w.jsonl, line {number}" for number in (1, 2, 3, 4, 5, 6, 7, 11)]
    assert "torn" in found.bad[-1].why
    assert "torn" not in found.bad[0].why


def test_a_line_may_hold_half_a_character_and_a_byte_order_mark(tmp_path: Path) -> None:
    lines = [a_line("T#0", "a\ud800"), a_line("T#1"), a_line("T#2", "last")]
    (tmp_path / "w.jsonl").write_bytes(b"".join(b"\xef\xbb\xbf" + line.encode() for line in lines))
    found = find_rollouts(tmp_path)
    assert [key.id for key in found.places] == ["T#0", "T#1", "T#2"]
    assert found.bad == []
    assert counting(tmp_path, "T#2") == "last"


@pytest.mark.parametrize(("many", "filter"), [(False, "."), (True, "'.[]'")])
def test_an_indented_file_is_told_in_one_line(tmp_path: Path, many: bool, filter: str) -> None:
    record = json.loads(a_line("T#0"))
    (tmp_path / "a.jsonl").write_text(json.dumps([record] * 3 if many else record, indent=2))
    (tmp_path / "b.jsonl").write_text(a_line("T#1") + "{\n")
    found = find_rollouts(tmp_path)
    assert [key.id for key in found.places] == ["T#1"]
    assert [line.place for line in found.bad] == ["a.jsonl, all lines", "b.jsonl, line 2"]
    assert "indented JSON, and has to be one object a line" in found.bad[0].why
    assert f"jq -c {filter} " in found.bad[0].why


def test_a_line_too_long_to_be_read_costs_only_itself(tmp_path: Path) -> None:
    with (tmp_path / "w.jsonl").open("w") as stream:
        stream.write(a_line("T#0"))
        stream.write(a_line("T#1", "x" * (LONGEST_LINE + 10)))
        stream.write(a_line("T#2", "behind it"))
    found = find_rollouts(tmp_path)
    assert sorted(key.id for key in found.places) == ["T#0", "T#2"]
    assert [line.place for line in found.bad] == ["w.jsonl, line 2"]
    assert counting(tmp_path, "T#2") == "behind it"


def test_one_file_may_be_named(tmp_path: Path) -> None:
    (tmp_path / "w.jsonl").write_text(a_line("T#0"))
    (tmp_path / "v.jsonl").write_text(a_line("T#1"))
    assert [key.id for key in find_rollouts(tmp_path / "w.jsonl").places] == ["T#0"]


def test_a_folder_without_trajectories_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no \*\.jsonl"):
        find_rollouts(tmp_path)
    with pytest.raises(ConfigError, match="no rollouts folder"):
        find_rollouts(tmp_path / "missing")
