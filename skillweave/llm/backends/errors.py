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
from http import HTTPStatus
from typing import Any, Final

from skillweave.base.errors import AccessError, ProviderError
from skillweave.base.proxy import Proxy
from skillweave.llm.backends.body import BodyError, SentError, TooLargeError, error_details, words_of
from skillweave.schema.record import Json

logger = logging.getLogger(__name__)

MOST_CHANGES = 6
"""Changes to the body of one request."""
LEAST_LIMIT = 256
"""Numbers below are no limits of tokens."""
NUMBER = re.compile(r"(?<![\w.-])\d{3,9}(?![\w-]|\.\d)")
UNKNOWN = re.compile(r"not supported|unsupported|unknown|not permitted|unrecognized|instead", re.IGNORECASE)
FieldPath = tuple[str, ...]
"""Where a field stands in a body: its name, after the names of the objects around it."""
WANTED = re.compile(r"\bmust be passed\b|\bmissing\b|\brequired\b", re.IGNORECASE)
"""By these words an endpoint asks for a field, as DeepSeek does for reasoning, and does not refuse it."""
REFUSED = re.compile(
    r"not supported|unsupported|unknown|not (permitted|allowed)|unrecognized|unexpected", re.IGNORECASE
)
"""By these words it refuses a field, whatever else is required."""
FAULTS = re.compile(r"[;.]\s")
"""Ends of faults and sentences: one may demand a field, and the next refuse another."""
EACH = "[]"
"""In a path: every element of a list."""
MESSAGE_FIELDS: Final[Mapping[FieldPath, frozenset[str]]] = {
    ("messages", EACH): frozenset({"role", "content", "name", "tool_calls", "tool_call_id"}),
    ("messages", EACH, "tool_calls", EACH): frozenset({"id", "type", "function"}),
    ("messages", EACH, "tool_calls", EACH, "function"): frozenset({"name", "arguments"}),
}
"""Path -> the fields of the chat API there. All others are what an endpoint added to a reply, and may do without."""
NEVER_CHANGED = ("model", "messages", "input", "instructions", "system", "tools", "tool_choice", "stream")
"""Fields that say what is asked, and of whom."""
REASON_SHOWN = 200

CONTEXT_EXCEEDED: Final = (
    "context_length_exceeded",
    "exceed_context_size",
    "exceed context limit",
    "context length",
    "context window",
    "context size",
    "maximum model length",
    "max_model_len",
    "prompt is too long",
    "prompt too long",
    "input is too long",  # Bedrock
    "input token count",  # Gemini
    "prompt token count",  # GitHub's models
    "maximum prompt length",  # xAI
    "maximum input length",
    "maximum allowed length",  # SGLang
    "`inputs` tokens + `max_new_tokens` must be",  # TGI
    "`inputs` must have less than",  # Together
    "reduce the length of the messages",  # Groq
    "range of input length should be",  # Qwen
    "exceeded model token limit",  # Kimi
    "too many tokens: size limit exceeded",  # Cohere
)
FAULT_CONTEXT_EXCEEDED: Final = (
    "exceeds maximum context length",
    "exceeds the maximum context length",
    "exceeded maximum context length",
    "exceeded max context length",
    "exceeds the context length",
    "exceeds the available context size",
    "maximum context length is",
    "maximum context length exceeded",
    "context_length_exceeded",
)
"""Whole statements, by which Ollama and llama.cpp say so with status 500: words alone may speak of the server."""
CONTENT_REFUSED: Final = (
    "content_filter",
    "content_policy_violation",
    "content filtering policy",
    "content management policy",
    "invalid_prompt",
)
NO_ACCESS: Final = (401, 402, 403, 404, 407)
"""Statuses that every request with this key for this model would get."""
REDIRECTS: Final = range(300, 400)
NO_CREDIT: Final = ("insufficient_quota", "billing_hard_limit_reached")
"""Codes of an account without credit: waiting does not help."""
ADVICE: Final = {
    **dict.fromkeys(REDIRECTS, "it redirects elsewhere, and redirects are not followed; give that address as base_url"),
    401: "check the key",
    403: "check the key",
    404: "check the model's name and base_url",
    407: "give the proxy's user and password in its variable: http://user:password@host:port",
}
UNREACHED: Final = ("Cannot connect to host", "Server disconnected", "[Errno ")
BAD_REQUEST: Final = (400, 422)
WRONG_REQUEST: Final = ("invalid_request_error", "BadRequestError", "unsupported_parameter", "unsupported_value")
"""Codes by which an error in a stream, which has no status, says that the request is wrong."""
SHOWN = 400
"""Characters of an error's words that our own error shows."""
READ = 4000
"""Characters of an error's words that are searched."""
RETRIED: Final = (408, 409, 429)


@dataclass(frozen=True)
class ErrorReport:
    """Why there is no answer; the key is removed from it."""

    what: str
    """The kind of error, for people."""
    words: str = ""
    """The endpoint's message, on one line."""
    status: int | None = None
    """The HTTP status, or the one that an error in a stream carries instead."""
    code: str = ""
    """The endpoint's own name for the error; empty if it gives none."""
    param: str = ""
    """The field of the request that is wrong, if the endpoint says so."""
    is_quoted: bool = False
    """Whether the words quote what should have been an answer, and so say nothing of the endpoint."""
    transient: bool = False
    """Whether the same request may succeed at once."""

    @property
    def exceeds_context(self) -> bool:
        """Whether the conversation is longer than the model's context window."""
        if self.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            return self._says(FAULT_CONTEXT_EXCEEDED)
        return self.status in (None, 400, 413, 422) and self._says(CONTEXT_EXCEEDED)

    @property
    def refuses_content(self) -> bool:
        """Whether the endpoint refuses to have the content answered."""
        return self.status in (None, 400, 403) and self._says(CONTENT_REFUSED)

    @property
    def blames_request(self) -> bool:
        """Whether the endpoint says that the request is wrong."""
        if self.status is not None:
            return self.status in BAD_REQUEST
        # In a stream, and in a body with status 200, some send nothing but words, or codes of their own.
        says_so = not self.is_quoted and UNKNOWN.search(self.words) is not None
        return self.code in WRONG_REQUEST or says_so

    def error(self, name: str, proxy: Proxy | None = None) -> ProviderError:
        """Our own error, of one line.

        Args:
            name: The backend's.
            proxy: What the request went through, which may have answered in the endpoint's place.
        """
        what = self.what if proxy is None else f"{self.what} through {proxy}"
        message = ": ".join(part for part in (name, what, self.words[:SHOWN]) if part)
        advice = ADVICE.get(self.status or 0)
        if proxy is not None and self.status == HTTPStatus.FORBIDDEN:
            advice = f"{advice}, and whether the proxy allows the address"
        kind = AccessError if self.code in NO_CREDIT or self.status in (*NO_ACCESS, *REDIRECTS) else ProviderError
        return kind(f"{message} ({advice})" if advice else message, transient=self.transient)

    def _says(self, marks: tuple[str, ...]) -> bool:
        words = f"{self.code} {self.words}".lower()
        return not self.is_quoted and any(mark in words for mark in marks)


def error_report(error: Exception, secret: str | None) -> ErrorReport:
    """Read an error of an SDK, of the transport below it, or of reading an answer.

    Args:
        error: As it was raised.
        secret: The key, which is removed from all words; None if there is none.
    """
    if isinstance(error, BodyError | TooLargeError):
        # They quote an answer, which is no error message of the endpoint.
        words = _one_line(str(error), secret)
        return ErrorReport("no usable answer", words, is_quoted=True, transient=isinstance(error, BodyError))
    status, at_proxy = _status(error), _proxy_status(error)
    details = _details(error)
    if at_proxy is not None:
        # It does not open a tunnel. The endpoint was not reached; the SDK knows of no status.
        what = f"not reached, status {at_proxy}"
        return ErrorReport(
            what, _one_line(str(error.__cause__), secret), at_proxy, transient=_is_transient(at_proxy, "")
        )
    what = f"status {status}" if status else "an error" if isinstance(error, SentError) else type(error).__name__
    cause = str(error.__cause__ or "") if status is None else ""
    message = words_of(_body(error)) or str(error)
    location = _location(error) if status in REDIRECTS else ""
    if location:
        message = f"to {location!r}"
    if cause.startswith(UNREACHED):
        # The transport below the SDKs reports a failed connection as a timeout.
        what, message = "not reached", ""
    code = str(_code(error) or "")
    return ErrorReport(
        what=what,
        words=_one_line(f"{message[:READ]} {cause[:READ]}", secret),
        status=status,
        code=code,
        param=str(details.get("param") or ""),
        transient=_is_transient(status, code),
    )


def _is_transient(status: int | None, code: str) -> bool:
    if code in NO_CREDIT:
        return False
    return status >= 500 or status in RETRIED if status else code not in WRONG_REQUEST


def _one_line(text: str, secret: str | None) -> str:
    """The text on one line, without the secret, and without control characters that a terminal would obey."""
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


def _location(error: Exception) -> str:
    """Where a redirect points."""
    response = vars(error).get("response")
    return "" if response is None else str(response.headers.get("location") or "")


def _proxy_status(error: Exception) -> int | None:
    """The status with which a proxy refused a tunnel; None if none did. The transport's error lies below the SDK's."""
    below = error.__cause__ and error.__cause__.__cause__
    status = getattr(below, "status", None)
    return status if type(below).__name__ == "ClientHttpProxyError" and isinstance(status, int) else None


def _code(error: Exception) -> object:
    details = _details(error)
    return details.get("code") or details.get("type") or vars(error).get("code")


def _details(error: Exception) -> Mapping[str, object]:
    """The error as the endpoint wrote it, if it wrote one."""
    return error_details(_body(error))


def _body(error: Exception) -> object:
    # The SDKs keep the field `error` alone, and of `{"error": true, "message": ...}` nothing but that.
    response = vars(error).get("response")
    try:
        content: bytes = response.content if response is not None else b""
    except Exception:  # of the HTTP library: the body was not read
        return vars(error).get("body")
    if not content:
        return vars(error).get("body")
    # Servers on Windows send UTF-8 with a byte order mark, or UTF-16. What is neither is shown as the library reads it.
    encoding = json.detect_encoding(content)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        text = str(response.text)  # type: ignore[union-attr]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


@dataclass(frozen=True)
class OptionalField:
    """A field that a request can do without."""

    path: FieldPath
    words: str
    """Pattern of what endpoints call the field in their errors."""
    is_limit: bool = False
    """Whether it limits tokens: it is lowered or renamed, never left out."""
    instead: str | None = None
    """Another name of the limit."""


@dataclass(frozen=True)
class FieldChange:
    """A field that is left out, renamed, or lowered."""

    path: FieldPath
    instead: str | None = None
    """The new name."""
    most: int | None = None
    """The value that it is lowered to."""
    why: str = ""
    """The endpoint's words."""

    def applied(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A copy of a body with the change made."""
        if EACH in self.path:
            return {**_without(body, self.path)}
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
    def in_words(self) -> str:
        """What was changed, for people."""
        field = ".".join(self.path).replace(f".{EACH}", EACH)
        if self.most is not None:
            return f"{field} is lowered to {self.most}"
        return f"{field} is left out" if self.instead is None else f"{field} is sent as {self.instead}"


class UnsupportedFields:
    """What an endpoint was found not to support. It is kept for the life of the backend, and logged once."""

    def __init__(self, name: str, fields: Sequence[OptionalField], schema_path: FieldPath) -> None:
        """Args:
        name: The backend's.
        fields: What a request can do without, in the order in which it is given up.
        schema_path: Where a body has the answer's schema; it is given up for each schema by itself.
        """
        self._name = name
        self._fields = fields
        self._schema_path = schema_path
        self._changes: dict[tuple[FieldPath, str], FieldChange] = {}
        """By path, and by the schema's digest if the change holds for one schema alone."""
        self._lock = threading.Lock()

    def applied(self, body: dict[str, Any], schema: Mapping[str, Json] | None) -> dict[str, Any]:
        """A body with all known changes made.

        Args:
            body: Of a request; it stays as it is.
            schema: Of the answer; None if the answer is not JSON.
        """
        if not self._changes:
            return body
        digest = _digest(schema)
        with self._lock:
            changes = [change for (_, only), change in self._changes.items() if only in ("", digest)]
        for change in changes:
            body = change.applied(body)
        return body

    def find(self, body: Mapping[str, Any], report: ErrorReport) -> FieldChange | None:
        """The change after which the endpoint may take a body; None if there is none."""
        if not report.blames_request:
            return None
        present = [field for field in self._fields if has_field(body, field.path)]
        # The field that the endpoint names as wrong comes before others that its words mention.
        named = [field for field in present if _is_param(field, report.param)]
        if not named and re.split(r"\W", report.param)[0] not in NEVER_CHANGED:
            named = [field for field in present if re.search(field.words, report.words, re.IGNORECASE)]
        if "must be passed back" in report.words:
            # DeepSeek's "reasoning_content in the thinking mode must be passed back" is no word against the effort.
            return None
        if not named:
            named = [field for field in _added_fields(body) if _is_refused(field, report)]
        changes = (_field_change(field, body, report) for field in named)
        return next((change for change in changes if change is not None), None)

    def remember(self, changes: Sequence[FieldChange], schema: Mapping[str, Json] | None) -> None:
        """Keep changes with which a request has succeeded."""
        for change in changes:
            key = (change.path, _digest(schema) if change.path == self._schema_path else "")
            with self._lock:
                is_news = all(path != change.path for path, _ in self._changes)
                self._changes[key] = change
            if is_news:
                logger.warning("%s: %s from now on: %s", self._name, change.in_words, change.why)


def has_field(body: Mapping[str, Any], path: FieldPath) -> bool:
    """Whether a body has a field."""
    value: Any = body
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return False
        value = value[name]
    return True


def _added_fields(body: Mapping[str, Any]) -> list[OptionalField]:
    """The fields of messages and calls that an endpoint once added, and that go back to it."""
    found: dict[FieldPath, None] = {}
    for path, known in MESSAGE_FIELDS.items():
        for part in _parts_at(body, path):
            found |= {(*path, name): None for name in part if name not in known}
    return [OptionalField(path, rf"\b{re.escape(path[-1])}\b") for path in found]


def _parts_at(body: Mapping[str, Any], path: FieldPath) -> list[Mapping[str, Any]]:
    """The objects of a body at a path."""
    parts: list[Any] = [body]
    for name in path:
        if name == EACH:
            parts = [element for part in parts if isinstance(part, list) for element in part]
        else:
            parts = [part[name] for part in parts if isinstance(part, Mapping) and name in part]
    return [part for part in parts if isinstance(part, Mapping)]


def _without(part: Any, path: FieldPath) -> Any:
    """A copy of what a body holds, without the field at a path."""
    name, *below = path
    if name == EACH:
        return [_without(element, tuple(below)) for element in part] if isinstance(part, list) else part
    if not isinstance(part, Mapping) or name not in part:
        return part
    if below:
        return {**part, name: _without(part[name], tuple(below))}
    return {key: value for key, value in part.items() if key != name}


def _is_refused(field: OptionalField, report: ErrorReport) -> bool:
    """Whether an error is about a field of messages, and does not ask for it. Each fault is judged by itself."""
    about = [fault for fault in FAULTS.split(report.words) if re.search(field.words, fault, re.IGNORECASE)]
    if not about and re.search(field.words, report.param, re.IGNORECASE):
        about = [report.words]
    if any(REFUSED.search(fault) for fault in about):
        return True
    return bool(about) and not any(WANTED.search(fault) for fault in about)


def _is_param(field: OptionalField, param: str) -> bool:
    dotted = ".".join(field.path)
    return param in (dotted, field.path[0]) or param.startswith(f"{dotted}.")


def _field_change(field: OptionalField, body: Mapping[str, Any], report: ErrorReport) -> FieldChange | None:
    why = report.words[:REASON_SHOWN]
    if not field.is_limit:
        return FieldChange(field.path, why=why)
    if field.instead is not None and UNKNOWN.search(report.words):
        return FieldChange(field.path, instead=field.instead, why=why)
    allowed = [int(digits) for digits in NUMBER.findall(report.words)]
    lower = [number for number in allowed if LEAST_LIMIT <= number < body[field.path[0]]]
    return FieldChange(field.path, most=max(lower), why=why) if lower else None


def _digest(schema: Mapping[str, Json] | None) -> str:
    return hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest()
