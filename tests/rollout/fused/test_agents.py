"""Offline agents and users in a world of two companies, where a bridge rule demands a call that nobody asked for."""

from pathlib import Path

import pytest

from rollout.offline.agents import offline_agent
from rollout.offline.script import script_of
from rollout.offline.user import offline_user
from skillweave.schema.contract import Enforcer
from skillweave.schema.trajectory import Message, TrajectoryRecord
from skillweave.world.dataset import Dataset
from tests.rollout.fused import companies
from tests.rollout.fused.companies import a_dataset, a_world, tasks, tool
from tests.rollout.offline_agents.clinic import a_user, called, held, passed, said_by

OPENING = f"After that I'd like to {companies.CLAIM.format(my='my')}."
GOAL = f"After that you want to {companies.CLAIM.format(my='your')}."
ENFORCERS: tuple[Enforcer, ...] = ("tool", "agent")
PAY, CLAIM = tool("pay_invoice"), tool("submit_claim")


@pytest.fixture(scope="module", params=ENFORCERS)
def dataset(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    enforced_by: Enforcer = request.param
    return a_dataset(tmp_path_factory.mktemp(enforced_by) / "outputs", tasks(enforced_by), enforced_by)


def played(dataset: Dataset, agent: str, personas: int = 3) -> list[TrajectoryRecord]:
    """The trajectories of an agent with the offline user."""
    return held(dataset, offline_agent(agent, dataset, 1), offline_user(1), personas=personas)


def test_the_oracle_passes_without_a_failed_call(dataset: Dataset) -> None:
    found = played(dataset, "oracle", 6)
    assert [record.id for record in found if not passed(record)] == []
    assert all(record.metadata["tool_error_count"] == 0 for record in found)
    assert {record.stop_reason for record in found} == {"user_stop"}


def test_it_says_which_rule_and_company_want_it_and_waits_for_a_yes(dataset: Dataset) -> None:
    for record in played(dataset, "oracle"):
        assert called(record).index(PAY) < called(record).index(CLAIM)
        paying = next(
            place
            for place, message in enumerate(record.messages)
            for call in message.tool_calls or []
            if call.function.name == PAY
        )
        because, proposal = (record.messages[paying - 2].content or "").splitlines()
        assert all(word in because for word in ("submit the claim", "B1", "Smile Dental"))
        assert "pay the invoice, with" in proposal
        assert "card" in proposal
        assert [turn.agrees for turn in record.user_turns or () if turn.message == paying - 1] == [True]


def test_what_the_user_does_not_agree_to_is_left(dataset: Dataset) -> None:
    for record in held(dataset, offline_agent("oracle", dataset, 1), a_user(agrees=False)):
        assert PAY not in called(record)
        assert not passed(record)


def test_who_leaves_out_what_the_rule_demands_fails(dataset: Dataset) -> None:
    for record in played(dataset, "policy_blind"):
        assert not passed(record)
        assert PAY not in called(record)
        assert CLAIM in called(record)
        assert record.stop_reason == "user_stop"


def test_only_the_rule_of_the_policy_is_broken(tmp_path: Path) -> None:
    dataset = a_dataset(tmp_path / "outputs", tasks("agent"), "agent")
    for record in played(dataset, "policy_blind", 1):
        assert record.score is not None
        assert "B1" in str(record.score.checks["policy"])
        assert record.score.reward == 0


@pytest.mark.parametrize("agent", ["careless", "random", "nothing"])
def test_others_come_to_an_end(dataset: Dataset, agent: str) -> None:
    found = played(dataset, agent)
    assert [record.error for record in found if record.error] == []
    assert agent == "careless" or not any(map(passed, found))


def test_tools_are_spoken_of_without_their_namespace(dataset: Dataset) -> None:
    words = [said for record in played(dataset, "oracle") for said in said_by(record, "assistant")]
    assert not any("__" in said or "dentist" in said or "insurer" in said.lower() for said in words)


def test_the_reads_that_only_a_demanded_call_needs_are_left_out_with_it() -> None:
    claim = tasks()[0]
    looked_up = claim.golden[0].model_copy(update={"tool": tool("list_clinic_hours")})
    paying = claim.golden[1].model_copy(
        update={"grounding": {"invoice_id": "call 1 [1].invoice_id", "method": "call 0 [0].day"}}
    )
    claiming = claim.golden[2].model_copy(
        update={
            "grounding": {
                "invoice_reference": "call 1 [1].invoice_id",
                "amount_cents": "call 2 paid_now_cents",
                "service_date": "computed date(call 1 [1].treated_at)",
            }
        }
    )
    task = claim.model_copy(update={"golden": [looked_up, claim.golden[0], paying, claiming]})
    script = script_of(task, a_world().blueprint)
    assert [call.goal for call in script.calls] == ["", "", "submit the claim", ""]
    listing, submitting = script.undemanded().calls
    assert (listing.plain, submitting.plain) == ("list_my_invoices", "submit_claim")
    assert submitting.arguments["amount_cents"] == 8500
    assert submitting.grounding == {
        "invoice_reference": "call 0 [1].invoice_id",
        "service_date": "computed date(call 0 [1].treated_at)",
    }


@pytest.mark.parametrize("enforced_by", ENFORCERS)
def test_what_a_rule_demands_is_left_out_also_where_the_user_asked_for_it(
    enforced_by: Enforcer, tmp_path: Path
) -> None:
    found = []
    for task in tasks(enforced_by):
        golden = [call.model_copy(update={"demanded_by": None}) for call in task.golden]
        paying = next(place for place, call in enumerate(golden) if call.tool == PAY)
        scenario = task.scenario.model_copy(update={"goal": f"You want to pay your cleaning bill by card. {GOAL}"})
        first = Message(role="user", content=f"Hello! I'd like to pay my cleaning bill by card. {OPENING}")
        gates = task.gates.model_copy(update={"interlock": {"demanded": {"B1": [paying]}}})
        changed = {"golden": golden, "scenario": scenario, "messages": [first], "gates": gates}
        found.append(task.model_copy(update=changed))
    dataset = a_dataset(tmp_path / "outputs", found, enforced_by)
    assert [record.id for record in played(dataset, "oracle") if not passed(record)] == []
    blind = played(dataset, "policy_blind")
    assert [record.id for record in blind if passed(record) or PAY in called(record)] == []
    assert {record.stop_reason for record in blind} <= {"user_stop", "transfer"}


def test_the_agent_is_told_whose_tools_are_whose(dataset: Dataset) -> None:
    (system, *_), *_ = [record.messages for record in played(dataset, "nothing", 1)]
    namespaces = tasks()[0].namespaces
    assert f"`{namespaces['Dentist']}__` for Smile Dental" in (system.content or "")
    assert f"`{namespaces['Insurer']}__` for Aurora Plan" in (system.content or "")
    assert "LOGGED_IN_USER is PAT-P001" in (system.content or "")
