import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillweave.llm.parse import PatchBlock, PatchError, apply_patch, parse_patch

SOURCE = "def fee(days):\n    if days < 1:\n        return 10\n    return 0\n"


def a_block(search: str, replace: str) -> str:
    return f"<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"


def test_a_block_replaces_its_lines() -> None:
    patch = f"The bound is wrong.\n\n```\n{a_block('    if days < 1:' + chr(10), '    if days < 2:' + chr(10))}```\n"
    assert apply_patch(SOURCE, parse_patch(patch)) == SOURCE.replace("days < 1", "days < 2")


def test_blocks_apply_in_turn_and_may_delete() -> None:
    patch = a_block("    return 0\n", "    return 5\n") + a_block("    return 5\n", "")
    assert apply_patch(SOURCE, parse_patch(patch)) == SOURCE.replace("    return 0\n", "")


def test_a_file_without_last_line_end_can_be_patched_at_its_end() -> None:
    assert apply_patch("a\nb", [PatchBlock("b\n", "c\n")]) == "a\nc\n"


@pytest.mark.parametrize(
    ("patch", "complaint"),
    [
        ("no block at all", "there is no block"),
        ("<<<<<<< SEARCH\na\n=======\nb\n", "not closed"),
        ("<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", "line 3: the block has no ======="),
        ("<<<<<<< SEARCH\na\n<<<<<<< SEARCH\n", "line 3: a block begins inside another"),
    ],
)
def test_blocks_that_cannot_be_read_are_refused(patch: str, complaint: str) -> None:
    with pytest.raises(PatchError, match=complaint):
        parse_patch(patch)


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        (PatchBlock("    return 7\n", ""), "block 1: its SEARCH part does not stand in the file"),
        (PatchBlock("return 0\n", "return 1\n"), "does not stand in the file"),
        (PatchBlock("\n", "x\n"), "its SEARCH part is empty"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(block: PatchBlock, complaint: str) -> None:
    with pytest.raises(PatchError, match=complaint):
        apply_patch(SOURCE, [block])


def test_lines_that_stand_twice_are_not_guessed() -> None:
    with pytest.raises(PatchError, match="stands in the file 2 times; give more lines"):
        apply_patch("x = 1\ny = 2\nx = 1\n", [PatchBlock("x = 1\n", "x = 3\n")])


lines = st.lists(st.text("abcdef ", min_size=1, max_size=6).filter(str.strip), min_size=1, max_size=8, unique=True)


@given(lines, st.data(), st.text("xyz\n", max_size=9))
def test_unique_lines_are_always_replaced(source: list[str], data: st.DataObject, new: str) -> None:
    target = data.draw(st.sampled_from(source)) + "\n"
    replacement = "".join(f"{line}\n" for line in new.splitlines())
    text = "".join(f"{line}\n" for line in source)
    changed = apply_patch(text, parse_patch(a_block(target, replacement)))
    before, after = [part.removesuffix("\n") for part in ("\n" + text).split("\n" + target)]
    assert changed == (before[1:] + "\n" if before else "") + replacement + (after + "\n" if after else "")
