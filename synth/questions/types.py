"""Long answers: asked for in groups, and kept in part, so that one bad element does not cost all others.

The types of answers that are no records of the schema: they live between an author and a step.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from itertools import pairwise
from typing import Literal, TypeVar

from pydantic import Field

from skillweave.base.errors import AuthorError
from skillweave.llm.elements import ElementCheck, ElementFaults
from skillweave.llm.question import Question
from skillweave.schema.blueprint import BridgeRule
from skillweave.schema.contract import Concern, ContractParameter, Event, Invariant, Returns, ToolKind
from skillweave.schema.entity import Entity
from skillweave.schema.fusion import PolicyConflict
from skillweave.schema.record import Description, FusedName, Label, Name, Record, ScalarRow, Sentence, Sql
from synth.engine.context import Context
from synth.engine.step import Params

P = TypeVar("P", bound=Params)
T = TypeVar("T")


async def ask_partial(
    ctx: Context[P],
    question: Question[list[T]],
    judge: Callable[[Sequence[T]], ElementFaults | Awaitable[ElementFaults]],
    reason: str,
    *,
    name: Callable[[T], str],
    wanted: Collection[str] | None = None,
    key: str | None = None,
    **variables: object,
) -> list[T]:
    """Ask for a list, and leave out the elements that are still wrong after the last repair.

    Args:
        ctx: The item that asks.
        question: The question, whose answer is a list.
        judge: Gives for each element what is wrong with it, in words for the author.
        reason: Under what the elements left out are counted.
        name: Tells elements apart. A repair holds only the elements that were wrong, and is merged by name.
        wanted: Names that must all be there.
        key: Key of the question; by default the item's.
        variables: Of the prompt.

    Raises:
        AuthorError: There is no answer of the right form, or none of its elements can be kept.
    """
    check: ElementCheck[list[T]] = ElementCheck(judge, name, wanted or ())
    try:
        return await ctx.ask(question, key=key, check=check, **variables)
    except AuthorError:
        kept, complaints = await check.drop_faulty()
        if not kept:
            raise
    for complaint in complaints:
        ctx.reject(complaint, reason)
    return kept


def in_groups(names: Sequence[str], most: int) -> list[Sequence[str]]:
    """Divide names into as few groups as possible, of nearly equal size.

    Args:
        names: What to divide; the order is kept.
        most: The most names that one group may have.
    """
    count = -(-len(names) // most)
    bounds = [round(place * len(names) / count) for place in range(count + 1)]
    return [names[start:end] for start, end in pairwise(bounds)]


RuleKind = Concern | Literal["effect"]


class BookTool(Record):
    """A tool as customers would be told of it, before its SQL is there."""

    name: Name
    kind: ToolKind
    description: Description
    confirm: bool = False
    """Customers are asked to agree before it is used."""


class BookRule(Record):
    """A sentence of the company's policy."""

    name: Label
    """Short, and the rule's own in the whole company: `renewal_limit`."""
    kind: RuleKind
    """What it is about; `effect` for what a tool brings about."""
    says: Sentence
    tools: list[Name] = Field(min_length=1, max_length=40)
    """The tools that it concerns."""


class RuleBook(Record):
    """All that a company's assistant can do, and all rules that it follows: each rule stands here once."""

    title: Label
    """The company's name."""
    tools: list[BookTool] = Field(min_length=3, max_length=40)
    rules: list[BookRule] = Field(min_length=3, max_length=200)


class ContractGuard(Record):
    rule: Label
    """Of the rule book."""
    holds: Sql
    """An expression; the call may go on only where it is true."""
    error: Name
    """A short code for what is wrong."""


class ContractEffect(Record):
    rule: Label
    """Of the rule book, of kind `effect`."""
    sql: Sql
    """One INSERT, UPDATE or DELETE."""


class Rewording(Record):
    """A sentence that the rule book lacks, or that has to be told otherwise to say exactly what the SQL does."""

    rule: Label
    kind: RuleKind | None = None
    """For a rule that the book lacks."""
    says: Sentence


class Contract(Record):
    """A tool in SQL. Its name, kind, description and sentences are the rule book's."""

    tool: Name
    parameters: list[ContractParameter] = Field(default_factory=list, max_length=32)
    guards: list[ContractGuard] = Field(default_factory=list, max_length=64)
    """In the order in which they are tried."""
    effects: list[ContractEffect] = Field(default_factory=list, max_length=32)
    """In the order in which they take place."""
    returns: Returns
    examples: list[ScalarRow] = Field(default_factory=list, max_length=64)
    """Values that one person gives together; each row names the same parameters."""
    reworded: list[Rewording] = Field(default_factory=list, max_length=32)


class Mended(Record):
    """Parts of a blueprint written anew; each takes the place of the one of its name. What is right is left out."""

    tables: list[Entity] = Field(default_factory=list, max_length=32)
    tools: list[BookTool] = Field(default_factory=list, max_length=16)
    """Tools that are new, or whose description changes; each new one has a contract too."""
    rules: list[BookRule] = Field(default_factory=list, max_length=64)
    """Rules that are new, or whose sentence changes."""
    contracts: list[Contract] = Field(default_factory=list, max_length=40)
    invariants: list[Invariant] = Field(default_factory=list, max_length=40)
    events: list[Event] = Field(default_factory=list, max_length=24)
    drop: list[Label] = Field(default_factory=list, max_length=40)
    """Names of tools, invariants and events that are given up."""


class Rules(Record):
    invariants: list[Invariant] = Field(min_length=1, max_length=40)
    events: list[Event] = Field(default_factory=list, max_length=24)


class Story(Record):
    """An edge of the tool graph that only people know: they do the one after the other, for a reason."""

    source: Name
    target: Name
    reason: Sentence


class RowWords(Record):
    """By which columns of a read's result people refer to one of its rows, best first."""

    read: FusedName
    columns: list[Name] = Field(max_length=32)


class Mediated(Record):
    """How rules of several companies are reconciled."""

    conflicts: list[PolicyConflict] = Field(max_length=40)
    bridges: list[BridgeRule] = Field(default_factory=list, max_length=24)
    """Under the names that stories call them by; who holds them is decided later."""
