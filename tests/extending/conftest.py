"""Plug-ins go on with the dataset that the authors' tests look at."""

from tests.authors.conftest import direct, run  # noqa: F401
