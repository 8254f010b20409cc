"""What an SDK's error says: that a conversation is too long, that its content is refused, or why nothing came.

Errors are read by what they carry (status, code, words), since each SDK has classes of its own, and endpoints that
only resemble the original put the same thing in other words.
"""

from collections.abc import Mapping
from typing import Final

from skillweave.errors import ProviderError

FULL: Final = (
    "context_length_exceeded",
    "exceed_context_size",
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
ADVICE: Final = {
    401: "check the key",
    403: "check the key",
    404: "check the model's name and base_url",
}
UNREACHED: Final = ("Cannot connect to host", "Server disconnected")
RETRIED: Final = (None, 408, 409, 429)
SHOWN = 400
WORTH_ANOTHER_TRY: Final = (408, 409, 429)


def no_longer_fits(error: Exception) -> bool:
    """Whether the conversation is longer than the model's context window."""
    return _status(error) in (None, 400, 413, 422) and _says(error, FULL)


def content_refused(error: Exception) -> bool:
    """Whether the endpoint does not want to have the content answered."""
    return _status(error) in (None, 400, 403) and _says(error, REFUSED)


def translated(error: Exception, name: str, *, retries: int, again: bool, secret: str | None) -> ProviderError:
    """Our own error: one line, without the secret. `again` is whether nobody tried the request a second time yet."""
    status = _status(error)
    what = f"status {status}" if status else type(error).__name__
    cause = str(error.__cause__ or "") if status is None else ""
    if cause.startswith(UNREACHED):
        # The transport below the SDKs calls this a timeout, too.
        what, error_words = "not reached", ""
    else:
        error_words = str(_details(error).get("message") or error)
    words = " ".join(f"{error_words} {cause}".split())
    if secret is not None:
        words = words.replace(secret, "***")
    tried = f"gave up after {retries} retries" if not again and (status in RETRIED or status >= 500) else ""
    advice = ADVICE.get(status or 0, tried)
    is_final = status is not None and status < 500 and status not in WORTH_ANOTHER_TRY
    return ProviderError(
        f"{name}: {what}: {words[:SHOWN]}" + (f" ({advice})" if advice else ""), transient=again and not is_final
    )


def _status(error: Exception) -> int | None:
    """The HTTP status, or the one that an error in a stream carries in its place."""
    status: int | None = getattr(error, "status_code", None)
    if status is None or status < 400:
        code = str(_code(error))
        status = int(code) if code.isdecimal() and len(code) == 3 else None
    return status if status is not None and 400 <= status < 600 else None


def _code(error: Exception) -> object:
    """The endpoint's own name for what went wrong."""
    details = _details(error)
    return details.get("code") or details.get("type") or vars(error).get("code")


def _details(error: Exception) -> Mapping[str, object]:
    """The error as the endpoint wrote it, if it wrote one."""
    body = vars(error).get("body")
    inner = body.get("error", body) if isinstance(body, dict) else None
    return inner if isinstance(inner, dict) else {}


def _says(error: Exception, marks: tuple[str, ...]) -> bool:
    words = f"{_code(error)} {_details(error).get('message')} {error}".lower()
    return any(mark in words for mark in marks)
