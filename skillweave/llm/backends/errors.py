"""What an SDK's error says, and which field of the request to leave out after it.

Errors are read by what they carry (status, code, words), since each SDK has its own classes, and endpoints that
only resemble the original use other words. An endpoint that does not support an optional field is asked again
without it, and is not sent that field any more. Messages, model and tools are never left out.
"""

import hashlib
import json
import logging
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from skillweave.base.errors import AccessError, ProviderError
from skillweave.llm.backends.body import BodyError, SentError, TooLargeError
from skillweave.schema.record import Json

FULL: Final = (
    "context_length_exceeded",
    "exceed_context_size",
    "exceed context limit",
    "context length",
    "context window",
    "context size",
    "maximum model length",
    "max_model_len",
    "prompt is too long",
)
REFUSED: Final = (
    "content_filter",
    "content_policy_violation",
    "content filtering policy",
    "content management policy",
    "invalid_prompt",
)
LOCKED: Final = (401, 402, 403, 404)
"""What an endpoint answers to everybody who comes with this key for this model."""
REDIRECTS: Final = range(300, 400)
SPENT: Final = ("insufficient_quota", "billing_hard_limit_reached")
"""Codes of an account that can pay for nothing more: no wait helps."""
ADVICE: Final = {
    **dict.fromkeys(REDIRECTS, "it redirects elsewhere, and nobody is followed; give that address as base_url"),
    401: "check the key",
    403: "check the key",
    404: "check the model's name and base_url",
}
UNREACHED: Final = ("Cannot connect to host", "Server disconnected")
COMPLAINTS: Final = (400, 422)
WRONG_REQUEST: Final = ("invalid_request_error", "BadRequestError", "unsupported_parameter", "unsupported_value")
"""How errors in a stream, which have no status, name a complaint."""
SHOWN = 400
READ = 4000
"""Characters of an error's words that are looked into."""
WORTH_ANOTHER_TRY: Final = (408, 409, 429)


@dataclass(frozen=True)
class ErrorReport:
    """Why there is no answer, without the secret."""

    what: str
    """The kind of fault, for people."""
    words: str = ""
    """On one line."""
    status: int | None = None
    """The HTTP status, or the one that an error in a stream carries in its place."""
    code: str = ""
    """The endpoint's own name for what went wrong; empty where it gives none."""
    param: str = ""
    """The field of the request that it complains of, if it says so."""
    is_quoted: bool = False
    """Whether the words are made of what should have been an answer."""
    transient: bool = False

    @property
    def no_longer_fits(self) -> bool:
        """Whether the conversation is longer than the model's context window."""
        return self.status in (None, 400, 413, 422) and self._says(FULL)

    @property
    def content_refused(self) -> bool:
        """Whether the endpoint does not want to have the content answered."""
        return self.status in (None, 400, 403) and self._says(REFUSED)

    @property
    def is_complaint(self) -> bool:
        """Whether the request is what is wrong."""
        return self.status in COMPLAINTS or (self.status is None and self.code in WRONG_REQUEST)

    def error(self, name: str) -> ProviderError:
        """Our own error: one line."""
        said = ": ".join(part for part in (name, self.what, self.words[:SHOWN]) if part)
        advice = ADVICE.get(self.status or 0)
        kind = AccessError if self.code in SPENT or self.status in (*LOCKED, *REDIRECTS) else ProviderError
        return kind(f"{said} ({advice})" if advice else said, transient=self.transient)

    def _says(self, marks: tuple[str, ...]) -> bool:
        words = f"{self.code} {self.words}".lower()
        return not self.is_quoted and any(mark in words for mark in marks)


def error_report(error: Exception, secret: str | None) -> ErrorReport:
    """What the error of an SDK, of the transport below it, or of reading an answer says."""
    if isinstance(error, BodyError | TooLargeError):
        # What they quote is nobody's error message.
        words = _one_line(str(error), secret)
        return ErrorReport("no usable answer", words, is_quoted=True, transient=isinstance(error, BodyError))
    status = _status(error)
    details = _details(error)
    what = f"status {status}" if status else "an error" if isinstance(error, SentError) else type(error).__name__
    cause = str(error.__cause__ or "") if status is None else ""
    said = str(details.get("message") or error)
    if cause.startswith(UNREACHED):
        # The transport below the SDKs calls this a timeout, too.
        what, said = "not reached", ""
    code = str(_code(error) or "")
    return ErrorReport(
        what=what,
        words=_one_line(f"{said[:READ]} {cause[:READ]}", secret),
        status=status,
        code=code,
        param=str(details.get("param") or ""),
        transient=_is_transient(status, code),
    )


def _is_transient(status: int | None, code: str) -> bool:
    if code in SPENT:
        return False
    return status >= 500 or status in WORTH_ANOTHER_TRY if status else code not in WRONG_REQUEST


def _one_line(text: str, secret: str | None) -> str:
    """Without the secret, and without what a terminal would take for a command."""
    words = " ".join(text.split())
    shown = "".join(character if character.isprintable() else "?" for character in words)
    return shown if secret is None else shown.replace(secret, "***")


def _status(error: Exception) -> int | None:
    status: int | None = getattr(error, "status_code", None)
    if status is not None and status in REDIRECTS:
        return status
    if status is None or status < 400:
        code = str(_code(error))
        status = int(code) if code.isdecimal() and len(code) == 3 else None
    return status if status is not None and 400 <= status < 600 else None


def _code(error: Exception) -> object:
    details = _details(error)
    return details.get("code") or details.get("type") or vars(error).get("code")


def _details(error: Exception) -> Mapping[str, object]:
    """The error as the endpoint wrote it, if it wrote one."""
    body = vars(error).get("body")
    inner = body.get("error", body) if isinstance(body, dict) else None
    return inner if isinstance(inner, dict) else {}


logger = logging.getLogger(__name__)

MOST_CHANGES = 6
"""Concessions made to one request."""
LEAST_LIMIT = 256
"""Tokens; numbers below are no limits."""
NUMBER = re.compile(r"(?<![\w.-])\d{3,9}(?![\w-]|\.\d)")
UNKNOWN = re.compile(r"not supported|unsupported|unknown|not permitted|unrecognized|instead", re.IGNORECASE)
NEVER_CHANGED = ("model", "messages", "input", "instructions", "system", "tools", "tool_choice", "stream")
"""What is asked, and of whom."""
REASON_SHOWN = 200

FieldPath = tuple[str, ...]


@dataclass(frozen=True)
class OptionalField:
    """A field that a request can do without."""

    path: FieldPath
    words: str
    """Pattern of what endpoints call it in their complaints."""
    is_limit: bool = False
    """A limit on tokens: lowered or renamed, never dropped."""
    instead: str | None = None
    """The other name of the limit."""


@dataclass(frozen=True)
class FieldChange:
    path: FieldPath
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


class UnsupportedFields:
    def __init__(self, name: str, fields: Sequence[OptionalField], schema_path: FieldPath) -> None:
        """`name` is the backend's; what is at `schema_path` is given up schema by schema."""
        self._name = name
        self._fields = fields
        self._schema_path = schema_path
        self._made: dict[tuple[FieldPath, str], FieldChange] = {}
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

    def find(self, body: Mapping[str, Any], fault: ErrorReport) -> FieldChange | None:
        """What could be done about a complaint; None where nothing can."""
        if not fault.is_complaint:
            return None
        present = [field for field in self._fields if has_field(body, field.path)]
        # What the endpoint says it complains of comes before what else its words name.
        named = [field for field in present if _is_param(field, fault.param)]
        if not named and re.split(r"\W", fault.param)[0] not in NEVER_CHANGED:
            named = [field for field in present if re.search(field.words, fault.words, re.IGNORECASE)]
        found = (_field_change(field, body, fault) for field in named)
        return next((concession for concession in found if concession is not None), None)

    def remember(self, concessions: Sequence[FieldChange], schema: Mapping[str, Json] | None) -> None:
        """The request succeeded with these."""
        for concession in concessions:
            key = (concession.path, _digest(schema) if concession.path == self._schema_path else "")
            with self._lock:
                is_news = all(path != concession.path for path, _ in self._made)
                self._made[key] = concession
            if is_news:
                logger.warning("%s: %s from now on: %s", self._name, concession.told, concession.why)


def has_field(body: Mapping[str, Any], path: FieldPath) -> bool:
    """Whether the body has something there."""
    found: Any = body
    for name in path:
        if not isinstance(found, Mapping) or name not in found:
            return False
        found = found[name]
    return True


def _is_param(field: OptionalField, param: str) -> bool:
    dotted = ".".join(field.path)
    return param in (dotted, field.path[0]) or param.startswith(f"{dotted}.")


def _field_change(field: OptionalField, body: Mapping[str, Any], fault: ErrorReport) -> FieldChange | None:
    why = fault.words[:REASON_SHOWN]
    if not field.is_limit:
        return FieldChange(field.path, why=why)
    if field.instead is not None and UNKNOWN.search(fault.words):
        return FieldChange(field.path, instead=field.instead, why=why)
    allowed = [int(digits) for digits in NUMBER.findall(fault.words)]
    lower = [number for number in allowed if LEAST_LIMIT <= number < body[field.path[0]]]
    return FieldChange(field.path, most=max(lower), why=why) if lower else None


def _digest(schema: Mapping[str, Json] | None) -> str:
    return hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest()
