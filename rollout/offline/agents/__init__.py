"""Agents that play without a model.

`oracle`, `careless` and `policy_blind` are built with the golden trajectory, as a script; `greedy`, `random` and
`nothing` have a seed and what any model has: the conversation and the tools.
"""

from collections.abc import Callable
from difflib import get_close_matches

from rollout.offline.agents.chance import chance
from rollout.offline.agents.greedy.agent import greedy
from rollout.offline.agents.nothing import nothing
from rollout.offline.agents.oracle.agent import careless, oracle, policy_blind
from rollout.offline.agents.script import Script, scripts_of
from skillweave.dataset import Dataset
from skillweave.errors import ConfigError
from skillweave.llm.backend import Backend
from skillweave.llm.backends.offline import OfflineBackend
from skillweave.llm.request import Reply, Request

OFFLINE_AGENTS: tuple[str, ...] = ("oracle", "careless", "policy_blind", "greedy", "random", "nothing")
_SCRIPTED: dict[str, Callable[[Request, Script, int], Reply]] = {
    "oracle": oracle,
    "careless": careless,
    "policy_blind": policy_blind,
}
_FREE: dict[str, Callable[[Request, int], Reply]] = {"greedy": greedy, "random": chance, "nothing": nothing}


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
