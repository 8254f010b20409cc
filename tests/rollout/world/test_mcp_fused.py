"""Calls across two companies on their one generated server: answered as the contract answers them."""

import asyncio

import pytest

from rollout.world.mcp_session import McpOpener
from rollout.world.source import ContractOpener
from skillweave.world.dataset import Dataset
from synth.offline.coding.server import write_server
from synth.servers.runtime import runtime_files
from tests.rollout.fused.companies import NAME, a_dataset, a_world, tasks


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("fused") / "outputs"
    dataset = a_dataset(folder, tasks())
    (folder / "mcp_servers").mkdir()
    world = a_world()
    for name, text in {**runtime_files(), f"{NAME}.py": write_server(world.blueprint, world.now)}.items():
        (folder / "mcp_servers" / name).write_text(text, encoding="utf-8")
    return dataset


@pytest.mark.parametrize("name", ["claim", "ahead", "refund"])
def test_golden_calls_across_domains_are_answered_alike_on_both_engines(dataset: Dataset, name: str) -> None:
    task = dataset.tasks[f"{NAME}-{name}"]

    async def talk() -> None:
        server, contract = await McpOpener(dataset)(task), await ContractOpener(dataset)(task)
        # The claim comes too early at first: nobody is signed in, or the bill is not paid.
        calls = [task.golden[-1], *task.golden]
        answers = [await server.call(call.tool, call.arguments) for call in calls]
        assert answers == [await contract.call(call.tool, call.arguments) for call in calls]
        assert [answer.ok for answer in answers] == [False, *(True for _ in task.golden)]
        on_server, in_process = await server.finish(), await contract.finish()
        assert on_server.diff() == in_process.diff() != []
        on_server.close()
        in_process.close()

    asyncio.run(talk())
