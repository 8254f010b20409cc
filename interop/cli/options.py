"""The options under the name by which the servers know them."""

from interop.options import ServeOptions

__all__ = ["ServeOptions"]
