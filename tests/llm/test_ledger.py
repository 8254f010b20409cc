import threading

from skillweave.llm.backends.backend import Request
from skillweave.llm.ledger import Ledger, LedgerKey, ledger_key
from skillweave.schema.reports import QuestionMetrics, total_metrics

HERE = LedgerKey("s01", "q", "openai/m")
THERE = LedgerKey("s02", "q", "openai/m")


def test_a_request_is_entered_by_step_question_and_author() -> None:
    request = Request(messages=(), question="q", step="s01", key="a")
    assert ledger_key(request, "openai/m") == HERE


def test_what_a_child_enters_is_its_parent_s_too() -> None:
    run = Ledger()
    first, second = Ledger(run), Ledger(run)
    first.add(HERE, replies=1, cost_usd=0.5)
    second.add(HERE, replies=2, cost_usd=0.25)
    second.complain(THERE, "form")
    assert (first.total().replies, second.total().replies, run.total().replies) == (1, 2, 3)
    assert run.total().cost_usd == 0.75
    assert run.total().complaints == {"form": 1}


def test_askings_are_of_one_step_or_of_all_together() -> None:
    ledger = Ledger()
    ledger.add(THERE, asked=2)
    ledger.add(HERE, asked=1)
    ledger.complain(HERE, "check")
    ledger.complain(THERE, "check")
    ledger.complain(THERE, "cut")
    together = QuestionMetrics(question="q", author="openai/m", asked=3, complaints={"check": 2, "cut": 1})
    assert ledger.askings() == [together]
    assert [asking.asked for asking in ledger.askings("s01")] == [1]
    assert ledger.askings("s03") == []
    assert list(ledger.entries()) == [HERE, THERE]


def test_nothing_that_threads_enter_is_lost() -> None:
    run = Ledger()
    own = Ledger(run)

    def enter() -> None:
        for _ in range(500):
            own.add(HERE, replies=1, input_tokens=3)

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (run.total().replies, run.total().input_tokens) == (2_000, 6_000)


def test_a_sum_has_every_number_of_its_parts() -> None:
    names = [name for name, field in QuestionMetrics.model_fields.items() if field.annotation in (int, float)]
    one = QuestionMetrics(question="q", author="a").plus(**dict.fromkeys(names, 1))
    assert total_metrics([one, one], question="q", author="a") == one.plus(**dict.fromkeys(names, 1))
