"""`pipeline.md`: the steps, from their declarations: a picture, a table, and a section a step."""

from collections.abc import Iterator
from typing import Any

import networkx as nx

from docs.reference import Described, code, fields_of, table
from synth.engine.artifact import Every
from synth.engine.pipeline import Pipeline, load_pipeline
from synth.engine.step import Params, PipelineStep

INTRO = """\
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


def page() -> str:
    """The page's text."""
    pipeline = load_pipeline()
    parts = [INTRO, picture(pipeline), _overview(pipeline), COMMON, _params(fields_of(Params))]
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
