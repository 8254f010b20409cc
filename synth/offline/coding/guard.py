"""A guard as statements: rows and values fetched, then the refusal."""

from skillweave.schema.contract import Guard
from synth.codegen.literals import WIDTH
from synth.offline.coding.condition import Condition
from synth.offline.coding.expression import Translator, bound
from synth.offline.coding.literals import call, refusal
from synth.offline.coding.scope import Fetch, Lookup, Scope
from synth.offline.coding.tokens import closing, is_word, text_of, tokens_of, unwrap

Line = str | Lookup | Fetch
"""A line of source; what is fetched is written out last, when its columns are known."""


def write_guard(guard: Guard, scope: Scope) -> list[Line]:
    """The statements that refuse a call which breaks the guard."""
    scope.pending.clear()
    before = scope.mark()
    condition = Translator(scope).condition(guard.holds)
    test = _test(condition)
    if test is None:
        scope.undo(before)
        test = _asked(guard.holds)
    else:
        scope.facts |= condition.facts
    return [*scope.pending, *test, *refusal(guard.error, guard.says, guard.rule)]


def _test(condition: Condition) -> list[str] | None:
    """The `if` of a broken guard; None where it would not read well."""
    word = "or" if condition.joined == "and" else "and"
    flat = f"if {f' {word} '.join(condition.broken)}:"
    if len(flat) <= WIDTH:
        return [flat]
    if any(len(part) > WIDTH - 12 for part in condition.broken) or condition.broken[-1].endswith(")"):
        return None
    first, *others = condition.broken
    return ["if (", f"    {first}", *(f"    {word} {part}" for part in others), "):"]


def _asked(sql: str) -> list[str]:
    """The `if` of a guard that the database decides as a whole."""
    tokens = unwrap(tokens_of(sql))
    negated = is_word(tokens[0], "NOT") and len(tokens) > 1 and is_word(tokens[1], "EXISTS")
    inner = tokens[1:] if negated else tokens
    if is_word(inner[0], "EXISTS") and closing(inner, 1) == len(inner) - 1:
        opening = "if db.exists(" if negated else "if not db.exists("
        return call(opening, text_of(inner[2:-1]), bound(inner), "):")
    return call("if not db.true(", text_of(tokens), bound(tokens), "):")
