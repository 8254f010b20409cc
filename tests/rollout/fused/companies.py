"""A dentist and an insurer fused into one world, on disk, and tasks that lie across both.

The bridge rule wants an invoice paid before it is claimed; the tool holds it, or only the policy does. Ana and Ben are
known to both companies.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from skillweave.schema.blueprint import Blueprint, BridgeRule, FusedBlueprint
from skillweave.schema.contract import Enforcer
from skillweave.schema.fusion import Mediation
from skillweave.schema.record import Row
from skillweave.schema.task import Task
from skillweave.world import database
from skillweave.world.dataset import Dataset
from skillweave.world.replay import replay
from skillweave.world.world import World
from synth.fusion.blueprint import fuse
from tests.evaluator.tasks import a_task

NOW = "2025-01-20 09:00:00"
NAME = "Dentist__Insurer"
PEOPLE = ("Ana Lopez", "Ben Okoro")
PAID_FIRST = "An invoice of Smile Dental must be paid before it is claimed."
INVOICES = [
    ("INV-0001", 1, "cleaning", "2025-01-12 10:00:00", 8500, "open"),
    ("INV-0002", 1, "filling", "2025-01-14 11:30:00", 14000, "open"),
    ("INV-0003", 1, "X-ray", "2024-12-02 09:00:00", 6000, "paid"),
    ("INV-0004", 2, "cleaning", "2025-01-12 14:00:00", 8500, "open"),
]


def companies() -> list[Blueprint]:
    """The two contracts."""
    text = Path(__file__).with_name("companies.yaml").read_text("utf-8")
    return [Blueprint.model_validate(one) for one in yaml.safe_load(text)]


def bridge(enforced_by: Enforcer = "tool") -> BridgeRule:
    """Pay first, then claim."""
    return BridgeRule(
        rule="B1",
        tool=tool("submit_claim"),
        concern="eligibility",
        holds="NOT EXISTS (SELECT 1 FROM Dentist__Invoice WHERE invoice_id = :invoice_reference AND status <> 'paid')",
        error="pay_first",
        says=PAID_FIRST,
        enforced_by=enforced_by,
    )


@cache
def fused() -> FusedBlueprint:
    """The contract of both, without bridge rules."""
    return fuse(companies())


def tool(origin: str) -> str:
    """What a company's tool is called in the fused world."""
    return next(one.name for one in fused().tools if one.origin == origin)


@cache
def a_world(enforced_by: Enforcer = "tool") -> World:
    """Both companies, with the bridge rule."""
    blueprint = fused().with_bridges([bridge(enforced_by)])
    connection = database.create(blueprint)
    for entity in blueprint.tables:
        database.insert(connection, entity, _rows().get(entity.name, []))
    return World(blueprint, connection, now=NOW)


def _rows() -> Mapping[str, list[Row]]:
    numbers = range(1, len(PEOPLE) + 1)
    invoices: list[Row] = [
        {
            "invoice_id": key,
            "patient_id": f"DPA-000{owner}",
            "treatment_name": treatment,
            "treated_at": at,
            "amount_cents": amount,
            "status": status,
            "method": "card" if status == "paid" else None,
        }
        for key, owner, treatment, at, amount, status in INVOICES
    ]
    return {
        "Patient": [
            {
                "person_id": f"PAT-P00{number}",
                "Dentist": f"DPA-000{number}",
                "Insurer": f"PME-000{number}",
                "full_name": name,
                "email": f"{name.split()[0].lower()}@example.com",
                "date_of_birth": f"198{number}-03-0{number}",
            }
            for number, name in enumerate(PEOPLE, start=1)
        ],
        "Dentist__Patient": [{"patient_id": f"DPA-000{number}", "balance_cents": 0} for number in numbers],
        "Insurer__Member": [{"member_id": f"PME-000{number}", "postcode": f"AB1{number} 0XY"} for number in numbers],
        "Dentist__Invoice": invoices,
    }


def _call(origin: str, demanded_by: str | None = None, **given: tuple[Any, str]) -> dict[str, Any]:
    arguments = {name: value for name, (value, _) in given.items()}
    grounding = {name: source for name, (_, source) in given.items()}
    return {"tool": tool(origin), "arguments": arguments, "grounding": grounding, "demanded_by": demanded_by}


def _fact(id: str, text: str, value: str, tell: str = "first") -> dict[str, Any]:
    return {"id": id, "text": text, "value": value, "tell": tell}


INVOICE_FACTS = [
    _fact("invoice.treatment_name", "It is my cleaning invoice.", "cleaning"),
    _fact("invoice.treated_at", "It is my invoice for my visit on 12 January at 10:00.", "2025-01-12 10:00:00"),
]
METHOD = _fact("pay_invoice.method", "Method: by card.", "card", "asked")
ME = [
    _fact("me.postcode", "My postcode is AB11 0XY.", "AB11 0XY", "asked"),
    _fact("me.date_of_birth", "My date of birth is 1 March 1981.", "1981-03-01", "asked"),
]
CLAIM = "claim the bill for {my} cleaning at Smile Dental on 12 January back from Aurora Plan"
REFUND = {
    "fact": "told_1",
    "noun": "refund",
    "values": [6800],
    "type": "integer",
    "unit": "cents",
}


def tasks(enforced_by: Enforcer = "tool") -> tuple[Task, ...]:
    """A claim for which the bill has to be paid first, told in two ways, with and without signing in."""
    paying = _call("pay_invoice", "B1", invoice_id=("INV-0001", "call 0 [1].invoice_id"), method=("card", "user"))
    claiming = _call(
        "submit_claim",
        invoice_reference=("INV-0001", "call 0 [1].invoice_id"),
        amount_cents=(8500, "call 1 paid_now_cents"),
        service_date=("2025-01-12", "computed date(call 0 [1].treated_at)"),
    )
    golden = [_call("list_my_invoices"), paying, claiming]
    goal = f"You want to {CLAIM.format(my='your')}."
    consent = " If Aurora Plan needs it first, you agree to pay that bill with Smile Dental by card."
    opening = f"Hello! I'd like to {CLAIM.format(my='my')}."
    signing_in = _call("identify_member", postcode=("AB11 0XY", "user"), date_of_birth=("1981-03-01", "user"))
    told = {"communicate": [REFUND]}
    return (
        made("claim", goal + consent, golden, [*INVOICE_FACTS, METHOD], opening, enforced_by),
        made(
            "ahead",
            goal + consent,
            [*golden[:2], _with_amount(claiming, "call 0 [1].amount_cents")],
            [*INVOICE_FACTS, {**METHOD, "tell": "first"}],
            f"{opening} If anything has to be settled with Smile Dental first, go ahead, I pay by card.",
            enforced_by,
        ),
        made(
            "refund",
            f"{goal}{consent} You want to know how much you get back.",
            [signing_in, *map(_shifted, golden)],
            [*INVOICE_FACTS, METHOD, *ME],
            f"{opening} And how much do I get back?",
            enforced_by,
            login="conversation",
            criteria=told,
        ),
    )


def _with_amount(call: dict[str, Any], source: str) -> dict[str, Any]:
    return {**call, "grounding": {**call["grounding"], "amount_cents": source}}


def _shifted(call: dict[str, Any]) -> dict[str, Any]:
    """The call one place later."""
    moved = {"call 0 ": "call 1 ", "call 1 ": "call 2 "}
    grounding = {}
    for name, source in call["grounding"].items():
        old = next((old for old in moved if old in source), "")
        grounding[name] = source.replace(old, moved[old]) if old else source
    return {**call, "grounding": grounding}


def made(
    name: str,
    goal: str,
    golden: Sequence[dict[str, Any]],
    facts: Sequence[dict[str, Any]],
    opening: str,
    enforced_by: Enforcer,
    *,
    login: str = "session",
    criteria: Mapping[str, Any] | None = None,
) -> Task:
    """A task of Ana's, its end state taken from a replay."""
    known = ("PAT-P001", "Ana Lopez") if login == "session" else (None, None)
    told = (criteria or {}).get("communicate", [])
    setting: dict[str, Any] = {
        "id": f"{NAME}-{name}",
        "world": NAME,
        "domains": ["Dentist", "Insurer"],
        "namespaces": {member.server: member.namespace for member in fused().members},
        "login": login,
        "env_variables": {"CURRENT_DATE": NOW[:10], "LOGGED_IN_USER": known[0], "LOGGED_IN_NAME": known[1]},
        "messages": [{"role": "user", "content": opening}],
        "scenario": {"goal": goal, "reason": "I would like my money back.", "facts": list(facts)},
        "persona": {"name": "Ana Lopez", "age": 43, "style": "friendly", "patience": 8},
        "golden": list(golden),
    }
    basis = ["state", *(["communicate"] if told else []), "policy"]
    state = replay(a_world(enforced_by), a_task(**setting)).changes
    return a_task(**{**setting, "criteria": {"state": state, "communicate": told, "reward_basis": basis}})


POLICY = f"""# Smile Dental and Aurora Plan

Say what you are going to do and wait for a yes where a section asks for it. Identify the user with either company.

<!-- tool: {{submit}} -->
### Submit claim (`{{submit}}`)

Confirm with the member first. [B1] {PAID_FIRST}
<!-- /tool: {{submit}} -->
"""


def a_dataset(folder: Path, records: Sequence[Task], enforced_by: Enforcer = "tool") -> Dataset:
    """The folder of a run that holds these tasks."""
    for part in ("database", "policies", "queries"):
        (folder / part).mkdir(parents=True)
    singles = [one.model_dump(mode="json") for one in companies()]
    (folder / "blueprints.json").write_text(json.dumps(singles), "utf-8")
    (folder / "database" / f"{NAME}.contract.json").write_text(fused().model_dump_json(), "utf-8")
    mediation = Mediation(name=NAME, conflicts=[], bridges=[bridge(enforced_by)], proofs=[])
    (folder / "policies" / f"{NAME}.bridges.json").write_text(mediation.model_dump_json(), "utf-8")
    (folder / "policies" / f"{NAME}.md").write_text(POLICY.format(submit=tool("submit_claim")), "utf-8")
    world = a_world(enforced_by)
    (folder / "database" / f"{NAME}.sqlite").write_bytes(world.content)
    with world.session() as session:
        digest = session.digest()
    state = {"database": f"database/{NAME}.sqlite", "digest": digest}
    lines = [
        Task.model_validate({**task.model_dump(mode="json"), "initial_state": state}).model_dump_json()
        for task in records
    ]
    (folder / "queries" / f"{NAME}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return Dataset(folder)
