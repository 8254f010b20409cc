"""An agent with a script, as a backend's answer."""

from random import Random

from rollout.offline.agents.oracle.acts import Do
from rollout.offline.agents.oracle.conduct import Conduct
from rollout.offline.agents.oracle.course import Course
from rollout.offline.agents.oracle.speech import Speech
from rollout.offline.agents.script import Script
from rollout.offline.agents.transcript import Reacted, transcript_of
from skillweave.llm.request import Reply, Request
from skillweave.schema.message import FunctionCall, ToolCall


def scripted(request: Request, script: Script, conduct: Conduct, seed: int, model: str) -> Reply:
    """The next reply of an agent that has this script."""
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
