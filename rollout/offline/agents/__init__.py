"""Agents that play without a model. Those that are built with the golden trajectory say so by their class of maker.

`oracle`, `careless` and `policy_blind` have a task's script; `greedy`, `random` and `nothing` have a seed and what any
model has: the conversation and the tools.
"""

from difflib import get_close_matches

from rollout.offline.agents.oracle.agent import scripted
from rollout.offline.agents.oracle.conduct import ORACLE, Conduct
from rollout.offline.agents.script import Script, Scripts, scripts_of
from skillweave.dataset import Dataset
from skillweave.errors import ConfigError
from skillweave.llm.backend import Backend
from skillweave.llm.backends.offline import OfflineBackend
from skillweave.llm.request import Reply, Request

OFFLINE_AGENTS: tuple[str, ...] = ("oracle", "careless", "policy_blind", "greedy", "random", "nothing")


def offline_agent(name: str, dataset: Dataset, seed: int) -> Backend:
    """The backend of that name. ConfigError where there is none."""
    if name not in OFFLINE_AGENTS:
        near = get_close_matches(name, OFFLINE_AGENTS, n=1, cutoff=0.0)
        raise ConfigError(
            f"no offline agent {name!r}; there are {', '.join(OFFLINE_AGENTS)}. Did you mean {near[0]!r}?"
        )
    scripts = scripts_of(dataset)

    def answer(request: Request) -> Reply:
        script = scripts(request.key.rpartition("#")[0])
        return scripted(request, script, ORACLE, seed, name)

    return OfflineBackend(answer, name)
