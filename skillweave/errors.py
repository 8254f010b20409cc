"""Errors, named after who can act on them. Every message says what, which, what was allowed and what to do."""


class SkillweaveError(Exception):
    """The root of every error that this project raises on purpose."""


class ConfigError(SkillweaveError):
    """The user can act: a wrong option, key, type or path. Commands end with exit status 2."""


class AuthorError(SkillweaveError):
    """A model, or the offline author, gave no usable answer to a question."""


class ProviderError(SkillweaveError):
    """Transport: an endpoint was not reached, timed out, or refused the request."""


class WorldError(SkillweaveError):
    """A world is defective: its contract, its database or its generated server."""


class ArtifactError(SkillweaveError):
    """A file is missing, torn, tampered with, or of another format."""
