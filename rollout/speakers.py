"""Speakers: the backends of agent and user, which share one limit of requests, one ledger and one budget."""

from collections.abc import Callable
from pathlib import Path

from rollout.parts import blamed, part
from skillweave.config.authors import AuthorConfig
from skillweave.config.models import Config
from skillweave.dataset import Dataset
from skillweave.errors import ConfigError
from skillweave.llm.backend import Backend
from skillweave.llm.connections import Connections
from skillweave.llm.ledger import Ledger
from skillweave.llm.models import split_name
from skillweave.llm.price import FREE
from skillweave.llm.wrappers.meter import Metered


class Speakers:
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

            return Metered(offline_agent(name, self._dataset(), self._config.seed), self.ledger, FREE)
        return self._connected(speaker, base_url, record_tokens=self._config.rollout.record_tokens)

    def user(self, base_url: str | None = None) -> Backend:
        """Who plays the user. Raises ConfigError."""
        speaker = self._config.rollout.user
        provider, name = split_name(speaker.model)
        if provider != "offline":
            return self._connected(speaker, base_url)
        if name != "user":
            raise ConfigError(f"unknown user {speaker.model!r}; the built-in one is 'offline/user'")
        from rollout.offline.user import offline_user

        return Metered(offline_user(self._config.seed), self.ledger, FREE)

    def _connected(self, speaker: AuthorConfig, base_url: str | None, *, record_tokens: bool = False) -> Backend:
        return self._connections.connect(speaker, base_url=base_url, record_tokens=record_tokens)
