"""A generated server on disk, as a run leaves it: server, runtime, database, tasks."""

import json
from pathlib import Path

from skillweave.schema.record import Json
from skillweave.world.world import World
from synth.offline.coding.server import write_server
from synth.servers.runtime import runtime_files


def serve_from(folder: Path, world: World, tasks: tuple[Json, ...] = ()) -> Path:
    """Write the outputs folder of a world; the path of its server."""
    name = world.blueprint.server
    for part in ("mcp_servers/tests", "database", "queries"):
        (folder / part).mkdir(parents=True)
    for file, source in {**runtime_files(), f"{name}.py": write_server(world.blueprint, world.now)}.items():
        (folder / "mcp_servers" / file).write_text(source, encoding="utf-8")
    (folder / "database" / f"{name}.sqlite").write_bytes(world.content)
    lines = "".join(json.dumps(task) + "\n" for task in tasks)
    (folder / "queries" / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder / "mcp_servers" / f"{name}.py"


def a_task(**changes: Json) -> Json:
    """What of a task a server reads."""
    task: dict[str, Json] = {
        "id": "SmallClinic-1",
        "login": "session",
        "now": "2025-01-21 08:00:00",
        "env_variables": {"LOGGED_IN_USER": "PAT-0002"},
        "initial_state": {
            "database": "database/SmallClinic.sqlite",
            "patch": [
                {
                    "table": "slot",
                    "op": "update",
                    "key": {"slot_id": "SLO-0001"},
                    "before": None,
                    "after": {"is_free": False},
                }
            ],
        },
        "tools_hidden": ["list_fees"],
    }
    return {**task, **changes}
