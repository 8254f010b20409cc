"""The offline author: a backend's answers to every question of the pipeline, from the catalogue, with no model.

It gives the same text that a model would. Nothing above it knows the difference; there is no `if offline` anywhere.
"""

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from importlib.resources import files

from skillweave.base.code import CodeIndex
from skillweave.base.digest import digest_json, digest_text
from skillweave.base.errors import AuthorError, ConfigError
from skillweave.llm.backends.backend import Request
from skillweave.llm.json_text import compact_json, plain_json
from skillweave.schema.record import Json
from synth.offline.question import Answer, OfflineQuestion
from synth.offline.services import services_for

ANSWERS = {
    "domains.expand": "answers.worlds:expand",
    "entities.extract": "answers.worlds:entities",
    "graph.relate": "answers.worlds:relations",
    "blueprint.book": "answers.worlds:book",
    "blueprint.relationships": "answers.worlds:relationships",
    "blueprint.contracts": "answers.worlds:contracts",
    "blueprint.rules": "answers.worlds:rules",
    "blueprint.mend": "answers.worlds:mend",
    "database.generator": "answers.worlds:table_generator",
    "policy.write": "answers.worlds:policy_manual",
    "policy.reword": "answers.worlds:policy_sentences",
    "tools.stories": "answers.tasks:stories",
    "server.write": "coding.server:answer_server",
    "server.tests": "coding.server:answer_server_tests",
    "fusion.links": "answers.fusion:links",
    "fusion.stories": "answers.fusion:stories",
    "fusion.mediate": "answers.fusion:mediate",
    "policy.merge": "answers.fusion:merge",
    "tasks.goals": "answers.tasks:goals",
    "tasks.references": "answers.tasks:references",
    "tasks.tell": "answers.tasks:tell",
}
"""Question -> `module:function` of `synth.offline.answers`; a module is loaded when it is first needed."""
PACKAGE = "synth.offline"


class OfflineAuthor:
    """Answers requests of one run, whose seed it draws from."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, request: Request) -> str:
        """The text of the answer. AuthorError where the catalogue has none."""
        asked = OfflineQuestion(question=request.question, key=request.key, variables=request.variables, seed=self.seed)
        return _text(_answer(request.question)(asked), request.schema)

    def digest(self, key: str, questions: Sequence[str]) -> str:
        """Of the code that answers these questions and of the catalogue file of the domain `key`; of all files, and
        those of bridges, where it is no single domain."""
        modules = sorted({_place(question)[0] for question in questions if question in ANSWERS})
        code = [self._code.closure(f"{PACKAGE}.{module}") for module in modules]
        service = _services().get(key)
        files_used = {service: _catalogue()[service]} if service else {**_catalogue(), **_bridges()}
        return digest_json([code, dict(files_used)])  # type: ignore[list-item]

    def check_seeds(self, seeds: Sequence[str]) -> None:
        """Raise ConfigError if the catalogue has a service for none of these seed domains."""
        unknown: list[str] = []
        for seed in seeds:
            try:
                services_for(seed)
            except AuthorError as error:
                unknown.append(str(error))
            else:
                return
        if unknown:
            raise ConfigError(f"domains.seeds: {unknown[0]}; all known: python -m synth list-services")

    @cached_property
    def _code(self) -> CodeIndex:
        return CodeIndex(("synth", "skillweave", "evaluator"))


def _place(question: str) -> tuple[str, str]:
    if question not in ANSWERS:
        raise AuthorError(f"the offline author knows no question {question!r}; known: {', '.join(sorted(ANSWERS))}")
    module, _, function = ANSWERS[question].partition(":")
    return module, function


@cache
def _answer(question: str) -> Answer:
    module, function = _place(question)
    found: Answer = getattr(import_module(f"{PACKAGE}.{module}"), function)
    return found


@cache
def _catalogue() -> dict[str, str]:
    """Catalogue file -> digest of its text."""
    return _digests("catalogue")


@cache
def _bridges() -> dict[str, str]:
    """File of bridges -> digest of its text."""
    return {f"bridges/{name}": digest for name, digest in _digests("bridges").items()}


def _digests(folder: str) -> dict[str, str]:
    found = sorted(files("synth.offline").joinpath(folder).iterdir(), key=lambda file: file.name)
    texts = [(file.name, file.read_text("utf-8")) for file in found if file.name.endswith(".yaml")]
    return {name.removesuffix(".yaml"): digest_text(text) for name, text in texts}


@cache
def _services() -> dict[str, str]:
    """Domain -> the service that it is a setting of. Read from the files' headers, without rendering them."""
    found = {}
    for name in _catalogue():
        text = files("synth.offline").joinpath("catalogue", f"{name}.yaml").read_text("utf-8")
        for line in text.partition("\n---")[0].splitlines():
            if line.strip().startswith("- domain:"):
                found[line.partition(":")[2].strip()] = name
    return found


def _text(answer: object, schema: Mapping[str, Json] | None) -> str:
    """The answer as a model would write it: in JSON as an object, what is none in the only field of one."""
    if isinstance(answer, str):
        return answer
    found = plain_json(answer)
    properties = (schema or {}).get("properties")
    if not isinstance(found, dict) and isinstance(properties, dict):
        (under,) = properties
        found = {under: found}
    return compact_json(found)
