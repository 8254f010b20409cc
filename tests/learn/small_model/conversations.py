"""Small conversations for the tests of the small model."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SYSTEM = """You are the assistant of Harbour Rooms. You talk with one user.

- Now: 2025-03-17 09:00:00 (UTC). Today is Monday, 2025-03-17.
- The user is signed in.

# Manual

Rule R7: nothing of this is seen.
"""
NAMES = ("Garden Triple", "Market Double", "Courtyard Single")
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "find_rooms",
            "parameters": {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]},
        },
    },
    {
        "type": "function",
        "function": {
            "name": "book_room",
            "parameters": {
                "type": "object",
                "properties": {
                    "room_id": {"type": "string"},
                    "guests": {"type": "integer"},
                    "plan": {"type": "string", "enum": ["flexible", "saver"]},
                },
                "required": ["room_id", "guests", "plan"],
            },
        },
    },
]


def call(name: str, **arguments: object) -> dict[str, Any]:
    """An assistant's message with one call."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "tool_calls": [{"id": "call00001", "type": "function", "function": function}]}


def a_conversation(number: int = 0) -> dict[str, Any]:
    """A room is found and booked; ids, days and the chosen room differ by number."""
    wanted, day, guests = NAMES[number % len(NAMES)], 1 + number % 28, 1 + number % 3
    rooms = [{"room_id": f"HRROO-{number:03}{place}", "name": name} for place, name in enumerate(NAMES)]
    booked = next(room["room_id"] for room in rooms if room["name"] == wanted)
    return {
        "messages": [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": f"The {wanted} for {guests} on {day} April, on the saver plan, please."},
            call("find_rooms", day=f"2025-04-{day:02}"),
            {"role": "tool", "tool_call_id": "call00001", "content": json.dumps(rooms)},
            call("book_room", room_id=booked, guests=guests, plan="saver"),
            {"role": "tool", "tool_call_id": "call00001", "content": '{"total_cents": 12900}'},
            {"role": "assistant", "content": f"I have booked the {wanted}; it is 129.00 on {day} April 2025."},
        ],
        "tools": TOOLS,
    }


def write_conversations(path: Path, count: int) -> Path:
    """A file of conversations."""
    rows: list[Mapping[str, Any]] = [a_conversation(number) for number in range(count)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path
