"""An agent with a script, as a backend's answer."""

from random import Random

from rollout.offline.agents.greedy.agent import by_words
from rollout.offline.agents.oracle.acts import Do
from rollout.offline.agents.oracle.careless import Careless, mistake_of
from rollout.offline.agents.oracle.conduct import ORACLE, POLICY_BLIND, Conduct
from rollout.offline.agents.oracle.course import Course
from rollout.offline.agents.oracle.speech import Speech
from rollout.offline.agents.script import Script
from rollout.offline.agents.transcript import Reacted, transcript_of
from skillweave.llm.request import Reply, Request
from skillweave.schema.message import FunctionCall, ToolCall


def oracle(request: Request, script: Script, seed: int) -> Reply:
    """The golden trajectory, in conversation."""
    return _scripted(request, script, ORACLE, seed, "oracle")


def careless(request: Request, script: Script, seed: int) -> Reply:
    """The oracle with mistakes."""
    source = f"{seed}/{request.key}/careless"
    conduct = Careless(script, mistake_of(seed, request.key, script.kind), lambda use: Random(f"{source}/{use}"))
    return _scripted(request, script, conduct, seed, "careless")


def policy_blind(request: Request, script: Script, seed: int) -> Reply:
    """The oracle that heeds no rule which the tools do not enforce, and does nothing for a rule's sake. What a rule
    forbids it carries out; where its script does not say what that would be, it goes by the user's words."""
    if script.kind == "refuse" and script.asked is None:
        return by_words(request, seed, model="policy_blind", confirms=False)
    followed = script.unruled() if script.kind == "refuse" else script.undemanded()
    return _scripted(request, followed, POLICY_BLIND, seed, "policy_blind")


def _scripted(request: Request, script: Script, conduct: Conduct, seed: int, model: str) -> Reply:
    transcript = transcript_of(request)
    course = Course(script, conduct).follow(transcript)
    act = course.decide()
    turn = sum(isinstance(event, Reacted) for event in transcript.events)
    speech = Speech(course, transcript, Random(f"{seed}/{request.key}/{turn}/words"))
    calls = tuple(
        ToolCall(id=f"call_{turn}_{at}", function=FunctionCall(name=tool, arguments=dict(arguments)))
        for at, (tool, arguments) in enumerate(act.calls if isinstance(act, Do) else ())
    )
    return Reply(text=speech.words(act), model=model, stop="tool_calls" if calls else "stop", tool_calls=calls)
