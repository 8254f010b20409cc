"""Rule books and contracts: what is taken apart comes together as it was."""

from skillweave.schema.contract import Effect
from synth.trial.rule_book import book_of, contract_of, tools_of
from tests.questions.library import renew_loan


def test_tools_taken_apart_come_together_as_they_were() -> None:
    tools = [renew_loan()]
    assert tools_of(book_of("x", tools), [contract_of(tool) for tool in tools]) == tools


def test_a_rule_at_an_effect_first_keeps_what_its_guard_is_about() -> None:
    renew = renew_loan()
    limit = next(guard for guard in renew.guards if guard.rule == "renewal_limit")
    kept = Effect(rule=limit.rule, sql="UPDATE loan SET renewals = 0 WHERE loan_id = :loan_id", says=limit.says)
    reset = renew.model_copy(update={"name": "reset_loan", "guards": [], "effects": [kept]})
    tools = [reset, renew]
    assert tools_of(book_of("x", tools), [contract_of(tool) for tool in tools]) == tools
