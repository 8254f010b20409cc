"""The rule book of a company and the contracts of its tools: their check, and how they become a blueprint's tools.

A rule is one sentence, which stands in the book once. A contract gives its SQL. So nothing about a tool is said twice.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import SESSION_TOOLS, Concern, ContractParameter, Effect, Guard, Parameter, Tool
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
"""The kind of a rule that says what a write changes; all other kinds are conditions."""
_KINDS = ("guard", "effect")
"""The words by which places of contract problems name a rule."""


def book_faults(book: RuleBook, least: int) -> list[str]:
    """What is wrong with a rule book, in words for its author.

    Args:
        book: The author's answer.
        least: Fewer tools than this are a fault.
    """
    tool_duplicates = duplicates("book", "tool", [*(tool.name for tool in book.tools), *sorted(SESSION_TOOLS)])
    faults = [
        problem_text(problem)
        for problem in [*tool_duplicates, *duplicates("book", "rule", [rule.name for rule in book.rules])]
    ]
    kinds = {tool.name: tool.kind for tool in book.tools}
    auth = [name for name, kind in kinds.items() if kind == "auth"]
    if len(auth) != 1:
        faults.append(f"exactly one tool must be of kind auth; {len(auth)} are: {', '.join(auth) or 'none'}")
    if len(book.tools) < least:
        faults.append(f"there are {len(book.tools)} tools; at least {least} are needed")
    for rule in book.rules:
        unknown = [name for name in rule.tools if name not in kinds]
        faults += [f"rule {rule.name}: there is no tool {name!r}; there are {', '.join(kinds)}" for name in unknown]
        idle = [name for name in rule.tools if rule.kind == EFFECT and kinds.get(name, "write") != "write"]
        faults += [
            f"rule {rule.name} is an effect, and {name} is of kind {kinds[name]}, which has none" for name in idle
        ]
    with_effect = {name for rule in book.rules if rule.kind == EFFECT for name in rule.tools}
    faults += [
        f"{name} is a write, and no rule of kind effect says what it brings about"
        for name, kind in kinds.items()
        if kind == "write" and name not in with_effect
    ]
    return faults


def contract_faults(contract: Contract, draft: Blueprint, book: RuleBook) -> list[str]:
    """What is wrong with one tool's contract, in words for its author.

    Args:
        contract: The author's answer for the tool.
        draft: The tables on which its SQL must run.
        book: The rule book that it has to follow.
    """
    where = f"contract of {contract.tool}"
    tools = {tool.name: tool for tool in book.tools}
    if contract.tool not in tools:
        return [f"{where}: there is no such tool in the rule book; there are {', '.join(tools)}"]
    faults = [f"{where}: {fault}" for fault in _rule_faults(contract, book)]
    rules = {rule.name: rule for rule in book_with(book, [contract]).rules}
    parts: list[ContractGuard | ContractEffect] = [*contract.guards, *contract.effects]
    # Placeholders for unknown rules let the SQL be checked too, so that the author hears of everything at once.
    unknown_rules = {part.rule for part in parts} - rules.keys()
    placeholders = {name: BookRule(name=name, kind=EFFECT, says="", tools=[contract.tool]) for name in unknown_rules}
    tool = tool_of(tools[contract.tool], contract, rules | placeholders)
    tool_only = draft.model_copy(update={"tools": [tool]})
    fatal = [
        problem for problem in problems(tool_only) if problem.fatal and problem.where.startswith(f"tool {tool.name}")
    ]
    places = {problem.where for problem in fatal}
    unusable = unknown_rules | {
        name for name in rules for kind in _KINDS if f"tool {tool.name}, {kind} {name}" in places
    }
    # A rule that several tools share is audited later, when the SQL of all of them is there.
    rules_to_audit = [
        rule for rule in rules_of(tool_only) if rule.number not in unusable and len(rules[rule.number].tools) == 1
    ]
    common = common_words(tool_only)
    return [
        *faults,
        *map(problem_text, fatal),
        *(fault for rule in rules_to_audit for fault in audit_rule(rule, tool_only, common)),
    ]


def _rule_faults(contract: Contract, book: RuleBook) -> Iterator[str]:
    known = {rule.name: rule.kind for rule in book.rules}
    for wording in contract.reworded:
        if wording.rule not in known and wording.kind is None:
            yield f"reworded: rule {wording.rule} is new; say its kind"
        known.setdefault(wording.rule, wording.kind or EFFECT)
    parts: list[ContractGuard | ContractEffect] = [*contract.guards, *contract.effects]
    for part in parts:
        if part.rule not in known:
            own_rules = [rule.name for rule in book.rules if contract.tool in rule.tools]
            yield (
                f"there is no rule {part.rule!r}; those of this tool are {', '.join(own_rules) or 'none'}, and a "
                "new one needs its sentence in `reworded`"
            )
        elif known[part.rule] == EFFECT and isinstance(part, ContractGuard):
            yield f"rule {part.rule} says what the tool brings about (kind effect), and stands at a guard"
    used = {part.rule for part in parts}
    for rule in book.rules:
        if contract.tool in rule.tools and rule.name not in used:
            yield f"rule {rule.name} concerns it, and stands at none of its guards and effects: {rule.says!r}"


def book_with(book: RuleBook, contracts: Sequence[Contract]) -> RuleBook:
    """The book with the rules that contracts reword or add. The first new wording of a rule holds for all its tools."""
    rules = {rule.name: rule for rule in book.rules}
    reworded: set[str] = set()
    for contract in contracts:
        for wording in contract.reworded:
            rule = rules.get(wording.rule)
            if rule is None:
                kind = wording.kind or EFFECT
                rules[wording.rule] = BookRule(name=wording.rule, kind=kind, says=wording.says, tools=[contract.tool])
            else:
                tools = list(dict.fromkeys([*rule.tools, contract.tool]))
                says = rule.says if wording.rule in reworded else wording.says
                rules[wording.rule] = rule.model_copy(update={"says": says, "tools": tools})
            reworded.add(wording.rule)
    return book.model_copy(update={"rules": list(rules.values())})


def tools_of(book: RuleBook, contracts: Sequence[Contract]) -> list[Tool]:
    """The tools that have a contract, in the order of the book."""
    contracts_by_tool = {contract.tool: contract for contract in contracts}
    rules = {rule.name: rule for rule in book_with(book, contracts).rules}
    return [tool_of(tool, contracts_by_tool[tool.name], rules) for tool in book.tools if tool.name in contracts_by_tool]


def tool_of(tool: BookTool, contract: Contract, rules: Mapping[str, BookRule]) -> Tool:
    """A tool of the book with its SQL. `rules` are the book's, by name."""
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
    """The rule book from which these tools were made: the inverse of `tools_of`."""
    rules: dict[str, BookRule] = {}
    for tool in tools:
        parts: list[Guard | Effect] = [*tool.guards, *tool.effects]
        for part in parts:
            kind = part.concern if isinstance(part, Guard) else EFFECT
            rule = rules.setdefault(part.rule, BookRule(name=part.rule, kind=kind, says=part.says, tools=[tool.name]))
            # A rule that stands at any guard has that guard's kind.
            known = kind if rule.kind == EFFECT else rule.kind
            tool_names = list(dict.fromkeys([*rule.tools, tool.name]))
            rules[part.rule] = rule.model_copy(update={"kind": known, "tools": tool_names})
    book_tools = [
        BookTool(name=tool.name, kind=tool.kind, description=tool.description, confirm=tool.confirm) for tool in tools
    ]
    return RuleBook.model_construct(title=title, tools=book_tools, rules=list(rules.values()))


def contract_of(tool: Tool) -> Contract:
    """The contract from which a tool was made."""
    fields = ContractParameter.model_fields.keys()
    return Contract(
        tool=tool.name,
        parameters=[
            ContractParameter(**{name: getattr(parameter, name) for name in fields}) for parameter in tool.parameters
        ],
        guards=[ContractGuard(rule=guard.rule, holds=guard.holds, error=guard.error) for guard in tool.guards],
        effects=[ContractEffect(rule=effect.rule, sql=effect.sql) for effect in tool.effects],
        returns=tool.returns,
        examples=tool.examples,
    )
