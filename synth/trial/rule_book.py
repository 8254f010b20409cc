"""The rule book of a company and its contracts, joined into a blueprint's tools, and taken apart again.

A rule is a sentence that stands in the book once. A contract gives its SQL; what a tool says is never in two places.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import SESSION_TOOLS
from skillweave.schema.contract import Concern, ContractParameter, Effect, Guard, Parameter, Tool
from skillweave.world.contract import problems
from skillweave.world.contract.entities import duplicates
from synth.policy.audit import audit_rule, common_words, rules_of
from synth.questions.types import (
    BookRule,
    BookTool,
    Contract,
    ContractEffect,
    ContractGuard,
    RuleBook,
    RuleKind,
)
from synth.trial.draft import problem_text

EFFECT: Final = "effect"
_KINDS = ("guard", "effect")
"""As the places of problems name them."""


def book_faults(book: RuleBook, least: int) -> list[str]:
    """What is wrong with a rule book, in words for its author."""
    named = duplicates("book", "tool", [*(tool.name for tool in book.tools), *sorted(SESSION_TOOLS)])
    found = [
        problem_text(problem) for problem in [*named, *duplicates("book", "rule", [rule.name for rule in book.rules])]
    ]
    kinds = {tool.name: tool.kind for tool in book.tools}
    auth = [name for name, kind in kinds.items() if kind == "auth"]
    if len(auth) != 1:
        found.append(f"exactly one tool must be of kind auth; {len(auth)} are: {', '.join(auth) or 'none'}")
    if len(book.tools) < least:
        found.append(f"there are {len(book.tools)} tools; at least {least} are needed")
    for rule in book.rules:
        unknown = [name for name in rule.tools if name not in kinds]
        found += [f"rule {rule.name}: there is no tool {name!r}; there are {', '.join(kinds)}" for name in unknown]
        idle = [name for name in rule.tools if rule.kind == EFFECT and kinds.get(name, "write") != "write"]
        found += [
            f"rule {rule.name} is an effect, and {name} is of kind {kinds[name]}, which has none" for name in idle
        ]
    brought = {name for rule in book.rules if rule.kind == EFFECT for name in rule.tools}
    found += [
        f"{name} is a write, and no rule of kind effect says what it brings about"
        for name, kind in kinds.items()
        if kind == "write" and name not in brought
    ]
    return found


def contract_faults(contract: Contract, draft: Blueprint, book: RuleBook) -> list[str]:
    """What is wrong with a contract by itself, on the tables of the draft, in words for its author."""
    where = f"contract of {contract.tool}"
    tools = {tool.name: tool for tool in book.tools}
    if contract.tool not in tools:
        return [f"{where}: there is no such tool in the rule book; there are {', '.join(tools)}"]
    found = [f"{where}: {fault}" for fault in _rule_faults(contract, book)]
    rules = {rule.name: rule for rule in book_with(book, [contract]).rules}
    parts: list[ContractGuard | ContractEffect] = [*contract.guards, *contract.effects]
    # What is told of rules must not hide what is wrong with the SQL.
    strange = {part.rule for part in parts} - rules.keys()
    nameless = {name: BookRule(name=name, kind=EFFECT, says="", tools=[contract.tool]) for name in strange}
    tool = tool_of(tools[contract.tool], contract, rules | nameless)
    alone = draft.model_copy(update={"tools": [tool]})
    fatal = [problem for problem in problems(alone) if problem.fatal and problem.where.startswith(f"tool {tool.name}")]
    places = {problem.where for problem in fatal}
    unread = strange | {name for name in rules for kind in _KINDS if f"tool {tool.name}, {kind} {name}" in places}
    # What several tools share is set against its SQL when all of it is there.
    own = [rule for rule in rules_of(alone) if rule.number not in unread and len(rules[rule.number].tools) == 1]
    common = common_words(alone)
    return [*found, *map(problem_text, fatal), *(fault for rule in own for fault in audit_rule(rule, alone, common))]


def _rule_faults(contract: Contract, book: RuleBook) -> Iterator[str]:
    known = {rule.name: rule.kind for rule in book.rules}
    for new in contract.reworded:
        if new.rule not in known and new.kind is None:
            yield f"reworded: rule {new.rule} is new; say its kind"
        known.setdefault(new.rule, new.kind or EFFECT)
    parts: list[ContractGuard | ContractEffect] = [*contract.guards, *contract.effects]
    for part in parts:
        if part.rule not in known:
            concerned = [rule.name for rule in book.rules if contract.tool in rule.tools]
            yield (
                f"there is no rule {part.rule!r}; those of this tool are {', '.join(concerned) or 'none'}, and a "
                "new one needs its sentence in `reworded`"
            )
        elif known[part.rule] == EFFECT and isinstance(part, ContractGuard):
            yield f"rule {part.rule} says what the tool brings about (kind effect), and stands at a guard"
    used = {part.rule for part in parts}
    for rule in book.rules:
        if contract.tool in rule.tools and rule.name not in used:
            yield f"rule {rule.name} concerns it, and stands at none of its guards and effects: {rule.says!r}"


def book_with(book: RuleBook, contracts: Sequence[Contract]) -> RuleBook:
    """The book with what the contracts word anew: of one rule the first wording counts, for all its tools."""
    rules = {rule.name: rule for rule in book.rules}
    settled: set[str] = set()
    for contract in contracts:
        for new in contract.reworded:
            old = rules.get(new.rule)
            if old is None:
                kind = new.kind or EFFECT
                rules[new.rule] = BookRule(name=new.rule, kind=kind, says=new.says, tools=[contract.tool])
            else:
                tools = list(dict.fromkeys([*old.tools, contract.tool]))
                says = old.says if new.rule in settled else new.says
                rules[new.rule] = old.model_copy(update={"says": says, "tools": tools})
            settled.add(new.rule)
    return book.model_copy(update={"rules": list(rules.values())})


def tools_of(book: RuleBook, contracts: Sequence[Contract]) -> list[Tool]:
    """The tools that have a contract, in the order of the book."""
    made = {contract.tool: contract for contract in contracts}
    rules = {rule.name: rule for rule in book_with(book, contracts).rules}
    return [tool_of(tool, made[tool.name], rules) for tool in book.tools if tool.name in made]


def tool_of(tool: BookTool, contract: Contract, rules: Mapping[str, BookRule]) -> Tool:
    """A tool with its SQL."""
    return Tool(
        name=tool.name,
        description=tool.description,
        kind=tool.kind,
        confirm=tool.confirm,
        parameters=[Parameter(**dict(parameter)) for parameter in contract.parameters],
        guards=[
            Guard(
                rule=guard.rule,
                concern=_concern(rules[guard.rule].kind),
                holds=guard.holds,
                error=guard.error,
                says=rules[guard.rule].says,
            )
            for guard in contract.guards
        ],
        effects=[Effect(rule=effect.rule, sql=effect.sql, says=rules[effect.rule].says) for effect in contract.effects],
        returns=contract.returns,
        examples=contract.examples,
    )


def _concern(kind: RuleKind) -> Concern:
    return "integrity" if kind == EFFECT else kind


def book_of(title: str, tools: Sequence[Tool]) -> RuleBook:
    """The rule book that tools with their SQL come from."""
    rules: dict[str, BookRule] = {}
    for tool in tools:
        parts: list[Guard | Effect] = [*tool.guards, *tool.effects]
        for part in parts:
            kind = part.concern if isinstance(part, Guard) else EFFECT
            old = rules.setdefault(part.rule, BookRule(name=part.rule, kind=kind, says=part.says, tools=[tool.name]))
            # A rule that stands at a guard anywhere is about what that guard is about.
            known = kind if old.kind == EFFECT else old.kind
            named = list(dict.fromkeys([*old.tools, tool.name]))
            rules[part.rule] = old.model_copy(update={"kind": known, "tools": named})
    told_of = [
        BookTool(name=tool.name, kind=tool.kind, description=tool.description, confirm=tool.confirm) for tool in tools
    ]
    return RuleBook.model_construct(title=title, tools=told_of, rules=list(rules.values()))


def contract_of(tool: Tool) -> Contract:
    """The contract that a tool comes from."""
    fields = ContractParameter.model_fields.keys()
    return Contract(
        tool=tool.name,
        parameters=[ContractParameter(**{name: getattr(p, name) for name in fields}) for p in tool.parameters],
        guards=[ContractGuard(rule=guard.rule, holds=guard.holds, error=guard.error) for guard in tool.guards],
        effects=[ContractEffect(rule=effect.rule, sql=effect.sql) for effect in tool.effects],
        returns=tool.returns,
        examples=tool.examples,
    )
