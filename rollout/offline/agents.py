"""Agents that play without a model.

`oracle`, `careless` and `policy_blind` are built with the golden trajectory, as a script; `random` and `nothing` have
what any model has: the conversation and the tools.
"""

from collections.abc import Callable
from difflib import get_close_matches
from random import Random

from rollout.offline.careless import Careless, mistake_of
from rollout.offline.chance import chance, nothing
from rollout.offline.course import Conduct, Course, Do, hands_over
from rollout.offline.phrases import said
from rollout.offline.script import Script, scripts_of
from rollout.offline.transcript import transcript_of
from skillweave.dataset import Dataset
from skillweave.errors import ConfigError
from skillweave.llm.backend import Backend
from skillweave.llm.backends.offline import OfflineBackend
from skillweave.llm.request import Reply, Request
from skillweave.schema.message import FunctionCall, ToolCall

OFFLINE_AGENTS: tuple[str, ...] = ("oracle", "careless", "policy_blind", "random", "nothing")


def offline_agent(name: str, dataset: Dataset, seed: int) -> Backend:
    """The backend of that name. ConfigError where there is none."""
    if name in _FREE:
        free = _FREE[name]
        return OfflineBackend(lambda request: free(request, seed), name)
    if name not in _SCRIPTED:
        near = get_close_matches(name, OFFLINE_AGENTS, n=1, cutoff=0.0)[0]
        raise ConfigError(f"no offline agent {name!r}; there are {', '.join(OFFLINE_AGENTS)}. Did you mean {near!r}?")
    scripted, scripts = _SCRIPTED[name], scripts_of(dataset)
    return OfflineBackend(lambda request: scripted(request, scripts(request.key.rpartition("#")[0]), seed), name)


class PolicyBlind(Conduct):
    """Heeds no rule that the tools do not enforce, and so proposes nothing either."""

    proposes = False


def oracle(request: Request, script: Script, seed: int) -> Reply:
    """The golden trajectory, in conversation."""
    return _scripted(request, script, Conduct(), seed, "oracle")


def careless(request: Request, script: Script, seed: int) -> Reply:
    """The oracle with mistakes."""
    conduct = Careless(script, mistake_of(seed, request.key, script.kind), f"{seed}/{request.key}/careless")
    return _scripted(request, conduct.followed, conduct, seed, "careless")


def policy_blind(request: Request, script: Script, seed: int) -> Reply:
    """The oracle that carries out what only the policy forbids, and does nothing for a bridge rule's sake."""
    followed = script.unruled() if script.kind == "refuse" else script.undemanded()
    return _scripted(request, followed, PolicyBlind(), seed, "policy_blind")


def _scripted(request: Request, script: Script, conduct: Conduct, seed: int, model: str) -> Reply:
    transcript = transcript_of(request)
    act = Course(script, conduct).follow(transcript).decide()
    turn = transcript.turn
    random = Random(f"{seed}/{request.key}/{turn}/words")
    if not isinstance(act, Do):
        return Reply(text=act.words(random), model=model)
    calls = tuple(
        ToolCall(id=f"call_{turn}_{at}", function=FunctionCall(name=call.tool, arguments=dict(call.arguments)))
        for at, call in enumerate(act.calls)
    )
    words = said("hand_over", random) if hands_over(act) else ""
    return Reply(text=words, model=model, stop="tool_calls", tool_calls=calls)


_SCRIPTED: dict[str, Callable[[Request, Script, int], Reply]] = {
    "oracle": oracle,
    "careless": careless,
    "policy_blind": policy_blind,
}
_FREE: dict[str, Callable[[Request, int], Reply]] = {"random": chance, "nothing": nothing}
