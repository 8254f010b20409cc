"""Contracts for the tests of policies: the catalogue's, with numbered rules, and small ones of a single guard."""

from functools import cache

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Guard
from synth.offline.services import built_in
from synth.policy.audit import Rule
from synth.trial.draft import formulate

DOMAINS = [setting.domain for service in built_in().services.values() for setting in service.header.settings]
NOW = "2025-03-17 09:00:00"


@cache
def a_contract(domain: str = "DentalClinic", seed: int = 7) -> Blueprint:
    made = built_in().variant(seed, domain)
    draft = Blueprint(
        server=domain,
        domain=made.setting.topic,
        title=made.setting.title,
        **{name: getattr(made.rendered, name) for name in Blueprint.model_fields if hasattr(made.rendered, name)},
    )
    return formulate(draft, "XY")


def a_guarded_contract(holds: str, says: str, tool: str = "cancel_appointment") -> Blueprint:
    """The dental clinic's contract with one tool, which has this guard alone."""
    contract = a_contract()
    guard = Guard(rule="R1", concern="eligibility", holds=holds, error="refused", says=says)
    only = contract.tool(tool).model_copy(update={"guards": [guard], "effects": []})
    return contract.model_copy(update={"tools": [only]})


def a_rule(says: str, *sql: str) -> Rule:
    return Rule("R1", [says], list(sql))
