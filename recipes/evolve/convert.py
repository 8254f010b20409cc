"""Bring the data of `learn evolve` into a trainer's form: `python recipes/evolve/convert.py trl DATA FOLDER`.

DATA has a conversation a line, with messages and tools in OpenAI's form. `trl` writes what `interop export trl-sft`
writes, `llamafactory` what `interop export sharegpt` writes.
"""

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from interop.export.formats.sharegpt import dataset_info, turns_of
from interop.export.formats.trl_sft import chat_messages
from skillweave.schema.trajectory import Message

Row = dict[str, Any]


def of_trl(messages: list[Message], tools: list[Mapping[str, Any]]) -> Row:
    """A row for TRL."""
    return {"messages": chat_messages(messages), "tools": json.dumps(tools, ensure_ascii=False)}


def of_llamafactory(messages: list[Message], tools: list[Mapping[str, Any]]) -> Row:
    """A row for LLaMA-Factory."""
    functions = json.dumps([tool["function"] for tool in tools], ensure_ascii=False)
    return {"conversations": turns_of(messages[1:]), "system": messages[0].content or "", "tools": functions}


FORMS: Mapping[str, Callable[[list[Message], list[Mapping[str, Any]]], Row]] = {
    "trl": of_trl,
    "llamafactory": of_llamafactory,
}


def main() -> None:
    """Convert."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("form", choices=FORMS)
    parser.add_argument("data", type=Path, help="the file of conversations")
    parser.add_argument("folder", type=Path, help="where the trainer finds its dataset")
    given = parser.parse_args()
    rows = []
    for text in given.data.read_text("utf-8").splitlines():
        line = json.loads(text)
        messages = [{key: value for key, value in message.items() if key != "weight"} for message in line["messages"]]
        rows.append(FORMS[given.form]([Message.model_validate(message) for message in messages], line["tools"]))
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.form == "trl":
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (given.folder / "train.jsonl").write_text(lines, "utf-8")
        return
    (given.folder / "train.json").write_text(json.dumps(rows, ensure_ascii=False), "utf-8")
    for name, text in dataset_info(["train"], {}).items():
        (given.folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
