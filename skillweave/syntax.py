"""Parsing Python source, one text at a time.

CPython 3.11 counts the depth of the tree that it builds in one place for all threads, and fails at random when two
threads build trees at once; so all of them go through one lock.
"""

import ast
import threading

_ONE_AT_A_TIME = threading.Lock()


def parse_python(source: str, filename: str = "<source>") -> ast.Module:
    """The syntax tree of a module. SyntaxError, ValueError (NUL in the text) and RecursionError as `ast.parse` says."""
    with _ONE_AT_A_TIME:
        return ast.parse(source, filename)
