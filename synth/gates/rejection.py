"""Rejection: a combination that does not pass a gate, with a reason that can be counted."""


class Rejected(Exception):
    """`reason` is one of few, fixed words; `detail` says what it was in this case."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail
