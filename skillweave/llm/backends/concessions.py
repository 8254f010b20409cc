"""Concessions: what an endpoint did not take, and is not sent again.

Endpoints and models differ in what they know of a common API. One that complains of a field which a request can do
without is asked again without it, or with what stands for it; what then succeeded is remembered, and said once. What is
asked and of whom (messages, model, tools) is never given up, and the limit on tokens never dropped.
"""

import hashlib
import json
import logging
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillweave.llm.backends.fault import Fault
from skillweave.schema.record import Json

logger = logging.getLogger(__name__)

MOST = 6
"""Concessions made to one request."""
LEAST_LIMIT = 256
"""Tokens; numbers below are no limits."""
NUMBER = re.compile(r"(?<![\w.-])\d{3,9}(?![\w-]|\.\d)")
UNKNOWN = re.compile(r"not supported|unsupported|unknown|not permitted|unrecognized|instead", re.IGNORECASE)
KEPT = ("model", "messages", "input", "instructions", "system", "tools", "tool_choice", "stream")
"""What is asked, and of whom."""
SHOWN = 200

Path = tuple[str, ...]


@dataclass(frozen=True)
class Dispensable:
    """A field that a request can do without."""

    path: Path
    words: str
    """Pattern of what endpoints call it in their complaints."""
    is_limit: bool = False
    """A limit on tokens: lowered or renamed, never dropped."""
    instead: str | None = None
    """The other name of the limit."""


@dataclass(frozen=True)
class Concession:
    path: Path
    instead: str | None = None
    most: int | None = None
    """What the value is lowered to."""
    why: str = ""

    def applied(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body, with the concession made; `body` stays as it is."""
        name, *below = self.path
        changed = dict(body)
        if name not in changed:
            return changed
        value = changed.pop(name)
        if self.most is not None:
            changed[name] = min(value, self.most)
        elif self.instead is not None:
            changed[self.instead] = value
        elif below and isinstance(value, dict):
            left = {key: part for key, part in value.items() if key != below[0]}
            changed |= {name: left} if left else {}
        return changed

    @property
    def told(self) -> str:
        """What was done, for people."""
        field = ".".join(self.path)
        if self.most is not None:
            return f"{field} is lowered to {self.most}"
        return f"{field} is left out" if self.instead is None else f"{field} is sent as {self.instead}"


class Concessions:
    def __init__(self, name: str, fields: Sequence[Dispensable], schema_path: Path) -> None:
        """`name` is the backend's; what is at `schema_path` is given up schema by schema."""
        self._name = name
        self._fields = fields
        self._schema_path = schema_path
        self._made: dict[tuple[Path, str], Concession] = {}
        self._lock = threading.Lock()

    def applied(self, body: dict[str, Any], schema: Mapping[str, Json] | None) -> dict[str, Any]:
        """The body of a request for an answer of that schema, with the concessions made so far."""
        if not self._made:
            return body
        digest = _digest(schema)
        with self._lock:
            made = [concession for (_, only), concession in self._made.items() if only in ("", digest)]
        for concession in made:
            body = concession.applied(body)
        return body

    def find(self, body: Mapping[str, Any], fault: Fault) -> Concession | None:
        """What could be done about a complaint; None where nothing can."""
        if not fault.is_complaint:
            return None
        present = [field for field in self._fields if has(body, field.path)]
        # What the endpoint says it complains of comes before what else its words name.
        named = [field for field in present if _is_param(field, fault.param)]
        if not named and re.split(r"\W", fault.param)[0] not in KEPT:
            named = [field for field in present if re.search(field.words, fault.words, re.IGNORECASE)]
        found = (_concession(field, body, fault) for field in named)
        return next((concession for concession in found if concession is not None), None)

    def remember(self, concessions: Sequence[Concession], schema: Mapping[str, Json] | None) -> None:
        """The request succeeded with these."""
        for concession in concessions:
            key = (concession.path, _digest(schema) if concession.path == self._schema_path else "")
            with self._lock:
                is_news = all(path != concession.path for path, _ in self._made)
                self._made[key] = concession
            if is_news:
                logger.warning("%s: %s from now on: %s", self._name, concession.told, concession.why)


def has(body: Mapping[str, Any], path: Path) -> bool:
    """Whether the body has something there."""
    found: Any = body
    for name in path:
        if not isinstance(found, Mapping) or name not in found:
            return False
        found = found[name]
    return True


def _is_param(field: Dispensable, param: str) -> bool:
    dotted = ".".join(field.path)
    return param in (dotted, field.path[0]) or param.startswith(f"{dotted}.")


def _concession(field: Dispensable, body: Mapping[str, Any], fault: Fault) -> Concession | None:
    why = fault.words[:SHOWN]
    if not field.is_limit:
        return Concession(field.path, why=why)
    if field.instead is not None and UNKNOWN.search(fault.words):
        return Concession(field.path, instead=field.instead, why=why)
    allowed = [int(digits) for digits in NUMBER.findall(fault.words)]
    lower = [number for number in allowed if LEAST_LIMIT <= number < body[field.path[0]]]
    return Concession(field.path, most=max(lower), why=why) if lower else None


def _digest(schema: Mapping[str, Json] | None) -> str:
    return hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest()
