"""The lending library that the prompts' examples are about: what each shows, and the world they make together."""

import re
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, meta

from skillweave.llm.parse import parse
from skillweave.llm.question import Question
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Guard, Parameter, Returns, Tool
from skillweave.schema.entity import Domain
from synth.engine.pipeline import load_pipeline
from synth.trial.draft import draft_of, formulate
from synth.trial.rule_book import tools_of

NOW = "2025-01-20 09:00:00"
EXAMPLE = re.compile(r"^An (?:example|answer) from elsewhere, .*?:\n\n(```\w+\n.*?\n```)$", re.MULTILINE | re.DOTALL)
FIND_MEMBER = Tool(
    name="find_member",
    kind="auth",
    description="Identify a member by full name and e-mail address. Returns the member's id and name.",
    parameters=[
        Parameter(name="full_name", type="string", description="Full name on record."),
        Parameter(name="email", type="string", description="E-mail address on record."),
    ],
    guards=[
        Guard(
            rule="known_member",
            concern="existence",
            holds="EXISTS (SELECT 1 FROM member WHERE full_name = :full_name AND email = :email)",
            error="member_not_found",
            says="A member is found by full name and e-mail address, both as they are on record.",
        )
    ],
    returns=Returns(
        rows="one", select="SELECT member_id, full_name FROM member WHERE full_name = :full_name AND email = :email"
    ),
)
LIST_MY_LOANS = Tool(
    name="list_my_loans",
    kind="read",
    description="List the member's loans with title, due date and status, the next due first.",
    returns=Returns(
        rows="many",
        select="SELECT l.loan_id, b.title, b.category, l.due_on, l.status FROM loan l JOIN book b "
        "ON b.book_id = l.book_id WHERE l.member_id = :caller ORDER BY l.due_on, l.loan_id",
    ),
)


@cache
def questions() -> dict[str, Question[Any]]:
    """Every question that a step asks, by name."""
    steps = load_pipeline("synth.steps").steps
    return {question.name: question for step in steps for question in step.questions}


def system(name: str) -> str:
    """The system message of a prompt before it is rendered, and behind it what it includes."""
    question = questions()[name]
    included = meta.find_referenced_templates(Environment().parse(question.prompt[0]))
    texts = [resources.files(question.package).joinpath(str(part)).read_text("utf-8") for part in included]
    return "\n".join([question.prompt[0], *texts])


def example(name: str) -> str:
    """The example of a prompt, as an author would give it: in its fence."""
    return str(EXAMPLE.findall(system(name))[0])


@cache
def answer(name: str) -> Any:
    """What the example of a prompt gives, read as an answer is."""
    return parse(questions()[name], example(name))


@cache
def domain() -> Domain:
    """The library's domain."""
    found: Domain = answer("domains.expand")[0]
    return found


@cache
def draft() -> Blueprint:
    """Its tables."""
    title = answer("blueprint.book").title
    return draft_of(domain(), answer("entities.extract"), answer("blueprint.relationships"), title)


@cache
def renew_loan() -> Tool:
    """The tool of the example of contracts, with the sentences of the book."""
    (tool,) = tools_of(answer("blueprint.book"), answer("blueprint.contracts"))
    return tool


@cache
def blueprint() -> Blueprint:
    """Its contract, with numbered rules: the tool of the example, and what that needs beside it."""
    rules = answer("blueprint.rules")
    tools = [FIND_MEMBER, LIST_MY_LOANS, renew_loan()]
    made = draft().model_copy(update={"tools": tools, "invariants": rules.invariants, "events": rules.events})
    return formulate(made, "LL", steps=[1])
