"""The card of a dataset: a block of metadata for dataset hubs, then the contents of the dataset and its proofs.

The card depends on the dataset's files alone: the same files give the same bytes. Results of an evaluation appear only
if the evaluation used this very dataset.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from evaluator.report.results import LADDER, read_ladder
from skillweave.base.command import counted
from skillweave.base.errors import ArtifactError
from skillweave.base.manifest import MANIFEST, Manifest
from skillweave.base.store import Store, digest_file
from skillweave.config.sections import Config
from skillweave.schema.evaluation import AgentSummary, EvaluationSummary
from skillweave.schema.reports import Diversity
from skillweave.schema.task import Task
from skillweave.world.dataset import QUERIES, Dataset
from synth.reports import card_sections as sections
from synth.reports.card_contents import contents, difficulty, interlock
from synth.reports.card_sections import share, table, text
from synth.reports.card_tokens import tokens
from synth.reports.diversity import diversity_of
from synth.reports.duplicates import Axis, families_in, is_undecided, overlaps
from synth.reports.rule_coverage import HELD_OUT, gate_rates, read_rules
from synth.reports.task_table import table_files, table_front

CARD = "README.md"
SUMMARY = "evaluation/summary.json"
OFFLINE_LICENSE = "apache-2.0"
"""The licence of this project, and so of the catalogue from which the offline author writes."""
LICENSE_GIVEN = "as the configuration of the run says"
OF_EVALUATIONS = ("Floors", "Simulated users", "Scripted agents")
"""Sections that tell of evaluations: these may be made, and made again, after the card."""
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""Size classes by which hubs sort datasets."""
LOADING = (
    "`datasets.load_dataset` of this folder reads `data/<split>.jsonl`: a task a row, with the same columns and types "
    "in all rows. What is nested is JSON text in them. Policies and tools are files that the columns name, and the "
    "whole record of a task, with what was proved, is the line with its `id` under `queries/`."
)
JUDGED_STEP = "s04_blueprint_generation"
VERDICTS = ("cases agreed", "cases disagreed", "cases undecided")
"""Figures that the step counts if the configuration names a judge."""
LIMITS = (
    "Companies, persons and records are invented; the rules of a real company may be less consistent.",
    "First messages are in English, and told by one author; what users say later depends on who plays them.",
    "What an agent records as declined or handed over is checked; how well it told the user is not.",
    "End states are compared row by row: whoever reaches the goal in a way that the contract does not know fails.",
    "The search for a second right end state is bounded: where it came to no end, the task says `unique: undecided`.",
)


def card_of(dataset: Dataset, license: str | None) -> str:
    """The text of the card. Raises ArtifactError if a file cannot be read.

    Args:
        dataset: The dataset.
        license: Its licence, as the configuration says; None: as it follows from who wrote the dataset.
    """
    tasks = [task for world in dataset.tasks.worlds for task in dataset.tasks.of(world)]
    parts = [*_front(dataset, tasks, license), *_body(dataset, tasks, license)]
    return "\n".join(parts).rstrip("\n") + "\n"


def write_card(outputs: Path, license: str | None) -> bool:
    """Write the card if the dataset has tasks, and return whether it has. Raises ArtifactError."""
    if not (outputs / QUERIES).is_dir():
        return False
    dataset = Dataset(outputs)
    if not dataset.tasks:
        return False
    dataset.store.write(CARD, card_of(dataset, license).encode())
    return True


def stamp_of(store: Store, made_from: str) -> bytes:
    """The digests of the card and of all that it follows from.

    Args:
        store: The outputs folder. Its manifest has the digests of the dataset's files.
        made_from: A digest of everything else.
    """
    paths = [path for path in (CARD, MANIFEST, SUMMARY, f"evaluation/{LADDER}", HELD_OUT) if store.exists(path)]
    return "\n".join([made_from, *(f"{digest_file(store.file(path))} {path}" for path in paths)]).encode()


def license_of(config: Config) -> str | None:
    """The licence that a configuration gives; None: it follows from who wrote the dataset."""
    # Services of one's own are asked like the built-in ones, and are under whatever licence their author gave them.
    return config.card.license or ("unknown" if config.catalogue else None)


def _authors_license(dataset: Dataset) -> str:
    """The licence that follows from who wrote the dataset."""
    manifest = Manifest(dataset.store) if dataset.store.exists(MANIFEST) else None
    authors = [author for item in manifest.items() for author in item.authors.values()] if manifest else []
    return OFFLINE_LICENSE if authors and all(author.startswith("offline/") for author in authors) else "unknown"


def _license_text(dataset: Dataset, license: str | None) -> str:
    if license not in (None, "unknown"):
        return f"{text(license)}, {LICENSE_GIVEN} (`card.license`)."
    if license is None and _authors_license(dataset) == OFFLINE_LICENSE:
        return f"{OFFLINE_LICENSE}: the built-in offline author wrote all of it, from a catalogue of that licence."
    return (
        "unknown: models wrote it, or services of one's own, or nothing says who did. Whoever made it decides: set "
        "`card.license` in the configuration, then `python -m synth card`."
    )


def _front(dataset: Dataset, tasks: Sequence[Task], license: str | None) -> Iterator[str]:
    license = license or _authors_license(dataset)
    size = next((name for most, name in SIZES if len(tasks) < most), "n>1M")
    yield from ("---", "pretty_name: Tool-use tasks in simulated companies", f"license: {license}", "language:", "- en")
    yield from ("task_categories:", "- text-generation", "size_categories:", f"- {size}", "tags:")
    yield from ("- tool-use", "- agents", "- synthetic", "- mcp", "- function-calling")
    yield from table_front(dataset)
    yield from ("---", "")


def _body(dataset: Dataset, tasks: Sequence[Task], license: str | None) -> Iterator[str]:
    worlds = Counter(len(task.domains) for task in {task.world: task for task in tasks}.values())
    joined = sum(count for domains, count in worlds.items() if domains > 1)
    yield from ("# Tool-use tasks in simulated companies", "")
    groups = f" of one company and {joined} of several that share customers" if joined else ""
    yield (
        f"{len(tasks):,} tasks in {counted(worlds[1], 'simulated world')}{groups}. Each has a "
        "user with a goal, a database, tools behind an MCP server, a policy, a reference trajectory, and criteria that "
        "are checked by execution. Every label was proved by running it; what could not be proved was dropped."
    )
    yield from (
        "",
        f"A line of `{QUERIES}/<world>.jsonl` is a task; its field `split` says whether it is for training,",
    )
    yield from ("validation or test. `python -m synth verify` proves the folder again from its files.", "")
    if table_files(dataset):
        yield from (LOADING, "")
    yield from _section("What it holds", contents(tasks))
    yield from _section("Difficulty", difficulty(tasks) if tasks else [])
    yield from _section("Tokens", tokens(dataset, tasks) if tasks else [])
    yield from _section("Companies that need each other", interlock(tasks))
    yield from _section("What was proved", sections.gates(tasks, gate_rates(dataset, tasks)))
    yield from _section("Shortest solutions", sections.planner(tasks))
    diversity = _diversity(dataset)
    yield from _section("Coverage", sections.coverage(diversity))
    yield from _section(
        "Rules", sections.rules({world: read_rules(dataset.store, world) for world in diversity.worlds})
    )
    yield from _section("Sentences of rules", _sentences(dataset))
    yield from _section("Wording", sections.diversity(diversity))
    summary = _evaluated(dataset)
    evaluated = (sections.floors(summary), sections.users(summary), _ladder(dataset))
    for title, lines in zip(OF_EVALUATIONS, evaluated, strict=True):
        yield from _section(title, lines)
    yield from _section("Splits", _splits(dataset, tasks, diversity.holdout_domains))
    yield from _section("How it was made", _made(dataset))
    yield from _section("Known limits", [*(f"- {limit}" for limit in LIMITS), ""])
    yield from _section("Licence", [_license_text(dataset, license), ""])


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from (f"## {title}", "", *lines)


def _diversity(dataset: Dataset) -> Diversity:
    """The diversity report of the run; computed here if the run has not written one."""
    path = "report/diversity.json"
    if dataset.store.exists(path):
        with suppress(ValidationError):
            return Diversity.model_validate_json(dataset.store.read(path))
    worlds = dataset.tasks.worlds
    return diversity_of(
        {world: list(dataset.tasks.of(world)) for world in worlds},
        {world: dataset.blueprint(world) for world in worlds},
    )


def _splits(dataset: Dataset, tasks: Sequence[Task], holdouts: Sequence[str]) -> list[str]:
    repeated = overlaps(tasks, families_in(dataset), holdouts)
    shared: dict[Axis, int | str] = {axis: len(lines) for axis, lines in repeated.items()}
    if not holdouts:
        shared["domain"] = "none is held out"
    undecided = sum(map(is_undecided, tasks))
    in_test = sum(task.split == "test" and is_undecided(task) for task in tasks)
    return [
        *table(("within one world, in more than one split", "found"), list(shared.items())),
        *_across(tasks),
        f"In {share(undecided, len(tasks))} of the tasks the search for a second right end state came to no end; "
        f"{in_test or 'none'} of them {'is' if in_test < 2 else 'are'} in `test`.",
        "",
    ]


def _across(tasks: Sequence[Task]) -> list[str]:
    """How many customers of several worlds are in different splits; empty if no customer is in several worlds.

    A customer counts once, however many companies they deal with.
    """
    places: dict[tuple[str, str], dict[str, set[str]]] = {}
    for task in tasks:
        for domain in task.domains:
            places.setdefault((domain, task.persona.name), {}).setdefault(task.world, set()).add(task.split)
    several, apart = set[str](), set[str]()
    for (_, name), worlds in places.items():
        several |= {name} if len(worlds) > 1 else set()
        apart |= {name} if len(set.union(*worlds.values())) > 1 and len(worlds) > 1 else set()
    if not several:
        return []
    shared = f"Worlds that share a company share its customers: of {len(several):,} with tasks in several of them, "
    if not apart:
        return [f"{shared}0 are in different splits there.", ""]
    return [
        f"{shared}{len(apart):,} are in different splits there. Where that matters, draw each customer's split for "
        "all worlds (`splits.customers_apart`), hold domains out (`splits.holdout_domains`), or leave out worlds of "
        "several companies.",
        "",
    ]


def _evaluated(dataset: Dataset) -> list[AgentSummary]:
    """The results of an evaluation of this very dataset, by agent and user."""
    try:
        content = dataset.store.read(SUMMARY) if dataset.store.exists(SUMMARY) else b""
        summary = EvaluationSummary.model_validate_json(content) if content else None
    except (ArtifactError, ValueError):
        return []
    return summary.by_agent if summary is not None and summary.dataset == dataset.digest else []


def _sentences(dataset: Dataset) -> list[str]:
    """How often the judge and the SQL of rules agreed, from the run's record."""
    if not dataset.store.exists(MANIFEST):
        return []
    verdicts: Counter[str] = Counter()
    for item in Manifest(dataset.store).items(JUDGED_STEP):
        verdicts.update({name: int(item.figures[name]) for name in VERDICTS if name in item.figures})
    return sections.sentences(verdicts)


def _ladder(dataset: Dataset) -> list[str]:
    ladder = read_ladder(dataset.store, f"evaluation/{LADDER}")
    return sections.ladder(ladder) if ladder is not None and ladder.dataset == dataset.digest else []


def _made(dataset: Dataset) -> list[str]:
    """Seeds and authors, from the run's record."""
    if not dataset.store.exists(MANIFEST):
        return []
    manifest = Manifest(dataset.store)
    answers: Counter[tuple[str, str]] = Counter()
    seeds: set[int] = set()
    clocks: set[str] = set()
    for item in manifest.items():
        answers.update({(asking.author, asking.question): asking.answered for asking in item.askings})
        fingerprint = manifest.fingerprint(item.fingerprint)
        if fingerprint is not None:
            seeds.add(fingerprint.seed)
            clocks.add(fingerprint.now)
    lines = [f"Seed {', '.join(map(str, sorted(seeds)))}; the clock of all worlds is {', '.join(sorted(clocks))}.", ""]
    return [*lines, *sections.authors((*who, count) for who, count in answers.items() if count)]
