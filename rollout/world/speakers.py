"""The backends that play agent and user. Both share one limit of requests, one ledger and one budget."""

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
"""The agent's settings that a user of the same model does not inherit."""
ONLY_SCRIPTED = "offline/user knows the phrases of the scripted agents, and does not understand models"
"""The warning at the start of a run that combines this user with a model."""


def user_config(rollout: RolloutConfig) -> SpeakerConfig:
    """The settings of the user.

    If the configuration names a model for the user, that model plays it. Otherwise the agent's model does, with default
    sampling and the settings under `rollout.user`. Scripted agents and backends of one's own get `offline/user`.
    """
    user = rollout.user
    if user is not None and "model" in user.model_fields_set:
        return user
    if is_scripted(rollout.agent) or rollout.parts.backend is not None:
        return SpeakerConfig(model="offline/user")
    own = {**dict.fromkeys(SAMPLING), "replay_reasoning": False, "serve": None}
    settings = {name: getattr(user, name) for name in user.model_fields_set} if user is not None else {}
    return rollout.agent.model_copy(update={**own, **settings})


def is_scripted(speaker: SpeakerConfig) -> bool:
    """Whether the speaker is scripted, without a model."""
    return split_name(speaker.model)[0] == "offline"


def user_warning(rollout: RolloutConfig) -> str | None:
    """The warning for a user that cannot understand its agent; None if it can."""
    is_model = rollout.parts.backend is not None or not is_scripted(rollout.agent)
    plays = rollout.parts.tasks == "world" and is_scripted(user_config(rollout))
    return ONLY_SCRIPTED if is_model and plays else None


class BackendFactory:
    """Creates the backends of agent and user."""

    def __init__(self, config: Config, dataset: Callable[[], Dataset], folder: Path | None = None) -> None:
        """Create the factory.

        Args:
            config: The configuration of the run.
            dataset: Opens the dataset; called only for agents that know the golden calls.
            folder: The rollouts folder; all runs on it share the budget.
        """
        self._config = config
        self._dataset = dataset
        self.ledger = Ledger()
        # No cache: each trial must be sampled anew.
        self._connections = Connections(
            config.llm, ledger=self.ledger, folder=folder, slots=config.rollout.max_concurrency, caches=False
        )

    def agent(self, base_url: str | None = None) -> Backend:
        """Create the agent's backend.

        Args:
            base_url: The address of the server that the run started; None for the configured address.

        Raises:
            ConfigError: The model or the part is unknown, or does not fit `rollout.parts.agent`.
        """
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
        """Create the user's backend.

        Args:
            base_url: The address of the server that the run started; None for the configured address.

        Raises:
            ConfigError: The user is unknown.
        """
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
