"""The clinic's proof, made once."""

import pytest

from skillweave.world.world import World
from synth.codegen.proof import Proof, prepare
from tests.world.clinic import a_world


@pytest.fixture(scope="session")
def clinic() -> World:
    return a_world()


@pytest.fixture(scope="session")
def proof(clinic: World) -> Proof:
    return prepare(clinic.blueprint, clinic.content, clinic.now, "7")
