"""Every tool of a dataset is in the one form that all readers take: in its files, through MCP, and in exports."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from pyarrow import parquet

from interop.words import served_tools
from skillweave.world.dataset import Dataset
from tests.interop.export.exports import export, rows_in
from tests.tool_form import faults_of_schema, faults_of_tools


def tool_lists(dataset: Path) -> dict[str, list[dict[str, Any]]]:
    """The tool lists of a dataset, by world."""
    return {file.stem: json.loads(file.read_text("utf-8")) for file in sorted((dataset / "tool_lists").glob("*.json"))}


def test_the_tool_lists_are_in_the_form(small: Path) -> None:
    lists = tool_lists(small)
    assert set(lists) == {*Dataset(small).worlds}
    assert [fault for tools in lists.values() for fault in faults_of_tools(tools)] == []
    optional = [
        name
        for tools in lists.values()
        for tool in tools
        for name in tool["function"]["parameters"]["properties"]
        if name not in tool["function"]["parameters"]["required"]
    ]
    assert optional, "some arguments are optional"


def test_each_server_of_the_dataset_lists_the_same(small: Path) -> None:
    async def listed(world: str) -> dict[str, Any]:
        command = StdioServerParameters(
            command=sys.executable, args=[str(small / "mcp_servers" / f"{world}.py")], cwd="/"
        )
        async with Client(stdio_client(command)) as client:
            return {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}

    for world, tools in tool_lists(small).items():
        found = asyncio.run(listed(world))
        assert found == {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
        assert [fault for name, schema in found.items() for fault in faults_of_schema(name, schema)] == []
        served = served_tools(tools)
        assert [fault for tool in served for fault in faults_of_schema(tool.name, tool.input_schema)] == []


@pytest.mark.parametrize("format", ["openai", "trl-sft", "sharegpt", "ms-swift", "dpo", "steps", "hub"])
def test_exports_have_tools_in_the_form(small: Path, trajectories: Path, tmp_path: Path, format: str) -> None:
    rollouts = None if format in ("steps", "hub") else trajectories
    done = export(format, small, tmp_path, rollouts=rollouts)
    assert done.returncode == 0, done.stderr
    columns = [parquet.read_table(file, columns=["tools"]).to_pylist() for file in tmp_path.glob("*.parquet")]
    texts = {json.dumps(row["tools"]) for row in (*rows_in(tmp_path), *(row for rows in columns for row in rows))}
    assert texts
    for text in texts:
        tools = json.loads(text)
        tools = json.loads(tools) if isinstance(tools, str) else tools
        tools = [tool if "function" in tool else {"type": "function", "function": tool} for tool in tools]
        assert faults_of_tools(tools) == []
