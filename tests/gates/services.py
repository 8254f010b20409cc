"""Small companies that bill and reimburse, by hand, fused into one world: what tests of interlocking stand on."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from skillweave.schema.blueprint import Blueprint, BridgeRule, FusedBlueprint
from skillweave.schema.combination import Combination, MentionedRow, MentionedValue
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.record import Row
from skillweave.world.world import World
from synth.fusion.blueprint import fuse
from synth.fusion.persons import fused_rows
from synth.simulation.generation import state_of

NOW = "2025-03-17 09:00:00"
AMOUNTS = {"Clinic": 12300, "Insurer": 45600, "Courier": 78900}
"""What each company's first bill is for."""


def _text(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "string", "description": "It.", **more}


def _cents(name: str) -> dict[str, Any]:
    return {"name": name, "type": "integer", "unit": "cents"}


def _guard(rule: str, holds: str, error: str, concern: str) -> dict[str, Any]:
    return {"rule": rule, "concern": concern, "holds": holds, "error": error, "says": f"{error} must not be."}


def _effect(rule: str, sql: str) -> dict[str, Any]:
    return {"rule": rule, "sql": sql, "says": f"Effect {rule}."}


def _write(name: str, parameters: list[Any], guards: list[Any], effects: list[Any], select: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": "It.",
        "kind": "write",
        "parameters": parameters,
        "guards": guards,
        "effects": effects,
        "returns": {"rows": "one", "select": select},
    }


def _read(name: str, parameters: list[Any], rows: str, select: str) -> dict[str, Any]:
    returns = {"rows": rows, "select": select}
    return {"name": name, "description": "It.", "kind": "read", "parameters": parameters, "returns": returns}


OPEN = "EXISTS (SELECT 1 FROM bill WHERE bill_id = :bill_id AND member_id = :caller AND status = 'open')"
BILLS = "SELECT bill_id, amount_cents, status, billed_at FROM bill WHERE member_id = :caller"
CLAIM = "SELECT claim_id, reference, amount_cents, day FROM claim WHERE claim_id ="
BILL_ID = _text("bill_id", refers_to="Bill.bill_id")
TOOLS: list[dict[str, Any]] = [
    {
        "name": "sign_in",
        "description": "It.",
        "kind": "auth",
        "parameters": [_text("email")],
        "guards": [_guard("R1", "EXISTS (SELECT 1 FROM member WHERE email = :email)", "unknown_email", "existence")],
        "returns": {"rows": "one", "select": "SELECT member_id, full_name FROM member WHERE email = :email"},
    },
    _read("list_bills", [], "many", f"{BILLS} ORDER BY bill_id"),
    _read(
        "find_bills",
        [{"name": "amount_cents", "type": "integer", "description": "It."}],
        "many",
        f"{BILLS} AND amount_cents >= :amount_cents ORDER BY bill_id",
    ),
    _write(
        "settle_bill",
        [BILL_ID],
        [_guard("R2", OPEN, "no_open_bill", "integrity")],
        [_effect("R3", "UPDATE bill SET status = 'paid' WHERE bill_id = :bill_id")],
        "SELECT bill_id, amount_cents, status FROM bill WHERE bill_id = :bill_id",
    ),
    _write(
        "order_service",
        [_text("service", enum=["repair", "renewal"])],
        [],
        [
            _effect(
                "R4",
                "INSERT INTO bill (bill_id, member_id, amount_cents, status, billed_at) VALUES (:new_id, :caller, "
                "CASE :service WHEN 'repair' THEN 5400 ELSE 9100 END, 'open', :now)",
            )
        ],
        "SELECT bill_id, amount_cents FROM bill WHERE bill_id = :new_id",
    ),
    _write(
        "claim_back",
        [
            _text("reference"),
            {"name": "amount_cents", "type": "integer", "description": "It."},
            {"name": "day", "type": "date", "description": "It."},
        ],
        [_guard("R5", ":amount_cents > 0", "no_amount", "integrity")],
        [
            _effect(
                "R6",
                "INSERT INTO claim (claim_id, member_id, reference, amount_cents, day, is_open) "
                "VALUES (:new_id, :caller, :reference, :amount_cents, :day, 1)",
            )
        ],
        f"{CLAIM} :new_id",
    ),
    _write(
        "hurry_claim",
        [_text("claim_id", refers_to="Claim.claim_id")],
        [
            _guard(
                "R7",
                "EXISTS (SELECT 1 FROM claim WHERE claim_id = :claim_id AND member_id = :caller)",
                "not_your_claim",
                "ownership",
            )
        ],
        [_effect("R8", "UPDATE claim SET is_open = 0 WHERE claim_id = :claim_id")],
        f"{CLAIM} :claim_id",
    ),
]


def service(server: str) -> Blueprint:
    """One company."""
    return Blueprint.model_validate(
        {
            "server": server,
            "domain": f"bills of {server}",
            "title": f"The {server}",
            "core_entity": "Member",
            "entities": [
                {
                    "name": "Member",
                    "person": True,
                    "role_of": "Person",
                    "prefix": f"{server[:2].upper()}MEM",
                    "attributes": [
                        _text("member_id"),
                        _text("full_name", shared=True),
                        _text("email", shared=True, unique=True),
                    ],
                },
            ],
            "relationships": [
                {
                    "name": "Bill",
                    "prefix": f"{server[:2].upper()}BIL",
                    "attributes": [
                        _text("bill_id"),
                        _text("member_id", references="Member.member_id"),
                        _cents("amount_cents"),
                        _text("status", enum=["open", "paid"]),
                        {"name": "billed_at", "type": "datetime"},
                    ],
                },
                {
                    "name": "Claim",
                    "prefix": f"{server[:2].upper()}CLA",
                    "attributes": [
                        _text("claim_id"),
                        _text("member_id", references="Member.member_id"),
                        _text("reference"),
                        _cents("amount_cents"),
                        {"name": "day", "type": "date"},
                        {"name": "is_open", "type": "boolean"},
                    ],
                },
            ],
            "tools": TOOLS,
            "invariants": [{"id": "no_debt", "never": "SELECT bill_id FROM bill WHERE amount_cents < 0"}],
        }
    )


def key(server: str, number: int) -> str:
    """The key of a person's own record."""
    return f"{server[:2].upper()}MEM-000{number}"


def bill(server: str, number: int) -> str:
    """The key of a person's bill; the third person has none."""
    return f"{server[:2].upper()}BIL-000{number}"


def _rows(server: str) -> dict[str, list[Row]]:
    persons = range(1, 4)
    return {
        "member": [
            {"member_id": key(server, n), "full_name": f"Person {n}", "email": f"p{n}@example.org"} for n in persons
        ],
        "bill": [
            {
                "bill_id": bill(server, n),
                "member_id": key(server, n),
                "amount_cents": AMOUNTS[server] * n,
                "status": "open",
                "billed_at": f"2025-0{n}-0{1 + len(server) % 4} 11:30:00",
            }
            for n in persons
            if n < 3
        ],
        "claim": [],
    }


def single_state(server: str) -> bytes:
    """A company's own database."""
    return World(service(server), state_of(_rows(server), service(server)), now=NOW).content


@cache
def contract(*servers: str) -> FusedBlueprint:
    """The contract of some companies together, without bridge rules."""
    return fuse([service(server) for server in servers])


def world(*servers: str, bridges: Sequence[BridgeRule] = ()) -> World:
    """The world of some companies."""
    fused = contract(*servers)
    databases = {server: state_of(_rows(server), service(server)) for server in servers}
    people: list[Row] = [
        {"person_id": f"PER-P00{n}", "full_name": f"Person {n}", **{server: key(server, n) for server in servers}}
        for n in range(1, 4)
    ]
    return World(fused.with_bridges(bridges), state_of(fused_rows(fused, databases, people), fused), now=NOW)


PAID_FIRST = BridgeRule(
    rule="B1",
    tool="insurer__claim_back",
    concern="eligibility",
    holds="NOT EXISTS (SELECT 1 FROM Clinic__Bill b JOIN Person p ON p.Clinic = b.member_id "
    "WHERE p.person_id = :person AND b.status = 'open')",
    error="clinic_unpaid",
    says="A claim is only taken while no bill of the clinic is open.",
)


def call(tool: str, /, **arguments: tuple[Any, str]) -> GoldenCall:
    """A golden call; each argument with its source."""
    return GoldenCall(
        tool=tool,
        arguments={name: value for name, (value, _) in arguments.items()},
        grounding={name: source for name, (_, source) in arguments.items()},
    )


def list_bills(namespace: str) -> GoldenCall:
    """A company's list of bills."""
    return call(f"{namespace}__list_bills")


def a_task(
    golden: list[GoldenCall], *said: MentionedValue, rows: Sequence[MentionedRow] = (), **changes: Any
) -> Combination:
    """A combination of the first person, signed in by the channel."""
    base: dict[str, Any] = {
        "id": "test/000",
        "template": "test",
        "server": "Clinic__Insurer",
        "kind": "do",
        "login": "session",
        "caller": "PER-P001",
        "now": NOW,
        "golden": golden,
        "steps": [],
        "rows": list(rows),
        "values": list(said),
    }
    return Combination.model_validate({**base, **changes})
