"""The report: one HTML file that needs no server and no network, and holds what it shows as data.

All text of others goes through the template's escaping or into JSON; the policy of the page lets nothing run but its
own script, named by its digest.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from evaluator.report.conversation import Conversation
from evaluator.report.embedding import Embedder, in_script
from evaluator.report.selection import Selection, key_of, order_of, select
from evaluator.report.visible import visible
from skillweave.schema.evaluation import MOST_LEFT, EvaluationSummary
from skillweave.schema.ladder import Ladder
from skillweave.schema.result import FAILURE_CLASSES, Result
from skillweave.store import Store

SHOWN = 500
"""Trajectories that a page shows, where nothing else is said."""
LONGEST_EXAMPLE = 300
"""Characters of an example that a table quotes."""


def write_report(
    store: Store,
    path: str,
    summary: EvaluationSummary,
    results: Callable[[], Iterator[Result]],
    conversation: Callable[[Result], Conversation | None],
    *,
    most: int = SHOWN,
    ladder: Ladder | None = None,
) -> None:
    """Write the page. `results` is gone through twice; `conversation` is asked for each trajectory that is shown;
    `ladder` is that of the scripted agents on the same dataset.

    What is held in memory grows with `most`, not with the results.
    """
    selection = select(results(), most)
    items = _items(results, conversation, selection)
    with store.replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as page:
        page.writelines(_page(summary, selection, items, ladder))


def _items(
    results: Callable[[], Iterator[Result]],
    conversation: Callable[[Result], Conversation | None],
    selection: Selection,
) -> Iterator[Markup]:
    """The chosen trajectories, in their order, as JSON."""
    chosen = {key_of(result): result for result in results() if key_of(result) in selection.chosen}
    embedder = Embedder()
    for result in sorted(chosen.values(), key=order_of):
        yield Markup(embedder.item(result, conversation(result)))


def _page(
    summary: EvaluationSummary, selection: Selection, items: Iterator[Markup], ladder: Ladder | None
) -> Iterator[str]:
    style, script = _text("report.css"), _text("report.js")
    return (
        _environment()
        .get_template("report.html")
        .generate(
            summary=summary,
            selection=selection,
            items=items,
            ladder=ladder,
            level=f"{100 * summary.level:g} %",
            kinds=list(dict.fromkeys(kind for one in summary.by_agent for kind in one.by["kind"])),
            most_left=MOST_LEFT,
            overalls={f"{one.agent} with {one.user}": one.overall for one in summary.by_agent},
            classes=FAILURE_CLASSES,
            class_data=Markup(in_script({str(name): words for name, words in FAILURE_CLASSES.items()})),
            style=Markup(style),
            script=Markup(script),
            security=f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; "
            "base-uri 'none'; form-action 'none'",
        )
    )


def _environment() -> Environment:
    environment = Environment(
        undefined=StrictUndefined,
        loader=FunctionLoader(_text),
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    environment.filters["seen"] = visible
    environment.filters["short"] = lambda text: visible(text[:LONGEST_EXAMPLE])
    return environment


def _text(name: str) -> str:
    return (files(__package__ or "") / name).read_text("utf-8")


def _source(content: str) -> str:
    """How a content security policy names an inline script or style."""
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"
