"""Render an export with the chat templates of model families, as TRL ships them: `FOLDER FORMAT TEMPLATE...`.

Rows are read as the card of the export says. Prints for each template the number of texts, and what they lack.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rendered import lacking, tokenizer_of_bytes

folder, format, *names = sys.argv[1:]
spec = find_spec("trl")
assert spec is not None
assert spec.origin is not None
TEMPLATES = Path(spec.origin).parent / "chat_templates"
PROMPTS = ("verl", "skyrl", "hub")
SPEAKERS = {"human": "user", "gpt": "assistant"}


def code_under(heading: str) -> str:
    found = re.search(rf"## {heading}\n\n```python\n(.*?)\n```", Path("README.md").read_text("utf-8"), re.DOTALL)
    assert found is not None, heading
    return found[1]


os.chdir(folder)
scope: dict[str, Any] = {}
exec(code_under("Training" if format == "steps" else "Loading"), scope)


def conversations() -> Iterator[tuple[list[Any], list[Any]]]:
    """Messages, with arguments as objects, and tools."""
    if format == "steps":
        for row in scope["steps"]:
            messages, tools = scope["chat"](row)
            yield messages, tools
    elif format in PROMPTS:
        for row in scope["dataset"]["train"]:
            yield row["prompt"], json.loads(row["tools"]) if "tools" in row else []
    elif format == "agenttraj":
        for row in scope["trajectories"]:
            yield [{"role": SPEAKERS[turn["from"]], "content": turn["value"]} for turn in row["conversations"]], []
    elif format == "dpo":
        for row in scope["rows"]:
            for end in ("chosen", "rejected"):
                yield row["prompt"] + row[end], json.loads(row["tools"])
    elif format == "openai":
        # Servers in OpenAI's form read arguments before a chat template sees them.
        for row in scope["rows"]:
            for call in (call for message in row["messages"] for call in message.get("tool_calls", ())):
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
            yield row["messages"], row["tools"]
    else:
        for row in scope["rows"]:
            yield row["messages"], json.loads(row["tools"])


told: dict[str, Any] = {}
every = list(conversations())
for name in names:
    tokenizer = tokenizer_of_bytes((TEMPLATES / f"{name}.jinja").read_text("utf-8"))
    lacks: list[str] = []
    for messages, tools in every:
        text = tokenizer.apply_chat_template(messages, tools=tools or None, tokenize=False)
        calls = [call["function"] for message in messages for call in message.get("tool_calls") or ()]
        results = [message["content"] for message in messages if message["role"] == "tool"]
        lacks += lacking(text, calls, results, [tool["function"]["name"] for tool in tools])
        lacks += [one["content"] for one in messages if one["role"] == "user" and one["content"].strip() not in text]
    told[name] = {"texts": len(every), "lacks": lacks[:5]}
print(json.dumps(told))
