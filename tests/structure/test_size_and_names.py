"""The shape of the product: how many files, how long they and their functions are, and one class for each name."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ("skillweave", "synth", "rollout", "evaluator", "interop", "learn", "bench", "docs")
MOST_FILES = 570
"""400 before requests came in ten forms; 440 before interop, in which each format, protocol and framework is a file;
500 before learn."""
FILE_LINES = 350
FUNCTION_LINES = 30


def files() -> list[Path]:
    """The product's modules; tests are none of it."""
    return sorted(file for package in PRODUCT for file in (ROOT / package).rglob("*.py"))


def nodes(file: Path) -> Iterator[ast.AST]:
    """All nodes of a module's syntax tree."""
    return ast.walk(ast.parse(file.read_text("utf-8")))


def percentile_95(figures: list[int]) -> int:
    """The figure below which 95 % of the figures lie."""
    return sorted(figures)[int(len(figures) * 0.95)]


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for file in files():
        for node in nodes(file):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_files_are_few_and_none_is_long() -> None:
    lengths = [len(file.read_text("utf-8").splitlines()) for file in files()]
    assert len(lengths) <= MOST_FILES
    assert max(lengths) <= FILE_LINES


def test_functions_are_short() -> None:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    lengths = [
        node.end_lineno - node.lineno + 1
        for file in files()
        for node in nodes(file)
        if isinstance(node, functions) and node.end_lineno is not None
    ]
    assert percentile_95(lengths) <= FUNCTION_LINES


@pytest.mark.parametrize("step", sorted((ROOT / "synth" / "steps").glob("s[0-9]*.py")), ids=lambda file: file.stem)
def test_a_step_reads_as_its_story(step: Path) -> None:
    assert len(step.read_text("utf-8").splitlines()) <= 120


@pytest.mark.parametrize("step", sorted((ROOT / "synth" / "steps").glob("s[0-9]*.py")), ids=lambda file: file.stem)
def test_no_step_imports_a_later_one(step: Path) -> None:
    imported = {node.module for node in nodes(step) if isinstance(node, ast.ImportFrom) and node.module is not None}
    steps = [module.rpartition(".")[2] for module in imported if module.startswith("synth.steps.s")]
    assert not [name for name in steps if name > step.stem]
