"""The pipeline's steps: each reads as its story, and none knows a later one."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def nodes(file: Path) -> Iterator[ast.AST]:
    """All nodes of a module's syntax tree."""
    return ast.walk(ast.parse(file.read_text("utf-8")))


@pytest.mark.parametrize("step", sorted((ROOT / "synth" / "steps").glob("s[0-9]*.py")), ids=lambda file: file.stem)
def test_a_step_reads_as_its_story(step: Path) -> None:
    assert len(step.read_text("utf-8").splitlines()) <= 120


@pytest.mark.parametrize("step", sorted((ROOT / "synth" / "steps").glob("s[0-9]*.py")), ids=lambda file: file.stem)
def test_no_step_imports_a_later_one(step: Path) -> None:
    imported = {node.module for node in nodes(step) if isinstance(node, ast.ImportFrom) and node.module is not None}
    steps = [module.rpartition(".")[2] for module in imported if module.startswith("synth.steps.s")]
    assert not [name for name in steps if name > step.stem]
