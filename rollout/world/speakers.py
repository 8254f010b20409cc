"""The backends that play agent and user. They share one limit of requests, one ledger and one budget."""

from collections.abc import Callable
from pathlib import Path

from rollout.parts import blamed, part
from skillweave.base.errors import ConfigError
from skillweave.config.llm import AuthorConfig, SpeakerConfig
from skillweave.config.sections import Config, RolloutConfig
from skillweave.llm.backends.backend import Backend
from skillweave.llm.connections import Connections
from skillweave.llm.ledger import FREE, Ledger
from skillweave.llm.models import split_name
from skillweave.llm.wrappers import MeteredBackend
from skillweave.world.dataset import Dataset

SAMPLING = ("temperature", "top_p", "max_tokens", "seed")
ONLY_SCRIPTED = "offline/user knows the phrases of the scripted agents, and does not understand models"
"""Said at the start of a run that brings it together with a model."""


def user_config(rollout: RolloutConfig) -> SpeakerConfig:
    """Who plays the user: whoever is named; else the agent's own author, at its own sampling and with the settings that
    the user is given; for scripted agents, and for a backend of one's own, `offline/user`."""
    given = rollout.user
    if given is not None and "model" in given.model_fields_set:
        return given
    if is_scripted(rollout.agent) or rollout.parts.backend is not None:
        return SpeakerConfig(model="offline/user")
    own = {**dict.fromkeys(SAMPLING), "replay_reasoning": False, "serve": None}
    settings = {name: getattr(given, name) for name in given.model_fields_set} if given is not None else {}
    return rollout.agent.model_copy(update={**own, **settings})


def is_scripted(speaker: SpeakerConfig) -> bool:
    """Whether no model plays it."""
    return split_name(speaker.model)[0] == "offline"


def user_warning(rollout: RolloutConfig) -> str | None:
    """What is to be said of a user that does not understand its agent; None where it does."""
    is_model = rollout.parts.backend is not None or not is_scripted(rollout.agent)
    plays = rollout.parts.tasks == "world" and is_scripted(user_config(rollout))
    return ONLY_SCRIPTED if is_model and plays else None


class BackendFactory:
    """Connects the two sides of a run."""

    def __init__(self, config: Config, dataset: Callable[[], Dataset], folder: Path | None = None) -> None:
        """`dataset` is opened only for an agent that knows it; the runs on `folder` share the budget."""
        self._config = config
        self._dataset = dataset
        self.ledger = Ledger()
        # Conversations are sampled: what was said once is not to be said again in the next trial.
        self._connections = Connections(
            config.llm, ledger=self.ledger, folder=folder, slots=config.rollout.max_concurrency, caches=False
        )

    def agent(self, base_url: str | None = None) -> Backend:
        """Who plays the agent; at `base_url` where the run has started its server. Raises ConfigError."""
        speaker, own = self._config.rollout.agent, self._config.rollout.parts.backend
        if own is not None:
            with blamed("backend", own):
                return self._connections.metered(part("backend", own)(self._config))
        provider, name = split_name(speaker.model)
        if provider == "offline":
            if self._config.rollout.parts.agent == "react":
                raise ConfigError(f"{speaker.model!r} calls its tools natively; leave rollout.parts.agent at 'native'")
            from rollout.offline.agents import offline_agent

            return MeteredBackend(offline_agent(name, self._dataset(), self._config.seed), self.ledger, FREE)
        return self._connected(speaker, base_url, record_tokens=self._config.rollout.record_tokens)

    def user(self, base_url: str | None = None) -> Backend:
        """Who plays the user. Raises ConfigError."""
        speaker = user_config(self._config.rollout)
        provider, name = split_name(speaker.model)
        if provider != "offline":
            return self._connected(speaker, base_url)
        if name != "user":
            raise ConfigError(f"unknown user {speaker.model!r}; the built-in one is 'offline/user'")
        from rollout.offline.user import offline_user

        return MeteredBackend(offline_user(self._config.seed), self.ledger, FREE)

    def _connected(self, speaker: AuthorConfig, base_url: str | None, *, record_tokens: bool = False) -> Backend:
        return self._connections.connect(speaker, base_url=base_url, record_tokens=record_tokens)
