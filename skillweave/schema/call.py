"""Calls of tools, their results, and the row changes by which two states of a world differ."""

from typing import Literal

from pydantic import Field

from skillweave.schema.record import Json, Record

TransferReason = Literal["policy", "no_tool", "cannot_verify", "user_request"]
TRANSFER = "transfer_to_human"
"""The tool that hands the conversation over to a human. It ends the conversation, and the checks look at it."""
DECLINE = "decline_request"
"""The tool that records that a request is declined, and by which rule. It changes no row and does not end anything."""
SESSION_TOOLS = frozenset({DECLINE, TRANSFER})
"""Tools that every world offers in addition to its own. They belong to the session, not to a domain."""

NEW = "$new"
"""`{"$new": 3}`: the third id that the session minted, or a value derived from ids."""
ANY = "$any"
"""`{"$any": true}`: a value that is not compared in this task."""

Cells = dict[str, Json]
"""Column -> value; a value is a scalar, `{"$new": n}` or `{"$any": true}`."""


Op = Literal["insert", "update", "delete"]


class Call(Record):
    """A call of a tool."""

    tool: str
    """The tool's name."""
    arguments: dict[str, Json] = Field(default_factory=dict)
    """Values by parameter."""


class ToolError(Record):
    """Why a call failed, as the agent sees it."""

    code: str
    """A guard's error, or `unknown_tool`, `invalid_arguments`, `not_authenticated`, `already_authenticated`,
    `no_account_here`, `session_ended`, `world_defect`."""
    message: str
    """The reason in words, for the agent."""
    rule: str | None = None
    """The rule that the broken guard enforces, if there is one."""


class RuleVerdict(Record):
    """An `agent` rule, evaluated at the time of a call. The agent never sees it."""

    rule: str
    """The rule of the agent guard."""
    holds: bool
    """Whether it is exactly true; NULL is broken."""


class CallResult(Record):
    """What came of a call."""

    call: Call
    """The call as it was given."""
    ok: bool
    """Whether it was carried out."""
    value: Json = None
    """The rows that `returns` gave: an object for `one`, a list of objects for `many`; None where the call failed."""
    error: ToolError | None = None
    """Why it was not carried out."""
    verdicts: list[RuleVerdict] = Field(default_factory=list)
    """All `agent` guards of the tool, in order; fewer if the call failed before they were reached."""
    minted: list[str] = Field(default_factory=list)
    """Ids that the call minted."""
    changed: list[int] = Field(default_factory=list)
    """How many rows each effect of the tool changed, in order."""

    @property
    def violations(self) -> list[str]:
        """Agent rules that the call broke although the tool carried it out."""
        return [verdict.rule for verdict in self.verdicts if not verdict.holds] if self.ok else []


class RowChange(Record):
    """A change of one row. Insert and delete give the whole row, update gives the changed columns before and after."""

    table: str
    """The table's name in SQL."""
    op: Op
    """What happened to the row."""
    key: Cells
    """The key column with its value."""
    before: Cells | None = None
    """Values before the change; None for an insert."""
    after: Cells | None = None
    """Values after the change; None for a delete."""
