"""Render an export with ms-swift's own templates: `FILE ROWS TEMPLATE/AGENT...`.

Prints for each pair of a template and an agent template the number of texts, and what they lack, or what it raised.
"""

import json
import sys
from types import SimpleNamespace
from typing import Any

from datasets import load_dataset
from rendered import lacking, tokenizer_of_bytes
from swift.dataset import MessagesPreprocessor
from swift.template import get_template

file, most, *names = sys.argv[1], int(sys.argv[2]), *sys.argv[3:]
loaded = load_dataset("json", data_files=file)["train"]
rows = sorted(MessagesPreprocessor()(loaded, strict=True), key=lambda row: len(row["messages"]), reverse=True)[:most]


def processor_of_bytes() -> Any:
    """With what ms-swift notes of a model when it loads one."""
    tokenizer = tokenizer_of_bytes()
    tokenizer.model_info = SimpleNamespace(
        model_type="none",
        max_model_len=1 << 20,
        torch_dtype=None,
        task_type="causal_lm",
        config=None,
        rope_scaling=None,
        quant_method=None,
        quant_bits=None,
        model_dir="none",
    )
    tokenizer.model_meta = SimpleNamespace(template=None, is_multimodal=False, model_type="none", is_reward=False)
    return tokenizer


def rendered(name: str) -> dict[str, Any]:
    template_type, _, agent = name.partition("/")
    tokenizer = processor_of_bytes()
    template = get_template(tokenizer, template_type=template_type, agent_template=agent)
    template.set_mode("train")
    lacks: list[str] = []
    for row in rows:
        text = tokenizer.decode(template.encode({"messages": row["messages"], "tools": row["tools"]})["input_ids"])
        calls = [json.loads(one["content"]) for one in row["messages"] if one["role"] == "tool_call"]
        results = [one["content"] for one in row["messages"] if one["role"] in ("tool", "tool_response")]
        tools = json.loads(row["tools"]) if isinstance(row["tools"], str) else row["tools"]
        lacks += lacking(text, calls, results, [tool["function"]["name"] for tool in tools])
    return {"texts": len(rows), "lacks": lacks[:5]}


told: dict[str, Any] = {}
for name in names:
    try:
        told[name] = rendered(name)
    except Exception as error:  # what a template raises is what is asked about
        told[name] = {"raised": f"{type(error).__name__}: {error}"[:300]}
print(json.dumps(told))
