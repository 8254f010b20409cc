"""Questions of tests: each with a prompt file of its own, in a package that exists for one test."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from skillweave.llm.question import AnswerForm, Question, question

Maker = Callable[..., Question[Any]]
PROMPT = "You answer.\n{{ answer_format }}\n---\nAbout {{ thing }}.\n"
counter = itertools.count()


@pytest.fixture
def a_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maker:
    """Make a question: `a_question(list[int], prompt=..., others={"_part.md": ...})`. What is no object is `things`."""

    def make(
        returns: Any = str,
        *,
        prompt: str = PROMPT,
        form: AnswerForm = "json",
        others: dict[str, str] | None = None,
    ) -> Question[Any]:
        package = f"prompts_of_test_{next(counter)}"
        folder = tmp_path / package
        folder.mkdir()
        (folder / "__init__.py").touch()
        for name, text in {"thing.ask.md": prompt, **(others or {})}.items():
            (folder / name).write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        is_object = isinstance(returns, type) and issubclass(returns, BaseModel)
        under = "things" if form == "json" and not is_object else None
        return question("thing.ask", returns=returns, package=package, form=form, under=under)

    return make
