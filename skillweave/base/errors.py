"""Errors, named after who can act on them. A message says what is wrong, where, what is allowed and what to do."""


class SkillweaveError(Exception):
    """The root of every error that this project raises on purpose."""


class ConfigError(SkillweaveError):
    """The user can act: a wrong option, key, type or path. Commands end with exit status 2."""


class AuthorError(SkillweaveError):
    """A model, or the offline author, gave no usable answer to a question."""

    def __init__(
        self,
        message: str,
        *,
        question: str = "",
        key: str = "",
        reasons: tuple[str, ...] = (),
        lies_in: str | None = None,
    ) -> None:
        """Report a question without a usable answer.

        Args:
            message: What is wrong, in one line.
            question: The question's name.
            key: The key of the item that asked.
            reasons: What was wrong with the last answer.
            lies_in: The earlier step that has the fault, if it is not this item's own.
        """
        super().__init__(message)
        self.question = question
        self.key = key
        self.reasons = reasons
        """What was wrong with the last answer, as the author was told."""
        self.lies_in = lies_in
        """The earlier step whose item of the same key has the fault; None if the fault is this item's own."""


class ProviderError(SkillweaveError):
    """Transport: an endpoint was not reached, timed out, or refused the request."""

    def __init__(self, message: str, *, transient: bool = False) -> None:
        """Report a failed request. `transient`: the same request may succeed at once."""
        super().__init__(message)
        self.transient = transient
        """Whether the same request may succeed at once, and was not retried yet."""


class StopError(ProviderError):
    """No more requests are possible now. The run stops and keeps what it has; the same command resumes it."""


class BudgetError(StopError):
    """The budget does not allow another request."""


class OutageError(StopError):
    """An endpoint is down, and the run has waited for it as long as the configuration allows."""


class UnreachedError(OutageError):
    """Nothing ever answered at an endpoint: its server was not started, or its address is wrong."""


class AccessError(StopError):
    """An endpoint refuses access: a wrong key, no credit left, no such model. Every further request would fail too."""


class WorldError(SkillweaveError):
    """A world is defective: its contract, its database or its generated server."""


class ArtifactError(SkillweaveError):
    """A file is missing, torn, tampered with, or of another format."""
