"""Play recorded episodes with OpenEnv's own clients, of either line: `URL PLANS`.

A plan is a task's id and its calls, each a tool and arguments. `GenericEnvClient` plays each; `MCPToolClient` lists the
tools, and plays the first.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from openenv.core import GenericEnvClient
from openenv.core.env_server.mcp_types import CallToolAction
from openenv.core.mcp_client import MCPToolClient

url, plans = sys.argv[1], json.loads(Path(sys.argv[2]).read_text("utf-8"))


async def generic(plan: dict[str, Any]) -> dict[str, Any]:
    """The last step's reward, and the reward of a session that takes none of the steps."""
    async with GenericEnvClient(base_url=url) as client:
        step = await client.reset(task_id=plan["task_id"])
        assert not step.done
        for tool, arguments in plan["calls"]:
            step = await client.step({"type": "call_tool", "tool_name": tool, "arguments": arguments})
        state = await client.state()
        return {"task_id": plan["task_id"], "reward": step.reward, "done": step.done, "state": state}


async def tools(plan: dict[str, Any]) -> dict[str, Any]:
    """What the client of tools lists, and the reward that it gets by steps."""
    async with MCPToolClient(base_url=url) as client:
        step = await client.reset(task_id=plan["task_id"])
        listed = [tool.name for tool in await client.list_tools()]
        for tool, arguments in plan["calls"]:
            step = await client.step(CallToolAction(tool_name=tool, arguments=arguments))
        return {"listed": listed, "reward": step.reward, "done": step.done}


async def main() -> dict[str, Any]:
    """What both clients got."""
    return {"generic": [await generic(plan) for plan in plans], "tools": await tools(plans[0])}


print(json.dumps(asyncio.run(main()), default=str))
