"""The rules of a world twice: the contract of each tool in SQL (SQLite's dialect), and the policy that an agent reads.

Bindings in SQL: each parameter as `:name` (NULL where left out), `:caller`, `:now`, `:new_id`, `:new_id_2`, ... A
guard holds if and only if it is exactly true; NULL is broken. Guards are tried in order, before any effect, on one
state. In the policy's Markdown each tool's section stands between `<!-- tool: NAME -->` and `<!-- /tool: NAME -->`,
and each rule's number stands before its sentence: `[R7] Appointments can be cancelled up to 24 hours before they
start.`

Calls of tools, their results, and the row changes by which two states of a world differ.
"""

import re
from collections.abc import Collection
from typing import Literal

from pydantic import Field

from skillweave.schema.record import Description, Json, Label, Name, Record, ScalarRow, Scalars, Sentence, Sql

ToolKind = Literal["auth", "read", "write"]
Enforcer = Literal["tool", "agent"]
Concern = Literal["existence", "ownership", "integrity", "deadline", "fee", "quota", "eligibility"]
STRUCTURAL: frozenset[Concern] = frozenset({"existence", "ownership", "integrity"})
"""Concerns of rules that a tool always enforces itself."""
ParameterType = Literal["string", "integer", "number", "boolean", "date", "datetime", "array", "object"]


class ContractParameter(Record):
    """A parameter as its author gives it."""

    name: Name
    """The binding in SQL, without its colon."""
    type: ParameterType
    """Checked when a call comes in; nothing is coerced except integer to number."""
    description: Description
    """For the agent."""
    required: bool = True
    """False: it may be left out, and then binds NULL."""
    enum: list[Label] | None = Field(default=None, max_length=64)
    """The only values allowed (type string)."""
    refers_to: Label | None = None
    """`Entity.attribute`: the argument is the key of an existing row."""
    examples: Scalars = Field(default_factory=list)
    """Values that a person could give, for parameters whose values are in no table: `["card was stolen"]`."""


class Parameter(ContractParameter):
    """A parameter of a tool."""

    observable: bool = True
    """False if no effect shows it: the outcome does not tell which value was given."""


class Guard(Record):
    """A precondition of a tool."""

    rule: Label
    """`R7`: its number, unique in the policy. Tools may share a rule; then `says` and `enforced_by` are the same."""
    concern: Concern
    """What the rule is about. The tool always enforces existence, ownership and integrity."""
    holds: Sql
    """An SQL expression. The guard holds if it is exactly true."""
    error: Name
    """The error code of a broken `tool` guard: `too_late`."""
    says: Sentence
    """The rule as one sentence of the policy. It names each number, duration, share and enum value of the SQL."""
    enforced_by: Enforcer = "tool"
    """`tool`: the tool refuses the call; `agent`: the tool would carry it out, and only the policy forbids it."""


class Effect(Record):
    """A postcondition of a tool: one change that it makes."""

    rule: Label
    """Number of its sentence; an effect is numbered like a rule."""
    sql: Sql
    """One INSERT, UPDATE or DELETE."""
    says: Sentence
    """The effect as one sentence of the policy."""


class Returns(Record):
    """What a tool returns."""

    rows: Literal["one", "many"]
    """`one`: an object; `many`: a list."""
    select: Sql
    """A SELECT. `many` needs a total order; `one` gives exactly one row."""


class Tool(Record):
    """A tool with its contract."""

    name: Name
    """Unique in the server."""
    description: Description
    """For the agent."""
    kind: ToolKind
    """`auth` signs in, `read` changes nothing, `write` changes state."""
    confirm: bool = False
    """The policy asks the agent to get the user's confirmation before the call."""
    parameters: list[Parameter] = Field(default_factory=list, max_length=32)
    """In the order of the tool's signature."""
    guards: list[Guard] = Field(default_factory=list, max_length=64)
    """In the order in which they are evaluated."""
    effects: list[Effect] = Field(default_factory=list, max_length=32)
    """In the order in which they take place; each sees the ones before it."""
    returns: Returns
    """What the caller gets, after all effects."""
    examples: list[ScalarRow] = Field(default_factory=list, max_length=64)
    """Values that one person gives together, for parameters whose values are in no table and for the enums that go with
    them: `{"ground": "illness", "statement": "I have had a fever since Monday."}`."""

    def parameter(self, name: str) -> Parameter:
        """The parameter of that name. Raises KeyError if there is none."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise KeyError(name)


class Invariant(Record):
    """Something that no database of this world may show."""

    id: Name
    """Its name in messages: `no_double_booking`."""
    never: Sql
    """A SELECT that never returns a row."""
    says: Sentence = ""
    """The same in words."""


class Event(Record):
    """What only the back office does: a no-show, a suspension, a cancelled flight."""

    name: Name
    """Unique in the server."""
    pick: Sql
    """A SELECT of candidates. The columns of one drawn row are bound in `effects` by their names, and so is `:now`."""
    effects: list[Sql] = Field(min_length=1, max_length=16)
    """INSERT, UPDATE or DELETE statements, in order."""
    weight: float = Field(default=1.0, ge=0, le=1000)
    """How often a candidate is picked: each has a daily chance of about 6 % times this."""


_SECTION = re.compile(r"<!-- tool: (?P<name>\w+) -->\n.*?<!-- /tool: (?P=name) -->\n*", re.DOTALL)
_RULE = re.compile(r"\[(R\d+|B\d+)\]")


class Policy(Record):
    """The rules of a world as prose, with markers by which sections can be kept or left out."""

    world: str
    """The world's name."""
    text: str
    """Markdown."""

    @property
    def rules(self) -> list[str]:
        """Numbers of the rules that the text states, in order of first mention."""
        return list(dict.fromkeys(_RULE.findall(self.text)))

    @property
    def tools(self) -> list[str]:
        """Names of the tools that have a section, in order."""
        return [match["name"] for match in _SECTION.finditer(self.text)]

    @property
    def sections(self) -> list[tuple[str, str]]:
        """Name of each tool that has a section, and the section's text, in order."""
        return [(match["name"], match[0]) for match in _SECTION.finditer(self.text)]

    @property
    def introduction(self) -> str:
        """The text before the first tool's section."""
        return self.text.partition("<!-- tool: ")[0].strip()

    def for_tools(self, names: Collection[str]) -> "Policy":
        """The policy without the sections of other tools. Text that belongs to no tool stays."""
        kept = _SECTION.sub(lambda match: match.group(0) if match["name"] in names else "", self.text)
        return self.model_copy(update={"text": kept.rstrip() + "\n"})


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


class KeyCall(Record):
    """A call on which the proof of a server stands: a tool's success, or the breach of a rule."""

    tool: str
    rule: str | None
    """The rule that it breaks first, or breaks with success if the agent holds it. None: it breaks none first."""
    caller: str | None
    arguments: dict[str, Json]
    patch: list[RowChange]
    """Row changes made before the call."""
