"""The live table and the plain lines tell what models take while items are still under way."""

from io import StringIO

import pytest
from rich.console import Console, Group

from skillweave.base.manifest import ItemRecord
from skillweave.llm.ledger import Ledger, LedgerKey
from skillweave.schema.reports import QuestionMetrics
from synth.cli.display import QuestionUsage, cost_of, usage_note
from synth.cli.time_left import LiveProgress

HERE = LedgerKey("s02_entities", "entities.extract", "openai/m")


@pytest.fixture
def ledger() -> Ledger:
    found = Ledger()
    found.add(HERE, asked=1, replies=1, requests=1, input_tokens=1_000, output_tokens=234, cost_usd=0.5)
    return found


def shown(spent: QuestionUsage) -> str:
    console = Console(file=StringIO(), width=160, force_terminal=False)
    progress = LiveProgress(spent)
    progress.add_task("s01_domains", total=1, rate="", note="", doing="")
    progress.add_task("s02_entities", total=3, rate="", note="", doing="")
    console.print(Group(*progress.get_renderables()))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_a_step_that_runs_shows_what_it_has_taken_so_far(ledger: Ledger) -> None:
    first, second, total = shown(QuestionUsage(ledger)).splitlines()
    assert "tokens" not in first
    assert second.rstrip().endswith("1,234 tokens, $0.50")
    assert total == "in all 1,234 tokens, $0.50"


def test_where_no_model_is_asked_nothing_is_said_of_cost() -> None:
    offline = Ledger()
    offline.add(LedgerKey("s02_entities", "q", "offline/author"), asked=1, replies=1)
    assert "tokens" not in shown(QuestionUsage(offline))
    assert "in all" not in shown(QuestionUsage(offline))


def test_items_that_were_done_elsewhere_count_by_their_records() -> None:
    spent = QuestionUsage(Ledger())
    asking = QuestionMetrics(question="q", author="openai/m", requests=1, input_tokens=10, unpriced=1)
    spent.add(ItemRecord(step="s02_entities", key="a", state="done", askings=[asking, asking]))
    spent.add(ItemRecord(step="s03_graph", key="a", state="done", askings=[asking]))
    assert (usage_note(spent.of("s02_entities")), usage_note(spent.of("s03_graph"))) == (
        "20 tokens, unknown",
        "10 tokens, unknown",
    )
    assert usage_note(spent.total()) == "30 tokens, unknown"


def test_items_that_were_done_here_are_not_counted_twice(ledger: Ledger) -> None:
    spent = QuestionUsage(ledger)
    spent.add(ItemRecord(step=HERE.step, key="a", state="done", askings=ledger.askings()))
    assert spent.total().input_tokens == 1_000


def test_what_may_have_been_charged_stands_beside_the_cost() -> None:
    asking = QuestionMetrics(question="q", author="a", cost_usd=1.0, unpriced=2, lost=1, lost_usd=0.25)
    assert cost_of(asking) == "$1.00 and 2 requests of unknown price, at most $0.25 lost"
