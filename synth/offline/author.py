"""The offline author: a backend's answers to every question of the pipeline, from the catalogue, with no model.

It gives the same text that a model would. Nothing above it knows the difference; there is no `if offline` anywhere.
"""

import json
from collections.abc import Callable
from functools import cached_property

from pydantic_core import to_jsonable_python

from skillweave.errors import AuthorError
from skillweave.llm.request import Request
from synth.offline.answers import code, policy, tasks, world
from synth.offline.answers.asked import Answer, Asked

ANSWERS: dict[str, Answer] = {
    "domains.expand": world.expand,
    "entities.extract": world.entities,
    "graph.relate": world.relations,
    "blueprint.outline": world.outline,
    "blueprint.relationships": world.relationships,
    "blueprint.tool": world.tool,
    "blueprint.rules": world.rules,
    "blueprint.witness": world.witness,
    "database.generator": code.generator,
    "policy.write": policy.write,
    "policy.decide": policy.decide,
    "tools.stories": tasks.stories,
    "server.write": code.server,
    "server.tests": code.server_tests,
    "tasks.goals": tasks.goals,
    "tasks.references": tasks.references,
    "tasks.tell": tasks.tell,
}


class OfflineAuthor:
    """Answers requests of one run, whose seed it draws from."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, request: Request) -> str:
        """The text of the answer. AuthorError where the catalogue has none."""
        return _text(self._answer(request.question)(self._asked(request)))

    @cached_property
    def questions(self) -> list[str]:
        """The questions that it answers."""
        return sorted(ANSWERS)

    def _answer(self, question: str) -> Callable[[Asked], object]:
        if question not in ANSWERS:
            raise AuthorError(f"the offline author knows no question {question!r}; known: {', '.join(self.questions)}")
        return ANSWERS[question]

    def _asked(self, request: Request) -> Asked:
        return Asked(question=request.question, key=request.key, variables=request.variables, seed=self.seed)


def _text(answer: object) -> str:
    if isinstance(answer, str):
        return answer
    return json.dumps(to_jsonable_python(answer, exclude_none=True), ensure_ascii=False, indent=1)
