"""A cassette: replies of a run in a JSONL file, one a line, to be played again.

A line is found by its request's conversation digest; the last of several wins. A torn last line is one reply owed.
"""

import json
from dataclasses import replace
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter, ValidationError

from skillweave.errors import ArtifactError
from skillweave.llm.request import Reply, Request
from skillweave.schema.message import Message
from skillweave.schema.record import Record


class Take(Record):
    """One line."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), ser_json_inf_nan="null")

    digest: str
    question: str
    key: str
    attempt: int
    messages: list[Message]
    """What was asked; for the reader, the digest decides."""
    reply: Reply


REPLY = TypeAdapter(Reply)


def a_take(request: Request, reply: Reply) -> str:
    """The line that records `reply`."""
    take = Take(
        digest=request.conversation_digest(),
        question=request.question,
        key=request.key,
        attempt=request.attempt,
        messages=list(request.messages),
        reply=replace(reply, cached=False),
    )
    # Escaped: a reply may hold lone surrogates, and they are to be refused by the parser, not by the recorder.
    return json.dumps(take.model_dump(mode="python", exclude_none=True), default=vars) + "\n"


def read_cassette(path: Path) -> dict[str, Reply]:
    """Replies by digest. Raises ArtifactError."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ArtifactError(f"cassette {str(path)!r} cannot be read: {error}; record one first") from error
    replies: dict[str, Reply] = {}
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            take = Take.model_validate(json.loads(line))
        except (ValidationError, ValueError, RecursionError) as error:
            if number == len(lines):
                break
            raise ArtifactError(f"line {number} of cassette {str(path)!r} is no take; record it again") from error
        replies[take.digest] = take.reply
    return replies
