"""`formats.md`: every record with every field, under the first file that it appears in."""

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel

import skillweave.schema
from docs.reference import code, constants, fields_table, models_in, readable, summary_of, table
from skillweave.base import manifest
from skillweave.schema import evaluation, result, trajectory
from skillweave.schema import result as comparison
from skillweave.schema import result as taught
from skillweave.schema import score as pruned
from synth import artifacts
from synth.engine.artifact import Artifact
from synth.engine.pipeline import Pipeline, load_pipeline
from synth.servers import writing as write

INTRO = """\
# Formats

Made by `python -m docs.generate` from `skillweave/schema`, `skillweave/base/manifest.py` and `synth/artifacts`;
change them there.

What the pipeline writes under `outputs/`, and every record in it. `{key}` in a path is mostly the name of a domain,
which is also that of its server and its world: `DentalClinic`; where domains are joined it is their fused world's:
`DentalClinic__HealthPlan`. Readers are strict: an unknown field is an error, a field without a default must be given,
one left out takes its default. Text is UTF-8. No file but `manifest.json` holds a time of day, and none holds a path of
the machine that it was made on. Logs, `.cache/` and `.prefect/` are no part of a dataset.
"""

MANIFEST = """\
What each item came to and from what; the state that a later run resumes from. Beside the file lies
`.cache/journal.jsonl`, to which records are appended as they come, and which is folded in when a command ends.

| key | holds |
| --- | --- |
| `format` | `skillweave-manifest/1` |
| `artifacts` | each artifact by its label: digest, step, item, fingerprint, author, seconds, tokens, cost |
| `items` | list of `ItemRecord` |
| `joined` | path -> `JoinedFile` |
| `fingerprints` | id -> `Fingerprint` |
"""

TRAJECTORIES = """\
What `python -m rollout run` writes under its rollouts folder: `<world>.jsonl`, one trajectory a line, appended when it
ends, and `run.json`, an object that fixes what the folder holds. Of several lines with one id the last whose error is
none of the kinds `provider` and `infrastructure` counts; a line that cannot be read counts for nothing.

| key of `run.json` | holds |
| --- | --- |
| `format` | `skillweave/1` |
| `seed` | the run's; each trajectory's follows from it and the id |
| `agent`, `user` | all settings that can change answers; of a server on this machine, the address has no port |
| `task_set`, `dataset` | the source of tasks, and the digest of all that a trajectory depends on |
| `parts`, `engine`, `prompt`, `skill`, `personas`, `limits`, `record_tokens` | the settings that change a trajectory |
| `asked` | tasks, split, limit and trials of the last command; these alone may change |

A folder of an earlier version may lack a key. It says nothing then: the run goes on, and adds it as it is now.
"""

EVALUATION = """\
What `python -m evaluator` writes, by default under `outputs/evaluation/`; with `--output` beside that file. Lines are
in no order, and hold no time of day.

Of a trajectory the evaluator needs little: `{"id": "<task id>#<trial>", "messages": [...]}`, or `task_id` and `trial`
in the place of `id`. `agent` (an object with `backend`, or a text) or `model` says whose it is, `stop_reason` helps to
explain failures, `dataset` and `task_digest` have it refused where the dataset is another one. Tool calls are read in
OpenAI's form; old function calls and Anthropic's `tool_use` are read too.
"""

EVALUATED: dict[str, type[BaseModel]] = {
    "results.jsonl": result.Result,
    "summary.json": evaluation.EvaluationSummary,
    "pruned.jsonl": pruned.PrunedRecord,
    "flips.jsonl": comparison.RescoredResult,
    "taught.jsonl": taught.TeachingRecord,
    "never_solved.jsonl": taught.NeverSolved,
    "the file of `compare --output`": comparison.AgentComparisons,
}
"""File of an evaluation -> what it holds, a line or in all."""

ANSWERS = """\
What authors answer, by question. The prompt of each is a file of `synth/questions`; an answer is parsed into its type
or sent back with the reason.
"""

IN_PYTHON = "Records that no file of a dataset holds: programs hand them to each other.\n"
ALIASES = "Names that stand for types in the tables above.\n"

_FORMS = {"json": "JSON", "jsonl": "JSON lines", "text": "text", "file": "SQLite"}


class Declared(NamedTuple):
    """An artifact, and what the source says where it is declared."""

    artifact: Artifact[Any]
    holds: str
    """The type of its values, as written; empty for a file that holds no records."""
    meaning: str


def page() -> str:
    """The page's text."""
    pipeline = load_pipeline()
    shown: set[type[BaseModel]] = set()
    parts = [INTRO, "## Files\n", _overview(pipeline)]
    for found in declared(pipeline):
        new = [model for model in models_in(found.artifact.returns) if model not in shown]
        shown |= set(new)
        parts += [f"## `{found.artifact.pattern}`\n", _about(found, pipeline), *_records(new)]
    parts += ["## `manifest.json`\n", MANIFEST, *_records(_models_of(manifest.__name__))]
    told = [model for model in _models_of(trajectory.__name__) if model not in shown]
    shown |= set(told)
    parts += ["## `rollouts/{world}.jsonl`\n", TRAJECTORIES, *_records(told)]
    parts += ["## `evaluation/`\n", EVALUATION, _evaluation()]
    for scored in EVALUATED.values():
        new = [model for model in models_in(scored) if model not in shown]
        shown |= set(new)
        parts += _records(new)
    asked = [model for _, kind in _answers(pipeline) for model in models_in(kind)]
    new = [model for model in dict.fromkeys(asked) if model not in shown]
    shown |= set(new)
    parts += ["## Answers of authors\n", ANSWERS, _questions(pipeline), *_records(new)]
    rest = [model for module in schema_modules() for model in _models_of(module) if model not in shown]
    parts += ["## In Python\n", IN_PYTHON, *_records(rest), "## Types\n", ALIASES, _aliases()]
    return "\n".join(parts)


def declared(pipeline: Pipeline) -> list[Declared]:
    """The artifacts that steps write or read, in the order in which they are declared, each once."""
    found: dict[str, Declared] = {}
    for module in (artifacts.__name__, *(step.module for step in pipeline.steps), write.__name__):
        for constant in constants(module):
            value = getattr(importlib.import_module(module), constant.name, None)
            if isinstance(value, Artifact):
                found.setdefault(value.pattern, Declared(value, _holds(constant.value), constant.meaning))
    return list(found.values())


def schema_modules() -> list[str]:
    """The modules of the schema, sorted."""
    package = skillweave.schema
    return sorted(f"{package.__name__}.{info.name}" for info in pkgutil.iter_modules(package.__path__))


def _models_of(module: str) -> list[type[BaseModel]]:
    found = vars(importlib.import_module(module)).values()
    models = [one for one in found if isinstance(one, type) and issubclass(one, BaseModel) and one.model_fields]
    return [model for model in models if model.__module__ == module and not model.__name__.startswith("_")]


def _overview(pipeline: Pipeline) -> str:
    rows = [
        (code(found.artifact.pattern), _form(found.artifact), code(found.holds), _writers(found.artifact, pipeline))
        for found in declared(pipeline)
    ]
    return table(["file", "form", "holds", "written by"], [*rows, ("`manifest.json`", "JSON", "", "the engine")])


def _evaluation() -> str:
    written = {
        "results.jsonl": "run, rescore",
        "summary.json": "run, rescore",
        "pruned.jsonl": "run --mode prune",
        "flips.jsonl": "rescore",
        "taught.jsonl": "teach",
        "never_solved.jsonl": "teach",
    }
    rows = [
        (code(file) if file in written else file, code(model.__name__), code(written.get(file, "compare")))
        for file, model in EVALUATED.items()
    ]
    more = [
        ("`report.html`", "a page", "`run, rescore`"),
        ("`results.before.jsonl`", "`Result`", "what took the place of other results"),
        ("`taught_tasks.txt`", "ids of tasks, one a line: `rollout run --tasks @FILE`", "`teach`"),
    ]
    return table(["file", "holds", "written by"], [*rows, *more])


def _about(found: Declared, pipeline: Pipeline) -> str:
    holds = f", holds {code(found.holds)}" if found.holds else ""
    first = f"{_form(found.artifact)}{holds}; written by {_writers(found.artifact, pipeline)}."
    return f"{first[:1].upper()}{first[1:]} {found.meaning}".strip() + "\n"


def _form(artifact: Artifact[Any]) -> str:
    if artifact.kind == "joined":
        return f"one JSON list, by `{artifact.listed_by}`" if artifact.listed_by else "one JSON object, key -> value"
    return f"{_FORMS[artifact.kind]}, one file{' a key' if '{key}' in artifact.pattern else ''}"


def _holds(value: ast.expr | None) -> str:
    """The type that the constructor of an artifact is given, as the source writes it."""
    return ast.unparse(value.args[1]) if isinstance(value, ast.Call) and len(value.args) > 1 else ""


def _writers(artifact: Artifact[Any], pipeline: Pipeline) -> str:
    return ", ".join(step.short for step in pipeline.steps if step.makes(artifact)) or "no step"


def _answers(pipeline: Pipeline) -> Iterator[tuple[str, Any]]:
    for step in pipeline.steps:
        for question in step.questions:
            yield question.name, question.returns


def _questions(pipeline: Pipeline) -> str:
    rows = [
        (
            code(question.name),
            step.short,
            question.role,
            _kind(question.returns) if question.form == "json" else question.form,
        )
        for step in pipeline.steps
        for question in step.questions
    ]
    return table(["question", "step", "author", "answer"], rows)


def _kind(kind: Any) -> str:
    if isinstance(kind, type) and not getattr(kind, "__args__", None):
        return code(kind.__name__)
    names = [model.__name__ for model in models_in(kind)]
    text = str(kind)
    return code(f"list[{names[0]}]" if text.startswith("list[") and names else f"{names[0]} | None" if names else text)


def _records(models: list[type[BaseModel]]) -> Iterator[str]:
    for model in models:
        yield f"### {model.__name__}\n"
        if summary_of(model):
            yield f"{summary_of(model)}\n"
        yield fields_table(model)


def _aliases() -> str:
    rows = []
    for module in schema_modules():
        for found in constants(module):
            is_type = found.annotation == "TypeAlias" or isinstance(found.value, ast.Subscript)
            if found.value is not None and is_type and found.name[:1].isupper() and not found.name.isupper():
                rows.append((code(found.name), code(readable(ast.unparse(found.value))), found.meaning))
    return table(["name", "is", "meaning"], sorted(rows))
