"""What an SDK's error says: that a conversation is too long, that its content is refused, or why nothing came.

Errors are read by what they carry (status, code, words), since each SDK has classes of its own, and endpoints that
only resemble the original put the same thing in other words.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from skillweave.errors import AccessError, ProviderError
from skillweave.llm.backends.body import AnswerError, BodyError, TooLargeError

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
class Fault:
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


def fault_of(error: Exception, secret: str | None) -> Fault:
    """What the error of an SDK, of the transport below it, or of reading an answer says."""
    if isinstance(error, BodyError | TooLargeError):
        # What they quote is nobody's error message.
        words = _one_line(str(error), secret)
        return Fault("no usable answer", words, is_quoted=True, transient=isinstance(error, BodyError))
    status = _status(error)
    details = _details(error)
    what = f"status {status}" if status else "an error" if isinstance(error, AnswerError) else type(error).__name__
    cause = str(error.__cause__ or "") if status is None else ""
    said = str(details.get("message") or error)
    if cause.startswith(UNREACHED):
        # The transport below the SDKs calls this a timeout, too.
        what, said = "not reached", ""
    code = str(_code(error) or "")
    return Fault(
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
