"""The clinic's proof, made once."""

import pytest

from skillweave.world.world import World
from synth.servers.suite import DifferentialSuite, prepare_suite
from tests.world.clinic import a_world


@pytest.fixture(scope="session")
def clinic() -> World:
    return a_world()


@pytest.fixture(scope="session")
def proof(clinic: World) -> DifferentialSuite:
    return prepare_suite(clinic.blueprint, clinic.content, clinic.now, "7")
