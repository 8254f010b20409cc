"""Conversations about the practice's tasks, as rollouts record them: of nine trials, six pass and three fail."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from bench._practice import SERVER
from bench._visits import golden_calls, policy_of
from evaluator.replay.execution import Execution
from evaluator.replay.golden import digest_of_task
from skillweave.schema.contract import CallResult
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Message, Participant, RolloutUsage, SpeakerUsage, TrajectoryRecord
from skillweave.world.tools import result_text
from skillweave.world.world import World

TRIALS = 9
"""Trials of each task."""
PASSING = 6
"""Trials of each task that pass."""

Calls = list[tuple[str, dict[str, Json]]]


class AgentPlan(NamedTuple):
    """What an agent does in a conversation."""

    calls: Calls
    last: str
    """The agent's last words."""


Way = Callable[[Task, AgentPlan], AgentPlan]
"""Changes the golden plan of a task into a way of doing it."""


def conversations(world: World, tasks: Sequence[Task], dataset: str) -> Iterator[TrajectoryRecord]:
    """Make the conversations of all trials of all tasks. Their ids are `<task id>#<trial>`.

    Args:
        world: The practice.
        tasks: Its tasks.
        dataset: The dataset's digest, for the records.
    """
    policy = policy_of(world)
    for number, task in enumerate(tasks):
        execution = golden_calls(world, task.env_variables.LOGGED_IN_USER, task.golden)
        plan = AgentPlan([(step.tool, step.arguments) for step in execution.calls], _last_words(task))
        for trial in range(TRIALS):
            way = PASSES[trial % len(PASSES)] if trial < PASSING else FAILS[(number + trial) % len(FAILS)]
            messages = [Message(role="system", content=policy), *_talk(world, task, way(task, plan), execution)]
            yield _recorded(world, task, trial, messages, dataset)


def _last_words(task: Task) -> str:
    facts = [f"the {fact.noun} is {_money(fact.values[0])}" for fact in task.criteria.communicate]
    return " ".join(["All of that is done.", *(f"{fact[0].upper()}{fact[1:]}." for fact in facts)])


def _money(cents: Json) -> str:
    return f"{cents / 100:,.2f} euros" if isinstance(cents, int) else str(cents)


def _as_asked(task: Task, plan: AgentPlan) -> AgentPlan:
    return plan


def _looks_around(task: Task, plan: AgentPlan) -> AgentPlan:
    return plan._replace(calls=[*plan.calls[:-1], ("list_fees", {}), ("find_slots", {}), plan.calls[-1]])


def _stumbles(task: Task, plan: AgentPlan) -> AgentPlan:
    """Make a call that is refused, then the right one."""
    tool, arguments = plan.calls[-1]
    key = next(name for name in arguments if name.endswith("_id"))
    wrong = {**arguments, key: f"{str(arguments[key])[:4]}9999"}
    return plan._replace(calls=[*plan.calls[:-1], (tool, wrong), plan.calls[-1]])


def _leaves_out(task: Task, plan: AgentPlan) -> AgentPlan:
    return plan._replace(calls=plan.calls[:-1])


def _does_more(task: Task, plan: AgentPlan) -> AgentPlan:
    return plan._replace(calls=[*plan.calls, ("set_reminders", {"wanted": True}), ("set_reminders", {"wanted": False})])


def _errs_in_a_value(task: Task, plan: AgentPlan) -> AgentPlan:
    """Pass another enum value, or another slot."""
    tool, arguments = plan.calls[-1]
    other: dict[str, Json] = {"reason": "other"} if "reason" in arguments else {"pickup": "counter"}
    if "slot_id" in arguments:
        other = {"slot_id": "SLO-0200" if arguments["slot_id"] != "SLO-0200" else "SLO-0202"}
    return plan._replace(calls=[*plan.calls[:-1], (tool, {**arguments, **other})])


def _hands_over(task: Task, plan: AgentPlan) -> AgentPlan:
    transfer: dict[str, Json] = {"reason": "user_request", "summary": "The patient wants more than I can do."}
    return plan._replace(calls=[*plan.calls[:-1], ("transfer_to_human", transfer)], last="A colleague takes over.")


def _tells_wrong(task: Task, plan: AgentPlan) -> AgentPlan:
    """Tell a wrong figure; if no figure is asked for, leave out the last call."""
    if not task.criteria.communicate:
        return _leaves_out(task, plan)
    noun, cents = task.criteria.communicate[0].noun, task.criteria.communicate[0].values[0]
    return plan._replace(last=f"All done. The {noun} is {_money(cents + 700 if isinstance(cents, int) else cents)}.")


PASSES: tuple[Way, ...] = (_as_asked, _looks_around, _stumbles)
FAILS: tuple[Way, ...] = (_leaves_out, _does_more, _errs_in_a_value, _hands_over, _tells_wrong)


def _talk(world: World, task: Task, plan: AgentPlan, golden: Execution) -> Iterator[Message]:
    """The messages: the user's request, the calls with some words before each write, and the end."""
    yield from task.messages
    results = iter(golden_results(world, task, plan.calls))
    writes = {step.tool for step in golden.calls if step.writes}
    for place, (tool, arguments) in enumerate(plan.calls):
        if tool == "identify_patient":
            yield Message(role="assistant", content="Gladly. What are your e-mail address and your date of birth?")
            known = f"My e-mail address is {arguments['email']}, and I was born on {arguments['date_of_birth']}."
            yield Message(role="user", content=known)
        elif tool in writes:
            yield Message(role="assistant", content=f"I can do that for you now ({tool}). Shall I go ahead?")
            yield Message(role="user", content="Yes, please do.")
        function = {"name": tool, "arguments": arguments}
        call: dict[str, Any] = {"id": f"call_{place}", "function": function}
        content = "One moment, I am looking it up."
        yield Message.model_validate({"role": "assistant", "content": content, "tool_calls": [call]})
        yield Message(role="tool", content=result_text(next(results)), tool_call_id=f"call_{place}")
    yield Message(role="assistant", content=plan.last)
    yield Message(role="user", content="Thank you, that is all. ###STOP###")


def golden_results(world: World, task: Task, calls: Calls) -> list[CallResult]:
    """The results of calls in a fresh session of the task."""
    with world.session(task) as session:
        return [session.call(tool, arguments) for tool, arguments in calls]


def _recorded(world: World, task: Task, trial: int, messages: list[Message], dataset: str) -> TrajectoryRecord:
    usage = SpeakerUsage(input_tokens=20_000, output_tokens=400, cost_usd=0.01)
    return TrajectoryRecord(
        id=f"{task.id}#{trial}",
        task_id=task.id,
        trial=trial,
        world=SERVER,
        domains=[SERVER],
        seed=trial,
        dataset=dataset,
        task_digest=digest_of_task(task),
        messages=messages,
        tools=world.tools,
        stop_reason="user_stop",
        agent=Participant(backend="bench/agent", model="agent"),
        user=Participant(backend="bench/user", model="user"),
        usage=RolloutUsage(agent=usage, user=usage),
        started_at="2025-01-20T09:00:00+00:00",
        seconds=20.0,
    )
