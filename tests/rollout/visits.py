"""Builder of conversations in the small clinic, with a user who says what a list holds."""

from functools import partial

from evaluator.text.facts import UserKnowledge
from rollout.user import User, UserRole
from rollout.world.source import HeldContract
from rollout.world.task import HeldSession, WorldTask
from skillweave.llm.backends.backend import Backend, Sampling
from skillweave.schema.contract import Policy
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.task import Task as TaskRecord
from skillweave.world.instruction import instruction
from skillweave.world.replay import replay
from tests.evaluator.tasks import a_task
from tests.rollout.talks import Said, Script
from tests.world.clinic import a_world

WORLD = a_world()
SLOT = "SLO-0004"
BOOK = ("book_appointment", f'{{"slot_id": "{SLOT}"}}')
POLICY = Policy(world="SmallClinic", text="# Policy\n\nBook what is free.\n")


def a_booking(id: str = "SmallClinic-1") -> TaskRecord:
    """A signed-in patient wants slot 4."""
    golden = [GoldenCall(tool="book_appointment", arguments={"slot_id": SLOT})]
    state = replay(WORLD, a_task(golden=golden)).changes
    opening = f"Please book {SLOT} for me."
    return a_task(
        id=id,
        golden=golden,
        messages=[{"role": "user", "content": opening}],
        criteria={"state": state, "reward_basis": ["state"]},
    )


async def open_clinic(record: TaskRecord) -> HeldSession:
    """The session of a task, on the contract."""
    return HeldContract(WORLD.session(record))


def a_visit(*said: Said, record: TaskRecord | None = None, user: Backend | None = None) -> WorldTask:
    """A booking whose user says these, one after the other."""
    record = record or a_booking()
    speaker = user or Script(*(said or ("Thank you. ###STOP###",))).backend
    role = UserRole(
        persona=record.persona,
        scenario=record.scenario,
        opening=record.messages[0].content or "",
        request=record.messages[0].content or "",
        prompt=f"You want {SLOT}.",
        company="Small Clinic",
        now=record.now,
    )

    def a_user() -> User:
        ledger = UserKnowledge(role.scenario, role.persona, now=role.now, texts=(role.opening, role.company))
        return User(role, speaker, ledger, key=f"1/{record.id}#0", sampling=Sampling())

    prompt = partial(instruction, record, POLICY, WORLD.blueprint)
    return WorldTask(record, digest="d", prompt=prompt, role=role, user=a_user, opener=open_clinic)
