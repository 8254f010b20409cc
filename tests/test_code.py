"""Code digests follow what a step stands on, and nothing else."""

import ast
import sys
from pathlib import Path

import pytest

from skillweave.base.code import CodeIndex, _file_of, parse_python, parse_source


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package in which `top` imports `lazy` inside a function, and `other` for type checkers only."""
    folder = tmp_path / "codeproject"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "lazy.py").write_text("from .deep import value\n")
    (folder / "deep.py").write_text("value = 1\n")
    (folder / "other.py").write_text("value = 1\n")
    (folder / "top.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from codeproject import other\n"
        "def work():\n    from codeproject import lazy\n    return lazy.value\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    _file_of.cache_clear()
    sys.modules.pop("codeproject", None)
    return folder


def test_the_closure_holds_lazy_and_transitive_imports(package: Path) -> None:
    found = CodeIndex(["codeproject"]).closure("codeproject.top")
    assert list(found) == ["codeproject", "codeproject.deep", "codeproject.lazy", "codeproject.top"]


def test_a_change_far_away_changes_one_digest(package: Path, tmp_path: Path) -> None:
    index = CodeIndex(["codeproject"], tmp_path / "code.json")
    before = index.closure("codeproject.top")
    index.save()
    (package / "deep.py").write_text("value = 22\n")
    after = CodeIndex(["codeproject"], tmp_path / "code.json").closure("codeproject.top")
    assert {name for name in before if before[name] != after[name]} == {"codeproject.deep"}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("def f():\n    return 1\n", "def f():\n    '''Say one.'''\n    return 1  # one\n", True),
        ("class A:\n    x: int = 1\n    '''A field.'''\n", "class A:\n    x: int = 1\n", True),
        ("def f():\n    '''Only this.'''\n", "def f():\n    '''Only that.'''\n", True),
        ("x = 1\n", "x = 2\n", False),
        ("x = 'a'\n", "x = 'b'\n", False),
    ],
)
def test_docstrings_and_comments_do_not_count(one: str, other: str, same: bool) -> None:
    digests = {parse_source(text, "a", is_package=False).digest for text in (one, other)}
    assert (len(digests) == 1) is same


def test_a_damaged_cache_is_ignored(package: Path, tmp_path: Path) -> None:
    (tmp_path / "code.json").write_text('{"codeproject.top": 3}')
    assert "codeproject.deep" in CodeIndex(["codeproject"], tmp_path / "code.json").closure("codeproject.top")


def test_parsing_is_tried_again_where_a_library_parses_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    parse, left = ast.parse, [SystemError("AST constructor recursion depth mismatch")] * 2

    def disturbed(source: str, filename: str) -> ast.Module:
        if left:
            raise left.pop()
        return parse(source, filename)

    monkeypatch.setattr(ast, "parse", disturbed)
    assert ast.unparse(parse_python("x = 1")) == "x = 1"
    assert not left
