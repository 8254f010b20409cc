"""A registry that plug-ins may add to; one toy step uses it."""

from skillweave.plugins import Registry

VOICES: Registry[str] = Registry("voice", {"plain": "as it is"})
