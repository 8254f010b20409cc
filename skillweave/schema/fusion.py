"""Fusion: which domains are joined, by which links, in which stories; what was pruned; how rules were reconciled."""

from typing import Annotated, Literal

from pydantic import Field

from skillweave.schema.blueprint import BridgeRule
from skillweave.schema.record import FusedName, Json, Label, Name, Record, Scalar, Scalars, Sentence
from skillweave.schema.template import RequestedValue

ColumnValues = Annotated[dict[str, Scalars], Field(max_length=32)]
"""Column -> values allowed."""


class Link(Record):
    """Something that one domain offers another: a value that the other consumes, or a state that a rule asks for."""

    kind: Literal["value", "rule"]
    source: Name
    """The server that produces it ..."""
    producer: Name
    """... and its tool: the one whose result holds the value, or whose effect brings the state about."""
    target: Name
    """The server that needs it ..."""
    consumer: Name
    """... and its tool."""
    column: Name | None = None
    """For a value: the column of the producer's result."""
    parameter: Name | None = None
    """For a value: the parameter that takes it."""
    entity: Name | None = None
    """For a rule: the entity of the source whose state counts, by its own name there ..."""
    attribute: Name | None = None
    """... and the attribute that changes; None: that there is such a row."""
    why: Sentence
    """In words."""


class DomainCombination(Record):
    """Domains that are to become one world."""

    name: FusedName
    domains: list[Name]
    """Servers, sorted."""
    person: Name
    """The person whom they share."""
    links: list[Link]
    """What they offer each other; together the links join all domains."""


class StoryCall(Record):
    """One step of a story, in the words of its own domain."""

    server: Name
    tool: Name
    same: dict[str, Label] = Field(default_factory=dict, max_length=32)
    """Parameter -> where its value comes from, calls counted from 1: `<call>.<column>` of an earlier call's result;
    `<call>.<parameter>.<column>` of the row that an argument of that call, or of this one, names; either within
    `date(...)`."""
    names: dict[str, Label] = Field(default_factory=dict, max_length=32)
    """Parameter -> `<Server>.<Entity>` of another domain: it is given the key of such a row."""
    given: dict[str, Scalar] = Field(default_factory=dict, max_length=32)
    """Parameter -> the value that the user says in any case; null: nothing is given."""
    rows: dict[str, ColumnValues] = Field(default_factory=dict, max_length=32)
    """Parameter -> columns that the row it names must have, with the values allowed."""
    ask: list[Label] = Field(default_factory=list, max_length=16)
    """Verb phrases that fit after `I would like to`, with `{parameter}` for the row or value in words."""
    demanded_by: Label | None = None
    """Name of the bridge rule that demands the call; the user agrees to it and does not ask for it."""


class Storyline(Record):
    """One story of one person across domains."""

    name: Name
    title: Label
    """`Claim a dental bill from the insurer`."""
    calls: list[StoryCall] = Field(min_length=2, max_length=20)
    """In the order in which they are to happen; look-ups are left out: they are found."""
    tell: list[RequestedValue] = Field(default_factory=list, max_length=16)
    """Values of results that the person wants to hear as well."""
    reasons: list[Sentence] = Field(min_length=1, max_length=16)
    """Why somebody wants it, each a full sentence in the first person that ties the domains together."""
    bridges: list[BridgeRule] = Field(default_factory=list, max_length=12)
    """Bridge rules that it leans on, as its author would have them."""


class PrunedStoryline(Record):
    """A storyline that was dropped before any fused world was searched for it."""

    storyline: Name
    server: Name
    """Whose segment is not feasible on its own world ..."""
    reason: str
    """... and why: `submit_claim: no lawful call, with what the links supply`."""
    saved: int
    """Searches in the fused world that it would have taken: one a person and call of the story."""


class ProvenLink(Record):
    """A link that was proven: left without what `source` does, a call of `target` cannot be carried out."""

    kind: Literal["value", "rule"]
    source: Name
    target: Name
    call: int
    """The golden call that breaks, counted from 0; what is to be declined counts as one behind them."""
    tool: FusedName
    """Its tool."""
    parameter: Name | None = None
    """For a value: the argument that has lost its only source ..."""
    origin: str | None = None
    """... which was this: `call 3 [0].amount_cents`."""
    rule: str | None = None
    """For a rule: its number ..."""
    held_by: Literal["tool", "agent"] | None = None
    """... and whether the tool refuses the call, or the agent breaks the rule."""


class Fusion(Record):
    """What became of a combination's stories (s11)."""

    name: FusedName
    domains: list[Name]
    storylines: list[Storyline]
    """Each carried out once for somebody on the fused world, and interlocked."""
    proofs: dict[str, list[ProvenLink]]
    """Storyline -> the links that its proof showed."""
    pruned: list[PrunedStoryline]
    """Not feasible on one of the single worlds."""
    rejected: dict[str, str]
    """Storyline -> why it fell on the fused world."""
    searches: int
    """Searches that were made in the fused world."""


class StatementRewrite(Record):
    """A statement of a contract, as its author wrote it and as it runs in the fused world, with its proof."""

    server: Name
    where: str
    """`pay_invoice guard R7`, `pay_invoice effect 2`, `pay_invoice returns`, `invariant paid_once`, `event no_show`."""
    author: str
    fused: str
    proof: Literal["same code", "same code, columns apart", "through the view"]
    """How the compiled statements compare, the columns that they touch being the same: byte for byte, but for the
    places of columns in rows, or reading shared attributes through the person's view."""


class PolicyConflict(Record):
    """Rules of different domains that contradict each other, or seem to, and what holds now."""

    about: Literal["privacy", "deadline", "authority", "payment", "identity", "other"]
    rules: list[Label] = Field(max_length=16)
    """Numbers in the fused world; empty where general conduct is meant."""
    conflict: Sentence
    """In words."""
    resolution: Sentence
    """One or two sentences, which the policy prints."""


class BridgeProof(Record):
    """A bridge rule met and broken, all bridge rules being on."""

    rule: str
    met: dict[str, Json]
    """`{tool, person, arguments}` of a call that went through, prepared by lawful calls: `before`."""
    broken: dict[str, Json]
    """The same, of a call that it is the first to forbid."""


class Mediation(Record):
    """How the policies of a combination were reconciled (s13)."""

    name: FusedName
    conflicts: list[PolicyConflict]
    bridges: list[BridgeRule]
    """Numbered."""
    numbers: dict[str, str] = Field(default_factory=dict)
    """A bridge rule's name, as stories call it -> its number."""
    proofs: list[BridgeProof]
    dropped: dict[str, str] = Field(default_factory=dict)
    """Bridge rules that were proposed and not kept -> why."""
    changed: dict[str, list[str]] = Field(default_factory=dict)
    """Bridge rule -> trajectories of single domains that it changes."""


class FusedReplays(Record):
    """How the golden calls of single domains' tasks went in a fused world."""

    name: FusedName
    replayed: int
    """Goldens that were replayed; without the bridge rules each gives the same as in its own world."""
    changed: dict[str, list[str]]
    """Bridge rule -> combinations whose golden calls it refuses or forbids."""
