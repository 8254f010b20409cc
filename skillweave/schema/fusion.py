"""Fusion: which domains are joined, by which links, in which stories; what was pruned; how rules were reconciled."""

from typing import Annotated, Literal

from pydantic import Field

from skillweave.schema.blueprint import BridgeRule
from skillweave.schema.record import FusedName, Json, Label, Name, Record, Scalar, Scalars, Sentence
from skillweave.schema.template import RequestedValue

ColumnValues = Annotated[dict[str, Scalars], Field(max_length=32)]
"""Column -> the values allowed."""


class Link(Record):
    """Something that one domain offers another: a value that the other takes, or a state that a rule asks for."""

    kind: Literal["value", "rule"]
    """`value`: an argument; `rule`: a state that a bridge rule asks for."""
    source: Name
    """The server that offers it."""
    producer: Name
    """Its tool: the one whose result holds the value, or whose effect brings the state about."""
    target: Name
    """The server that needs it."""
    consumer: Name
    """Its tool."""
    column: Name | None = None
    """For a value: the column of the producer's result."""
    parameter: Name | None = None
    """For a value: the parameter that takes it."""
    entity: Name | None = None
    """For a rule: the entity of the source whose state counts, by its own name there."""
    attribute: Name | None = None
    """For a rule: the attribute that changes; None: that there is such a row."""
    why: Sentence
    """The reason in words."""


class DomainCombination(Record):
    """Domains that become one world."""

    name: FusedName
    """The name of the fused world."""
    domains: list[Name]
    """Servers, sorted."""
    person: Name
    """The person that they share."""
    links: list[Link]
    """What they offer each other; together the links connect all domains."""


class StoryCall(Record):
    """One step of a story, in the terms of its own domain."""

    server: Name
    """The domain."""
    tool: Name
    """The tool, by its own name there."""
    same: dict[str, Label] = Field(default_factory=dict, max_length=32)
    """Parameter -> where its value comes from, calls counted from 1: `<call>.<column>` of an earlier call's result;
    `<call>.<parameter>.<column>` of the row that an argument of that call, or of this one, names; either within
    `date(...)`."""
    names: dict[str, Label] = Field(default_factory=dict, max_length=32)
    """Parameter -> `<Server>.<Entity>` of another domain, whose row's key it takes."""
    given: dict[str, Scalar] = Field(default_factory=dict, max_length=32)
    """Parameter -> the value that the user always says; null: nothing is given."""
    rows: dict[str, ColumnValues] = Field(default_factory=dict, max_length=32)
    """Parameter -> columns of the row it names, with the values allowed."""
    ask: list[Label] = Field(default_factory=list, max_length=16)
    """Verb phrases that fit after `I would like to`, with `{parameter}` for the row or value in words."""
    demanded_by: Label | None = None
    """Name of the bridge rule that demands the call. The user agrees to it and does not ask for it."""


class Storyline(Record):
    """One story of one person across domains."""

    name: Name
    """Unique in the combination."""
    title: Label
    """`Claim a dental bill from the insurer`."""
    calls: list[StoryCall] = Field(min_length=2, max_length=20)
    """In the order in which they happen. Look-ups are left out: the search finds them."""
    tell: list[RequestedValue] = Field(default_factory=list, max_length=16)
    """Values of results that the person wants to hear too."""
    reasons: list[Sentence] = Field(min_length=1, max_length=16)
    """Why somebody wants it: full sentences in the first person that tie the domains together."""
    bridges: list[BridgeRule] = Field(default_factory=list, max_length=12)
    """Bridge rules that it depends on, as its author proposes them."""


class PrunedStoryline(Record):
    """A storyline that was dropped before any fused world was searched for it."""

    storyline: Name
    """Its name."""
    server: Name
    """The domain whose part of the story is not feasible on its own world."""
    reason: str
    """Why it is not feasible: `submit_claim: no lawful call, with what the links supply`."""
    saved: int
    """Searches in the fused world that it would have taken: one for each person and call of the story."""


class ProvenLink(Record):
    """A proven link: without what `source` does, a call of `target` cannot be carried out."""

    kind: Literal["value", "rule"]
    """`value`: the call loses an argument; `rule`: the call breaks a rule."""
    source: Name
    """The domain whose calls were left out."""
    target: Name
    """The domain whose call fails then."""
    call: int
    """Position of the golden call that fails, from 0; a call that has to be declined counts as the one behind them."""
    tool: FusedName
    """Its tool."""
    parameter: Name | None = None
    """For a value: the argument that has lost its only source."""
    origin: str | None = None
    """For a value: that source: `call 3 [0].amount_cents`."""
    rule: str | None = None
    """For a rule: its number."""
    held_by: Literal["tool", "agent"] | None = None
    """For a rule: `tool`: the tool refuses the call; `agent`: the agent breaks the rule."""


class Fusion(Record):
    """What became of the stories of a combination of domains (s11)."""

    name: FusedName
    """The fused world."""
    domains: list[Name]
    """Servers, sorted."""
    storylines: list[Storyline]
    """Stories that were carried out once for somebody on the fused world, and whose links are proven."""
    proofs: dict[str, list[ProvenLink]]
    """Storyline -> the links that its proof shows."""
    pruned: list[PrunedStoryline]
    """Stories that are not feasible on one of the single worlds."""
    rejected: dict[str, str]
    """Storyline -> why it failed on the fused world."""
    searches: int
    """Searches that were made in the fused world."""


class StatementRewrite(Record):
    """A statement of a contract, as its author wrote it and as it runs in the fused world, with the proof that both are
    equal."""

    server: Name
    """The domain."""
    where: str
    """`pay_invoice guard R7`, `pay_invoice effect 2`, `pay_invoice returns`, `invariant paid_once`, `event no_show`."""
    author: str
    """The SQL as its author wrote it."""
    fused: str
    """The SQL as it runs in the fused world."""
    proof: Literal["same code", "same code, columns apart", "through the view"]
    """How the compiled statements compare. They touch the same columns, and are equal byte for byte, except for the
    places of columns in rows or because shared attributes are read through the person's view."""


class PolicyConflict(Record):
    """Rules of different domains that contradict each other, or seem to, and what holds now."""

    about: Literal["privacy", "deadline", "authority", "payment", "identity", "other"]
    """What the rules are about."""
    rules: list[Label] = Field(max_length=16)
    """Numbers in the fused world; empty if the conflict is about general conduct."""
    conflict: Sentence
    """The contradiction in words."""
    resolution: Sentence
    """What holds now, in one or two sentences; the policy prints them."""


class BridgeProof(Record):
    """A bridge rule met once and broken once, with all bridge rules in force."""

    rule: str
    """Its number."""
    met: dict[str, Json]
    """`{tool, person, arguments}` of a call that succeeded, with `before`: the lawful calls that prepared it."""
    broken: dict[str, Json]
    """The same for a call that this rule is the first to forbid."""


class Mediation(Record):
    """How the policies of a combination of domains were reconciled (s13)."""

    name: FusedName
    """The fused world."""
    conflicts: list[PolicyConflict]
    """Contradictions and their resolutions."""
    bridges: list[BridgeRule]
    """The bridge rules, numbered."""
    numbers: dict[str, str] = Field(default_factory=dict)
    """A bridge rule's name, as stories call it -> its number."""
    proofs: list[BridgeProof]
    """One for each bridge rule."""
    dropped: dict[str, str] = Field(default_factory=dict)
    """Bridge rule that was proposed and not kept -> why."""
    changed: dict[str, list[str]] = Field(default_factory=dict)
    """Bridge rule -> trajectories of single domains that it changes."""


class FusedReplays(Record):
    """How the golden calls of single domains' tasks replay in a fused world."""

    name: FusedName
    """The fused world."""
    replayed: int
    """Combinations that were replayed. Without the bridge rules, each gives the same as in its own world."""
    changed: dict[str, list[str]]
    """Bridge rule -> combinations whose golden calls it refuses or forbids."""
