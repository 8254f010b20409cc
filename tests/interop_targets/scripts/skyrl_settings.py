"""Settings that SkyRL's configuration does not have, by its source: SkyRL runs on Python 3.12 alone. `FILE`."""

import ast
import json
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

spec = find_spec("skyrl")
assert spec is not None
assert spec.submodule_search_locations is not None
source = Path(spec.submodule_search_locations[0]) / "train" / "config" / "config.py"
tree = ast.parse(source.read_text("utf-8"))
classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def fields(name: str) -> dict[str, str]:
    """The fields of a class and of its bases, with their annotations."""
    node = classes.get(name)
    if node is None:
        return {}
    inherited = [fields(base.id) for base in node.bases if isinstance(base, ast.Name)]
    own = {
        line.target.id: ast.unparse(line.annotation)
        for line in node.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    }
    return {key: value for each in [*inherited, own] for key, value in each.items()}


def unknown(settings: dict[str, Any], name: str, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Dotted names of settings without a field."""
    known = fields(name)
    for key, value in settings.items():
        if key not in known:
            yield ".".join((*path, key))
        elif isinstance(value, dict):
            yield from unknown(value, known[key].removeprefix("Optional[").removesuffix("]"), (*path, key))


settings = yaml.safe_load(Path(sys.argv[1]).read_text("utf-8"))
print(json.dumps({"unknown": [*unknown(settings, "SkyRLTrainConfig")], "fields": len(fields("SkyRLTrainConfig"))}))
