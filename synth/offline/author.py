"""The offline author: answers every question of the pipeline from the catalogue, without a model.

It returns the text that a model would return. Nothing above it knows the difference: there is no `if offline` anywhere.
"""

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files

from skillweave.base.code import CodeIndex
from skillweave.base.command import command_line
from skillweave.base.errors import AuthorError, ConfigError
from skillweave.base.store import digest_json, digest_text
from skillweave.llm.backends.backend import Request
from skillweave.llm.json_text import compact_json, plain_json
from skillweave.schema.record import Json
from synth.offline import task_answers as fusion
from synth.offline import task_answers as tasks
from synth.offline import world_answers as worlds
from synth.offline.coding import server
from synth.offline.services import Answer, OfflineQuestion, read_catalogue

ANSWERS: dict[str, Answer] = {
    "domains.expand": worlds.expand,
    "entities.extract": worlds.entities,
    "graph.relate": worlds.relations,
    "blueprint.book": worlds.book,
    "blueprint.relationships": worlds.relationships,
    "blueprint.contracts": worlds.contracts,
    "blueprint.rules": worlds.rules,
    "blueprint.mend": worlds.mend,
    "database.generator": worlds.table_generator,
    "policy.write": worlds.policy_manual,
    "policy.reword": worlds.policy_sentences,
    "tools.stories": tasks.stories,
    "server.write": server.answer_server,
    "server.tests": server.answer_server_tests,
    "fusion.links": fusion.links,
    "fusion.stories": fusion.fusion_stories,
    "fusion.mediate": fusion.mediate,
    "policy.merge": fusion.merge,
    "tasks.goals": tasks.goals,
    "tasks.references": tasks.references,
    "tasks.tell": tasks.tell,
}
"""Question -> the function that answers it."""


class OfflineAuthor:
    """Answers the requests of one run."""

    def __init__(self, seed: int, catalogue: Sequence[str] = ()) -> None:
        """Read the catalogue.

        Args:
            seed: The seed of the run, from which all random choices come.
            catalogue: Folders with services beside the built-in ones.

        Raises:
            ConfigError: A folder or a file in it is wrong.
        """
        self.seed = seed
        self._catalogue = read_catalogue(catalogue, seed)
        self._code_digests: dict[str, str] = {}

    def __call__(self, request: Request) -> str:
        """The text of the answer.

        Raises:
            AuthorError: There is no such question, or the catalogue has no answer to it.
        """
        if request.question not in ANSWERS:
            known = ", ".join(sorted(ANSWERS))
            raise AuthorError(f"the offline author knows no question {request.question!r}; known: {known}")
        question = OfflineQuestion(request.question, request.key, request.variables, self.seed, self._catalogue)
        return _as_text(ANSWERS[request.question](question), request.schema)

    def digest(self, key: str, questions: Sequence[str], seeds: Sequence[str]) -> str:
        """A digest of all inputs of the answers to these questions: code, phrases, and files of the catalogue.

        Args:
            key: The item's key, which says what files count (`Catalogue.digests`).
            questions: The questions; unknown ones are ignored.
            seeds: The seed domains of the run.
        """
        modules = sorted({ANSWERS[question].__module__ for question in questions if question in ANSWERS})
        used = self._catalogue.digests(key, questions, seeds)
        return digest_json([*map(self._code_digest, modules), dict(used), dict(_phrase_digests())])

    def check_seeds(self, seeds: Sequence[str]) -> None:
        """Raise ConfigError if the catalogue has a service for none of these seed domains."""
        unknown: list[str] = []
        for seed in seeds:
            try:
                self._catalogue.services_for(seed)
            except AuthorError as error:
                unknown.append(str(error))
            else:
                return
        if unknown:
            raise ConfigError(f"domains.seeds: {unknown[0]}; all known: {command_line('synth', 'list-services')}")

    def _code_digest(self, module: str) -> str:
        if module not in self._code_digests:
            self._code_digests[module] = digest_json(dict(self._code.closure(module)))
        return self._code_digests[module]

    @cached_property
    def _code(self) -> CodeIndex:
        return CodeIndex(("synth", "skillweave", "evaluator"))


@cache
def _phrase_digests() -> dict[str, str]:
    """File of phrases -> digest of its text."""
    paths = sorted(files("synth.offline").joinpath("phrases").iterdir(), key=lambda path: path.name)
    return {path.name: digest_text(path.read_text("utf-8")) for path in paths if path.name.endswith(".yaml")}


def _as_text(answer: object, schema: Mapping[str, Json] | None) -> str:
    """The answer as a model would write it. A value that is no JSON object becomes the only field of an object."""
    if isinstance(answer, str):
        return answer
    value = plain_json(answer)
    properties = (schema or {}).get("properties")
    if not isinstance(value, dict) and isinstance(properties, dict):
        (name,) = properties
        value = {name: value}
    return compact_json(value)
