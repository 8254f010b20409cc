"""Generate docs/config.md and docs/pipeline.md: every configuration key, every step with what it reads and writes."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import networkx as nx
from pydantic import BaseModel

from docs.reference import Described, code, constants, fields_of, readable, summary_of, table
from learn import config as learning
from learn.config import LearnConfig
from skillweave.config import llm as authors
from skillweave.config import sections as models
from skillweave.config.llm import AuthorConfig, ConfigSection, PriceConfig, RoleConfig, SpeakerConfig
from synth.engine.artifact import Every
from synth.engine.pipeline import Pipeline, load_pipeline
from synth.engine.step import Params, PipelineStep
from synth.gates import GATES
from synth.gates.gate import Gate, TaskGate

CONFIG_INTRO = """\
# Configuration

Made by `python -m docs.generate` from `skillweave/config/` and `learn/config.py`; change it there.

`config.yaml` holds what differs from the defaults below; `python -m synth init-config -` prints that of the default run
with every key. Where a folder has no `config.yaml`, `synth` takes that of the default run, too.
Any key can be overridden on the command line: `--set execution.workers=4`, `--set 'domains.seeds=[hotel, airline]'`.
An unknown key, or a value of the wrong type, is an error that names the nearest key or what is allowed (exit 2).
Keys of providers come only from the environment variable that `api_key_env` names; they are never written anywhere.
The sections `skill` and `evolve` are read by `python -m learn` alone; the other programs pass over them.
"""

STEPS = """\
`steps.<name of the step>` holds the step's parameters, which [pipeline.md](pipeline.md) lists. `llm` in it overrides
the authors of that step alone:

```yaml
steps:
  s06_database_generation:
    llm: {coding: openai/gpt-5}
```
"""

ABOUT: dict[type[BaseModel], str] = {
    SpeakerConfig: "All keys of an author, below, and:",
    RoleConfig: "`llm.judge` has no default: where it is left out, nothing is judged.",
}
SHORT = "`textual: offline/author` is short for `textual: {model: offline/author}`.\n"


def config_page() -> str:
    """The page's text."""
    parts = [CONFIG_INTRO, "## Top level\n", _table(LearnConfig, "")]
    for path, model in _sections(LearnConfig):
        about = summary_of(model)
        about += ABOUT.get(model, "")
        heading = "and".join(f" {code(name)} " for name in path.split(" and ")).strip()
        parts += [f"## {heading}\n", f"{about}\n" if about else "", _table(model, f"{path.partition(' and ')[0]}.")]
    parts += ["## `steps`\n", STEPS, _authors(), f"## A price: `llm.prices`\n\n{_table(PriceConfig, '')}"]
    return "\n".join(part for part in parts if part)


def _authors() -> str:
    paths = [
        code(f"{path}.{name}")
        for path, model in _sections(LearnConfig)
        for name, field in model.model_fields.items()
        if AuthorConfig in (field.annotation, *get_args(field.annotation))
    ]
    return f"## An author: {', '.join(paths)}\n\n{SHORT}\n{_table(AuthorConfig, '')}"


def _table(model: type[BaseModel], prefix: str) -> str:
    rows = [_row(field, prefix) for field in fields_of(model) if not _has_own_heading(model, field.name)]
    return table(["key", "type", "default", "meaning"], rows)


def _row(field: Described, prefix: str) -> tuple[str, str, str, str]:
    default = "" if field.default == "AuthorConfig()" else field.default
    aliases = [alias for module in (models, authors, learning) for alias in constants(module.__name__)]
    kinds = {alias.name: readable(ast.unparse(alias.value)) for alias in aliases if alias.value}
    return code(prefix + field.name), code(kinds.get(field.type, field.type)), code(default), field.meaning


def _sections(model: type[BaseModel], above: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """Path and model of each section, parents first; one that stands twice is told once, with both paths."""
    fields = [(name, _section_in(field.annotation)) for name, field in model.model_fields.items()]
    for kind in dict.fromkeys(kind for _, kind in fields if kind is not None):
        path = " and ".join(f"{above}{name}" for name, found in fields if found is kind)
        yield path, kind
        yield from _sections(kind, f"{path.partition(' and ')[0]}.")


def _section_in(annotation: object) -> type[BaseModel] | None:
    """The section that a field holds, or may hold; authors have a table of their own."""
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, ConfigSection) and kind is not AuthorConfig:
            return kind
    return None


def _has_own_heading(model: type[BaseModel], name: str) -> bool:
    if issubclass(model, SpeakerConfig) and name in AuthorConfig.model_fields:
        return True
    return (model is LearnConfig and name == "steps") or _section_in(model.model_fields[name].annotation) is not None


PIPELINE_INTRO = """\
# Pipeline

Made by `python -m docs.generate` from the declarations of the steps in `synth/steps`; change them there.

A step declares what it reads and writes, its parameters and its questions; which step waits for which follows. Its work
is done in *items*, one for each key of one artifact (a domain, a server). A solid arrow is a wait of an item for the
item of the same key: a slow world holds no other world up. A dashed arrow is a wait for all items. Arrows that follow
from others are left out. [formats.md](formats.md) says what is in each file.
"""

COMMON = """\
## Parameters of every step

Set under `steps.<name>` of the configuration, as are those of each step below.
"""


def pipeline_page() -> str:
    """The page's text."""
    pipeline = load_pipeline()
    parts = [PIPELINE_INTRO, picture(pipeline), _overview(pipeline), COMMON, _params(fields_of(Params))]
    return "\n".join([*parts, *(part for step in pipeline.steps for part in _section(pipeline, step))])


def picture(pipeline: Pipeline) -> str:
    """The waits of steps for steps, as a Mermaid graph."""
    network: nx.DiGraph[str] = nx.DiGraph(
        (wait.producer.short, step.short) for step in pipeline.steps for wait in pipeline.waits(step)
    )
    network.add_nodes_from(step.short for step in pipeline.steps)
    needed = set(nx.transitive_reduction(network).edges)
    lines = ["```mermaid", "flowchart LR"]
    lines += [f'  {step.short}["{step.short}<br/>{_words(step)}"]' for step in pipeline.steps]
    for step in pipeline.steps:
        for wait in pipeline.waits(step):
            if (wait.producer.short, step.short) in needed:
                lines.append(f"  {wait.producer.short} {'-.->' if wait.whole else '-->'} {step.short}")
    return "\n".join([*lines, "```", ""])


def reads_of(step: PipelineStep[Any]) -> list[str]:
    """What a step reads, by pattern, the artifact that gives its items their keys first."""
    found = [artifact.pattern for artifact in step.listed]
    for read in step.reads:
        found.append(f"every {read.artifact.pattern}" if isinstance(read, Every) else read.pattern)
    return list(dict.fromkeys(found)) or ["domains.seeds"]


def writes_of(step: PipelineStep[Any]) -> list[str]:
    """What a step writes, by pattern."""
    return list(dict.fromkeys(artifact.pattern for artifact in (*step.writes, *step.join_writes)))


def one_item_each(step: PipelineStep[Any]) -> str:
    """What a step has an item for, in words."""
    return " and ".join(f"each key of {code(artifact.pattern)}" for artifact in step.listed) or "the whole run"


def _overview(pipeline: Pipeline) -> str:
    rows = [
        (
            f"[{step.short}](#{step.name}) {_words(step)}",
            step.title,
            one_item_each(step),
            ", ".join(code(question.name) for question in step.questions) or "nobody",
        )
        for step in pipeline.steps
    ]
    return table(["step", "does", "one item for", "asks"], rows)


def _section(pipeline: Pipeline, step: PipelineStep[Any]) -> Iterator[str]:
    yield f"## {step.name}\n"
    yield f"{step.title[:1].upper()}{step.title[1:]}\n"
    lines = [
        f"- reads {_listed(reads_of(step))}",
        f"- writes {_listed(writes_of(step))}",
        f"- waits for {', '.join(_wait(wait) for wait in pipeline.waits(step)) or 'nothing'}",
    ]
    if step.join is not None:
        lines.append(f"- after all items a join writes {_listed(artifact.pattern for artifact in step.join_writes)}")
    for question in step.questions:
        prompt = f"{question.package.replace('.', '/')}/{question.name}.md"
        lines.append(f"- asks the {question.role} author {code(question.name)} ([prompt](../{prompt}))")
    if step.mode != "both":
        lines.append(f"- only where {'cross-domain' if step.mode == 'cross' else 'single-domain'} tasks are made")
    yield "\n".join(lines) + "\n"
    own = [field for field in fields_of(step.params) if field.name not in Params.model_fields]
    if own:
        yield _params(own)


def _wait(wait: Any) -> str:
    return f"all of {wait.producer.short}" if wait.whole else f"its own item of {wait.producer.short}"


def _params(fields: list[Described]) -> str:
    rows = [(code(field.name), code(field.type), code(field.default), field.meaning) for field in fields]
    return table(["parameter", "type", "default", "meaning"], rows)


def _listed(patterns: Any) -> str:
    return ", ".join(code(pattern) for pattern in patterns)


def _words(step: PipelineStep[Any]) -> str:
    return step.name.partition("_")[2].replace("_", " ")


PROOF = Path(__file__).with_name("proof.md")
BEGIN, END = "<!-- gates: made by docs.generate -->", "<!-- end of gates -->"


def proof_page() -> str:
    """The page with the table between its markers made anew. Raises ValueError where a marker is missing."""
    before, _, rest = PROOF.read_text("utf-8").partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{PROOF.name} lacks the markers {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n\n{_gates()}\n{END}{after}"


def _gates() -> str:
    rows = [(f"`{gate.name}`", gate.proves, gate.runs, _figures(gate), _reasons(gate)) for gate in GATES.values()]
    repeated = ", ".join(f"`{gate.name}`" for gate in GATES.values() if isinstance(gate, TaskGate))
    return "\n".join(
        [
            table(["gate", "it proves", "what is run", "figures in `gates`", "reasons of rejection"], rows).rstrip(),
            *(
                f"\nOf `{gate.name}`, the first task that passes of those that agree in kind, writing tools, sorts "
                "of values told and left out, and holder of the forbidding rule shows what is the same for all: "
                f"{gate.of_conduct[0].lower()}{gate.of_conduct[1:]}"
                for gate in GATES.values()
                if gate.of_conduct
            ),
            f"\n`verify` repeats these from a task's own record: {repeated}. The others it repeats on the combination "
            "that the task was made from.",
            "",
        ]
    )


def _figures(gate: Gate) -> str:
    return "; ".join(f"`{name}`: {meaning}" for name, meaning in gate.figures.items())


def _reasons(gate: Gate) -> str:
    return ", ".join(gate.reasons)
