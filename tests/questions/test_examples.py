"""The prompts' examples are what they ask for: each is read as an answer is, and passes the gate that answers pass."""

import pytest

from skillweave.llm.parse import apply_patch, parse_patch
from skillweave.schema.combination import Combination
from skillweave.schema.contract import Returns, Tool
from skillweave.schema.request import KnownFact, UserRequest
from skillweave.schema.task import Persona
from skillweave.schema.template import ToolGraph
from synth.contracts.visibility import column_origins
from synth.contracts.writes import data_edges
from synth.policy.audit import Rule, audit_rule, common_words
from synth.policy.manual import manual_faults
from synth.policy.review import count_faults
from synth.search.row_words import word_faults
from synth.servers import skeleton as static
from synth.simulation.generation import run_generator
from synth.steps import s01_domain_expansion as s01
from synth.steps import s02_entity_extraction as s02
from synth.steps import s03_entity_graph as s03
from synth.steps import s08_tool_graph_generation as s08
from synth.tasks.goals import goal_faults
from synth.tasks.tellings import telling_faults
from synth.trial.draft import fatal_faults
from synth.trial.repair import repair_faults
from synth.trial.rule_book import book_faults, contract_faults
from tests.questions.library import NOW, answer, blueprint, domain, draft, example, questions

BUT_THE_REPAIR = [name for name in questions() if name != "server.repair"]


@pytest.mark.parametrize("name", BUT_THE_REPAIR)
def test_each_prompt_shows_one_whole_answer(name: str) -> None:
    assert answer(name)


def test_domains() -> None:
    assert s01.faults(answer("domains.expand"), "lending library", 2) == []


def test_tables() -> None:
    entities = answer("entities.extract")
    assert s02.faults(domain(), entities) == []
    assert s03.faults(entities, answer("graph.relate")) == []
    assert {r.through for r in answer("graph.relate")} == {e.name for e in draft().relationships}
    assert fatal_faults(draft()) == ["blueprint: there must be exactly one auth tool, not 0 ()"]


def test_the_rule_book_and_a_contract() -> None:
    book = answer("blueprint.book")
    assert book_faults(book, 8) == []
    assert [contract_faults(one, draft(), book) for one in answer("blueprint.contracts")] == [[]]


def test_what_is_mended() -> None:
    assert repair_faults(blueprint(), answer("blueprint.mend")) == []


def test_rules_of_the_whole() -> None:
    assert fatal_faults(blueprint()) == []


def test_rows() -> None:
    contract = blueprint()
    # The library's loans are made by a tool that the examples do not have.
    invariants = [invariant for invariant in contract.invariants if "loan" not in invariant.never]
    without_loans = contract.model_copy(update={"relationships": [], "tools": [], "invariants": invariants})
    assert run_generator(answer("database.generator"), without_loans, 7, NOW)[1] == []


def test_policies() -> None:
    tools = [tool for tool in blueprint().tools if tool.kind != "read"]
    assert manual_faults(answer("policy.write"), blueprint().model_copy(update={"tools": tools})) == []
    limit = next(guard for guard in blueprint().tool("renew_loan").guards if guard.rule == "R4")
    (new,) = answer("policy.reword").sentences
    told = Rule("R4", [new.says], [limit.holds])
    assert audit_rule(told, blueprint(), common_words(blueprint())) == []
    assert count_faults(answer("policy.decide"), ["one", "two", "three"]) == []


def test_servers() -> None:
    (tool,) = (tool for tool in blueprint().tools if tool.name == "renew_loan")
    alone = blueprint().model_copy(update={"tools": [tool]})
    source = answer("server.write")
    assert static.static_faults(source, alone) == []
    patched = apply_patch(source, parse_patch(example("server.repair")))
    assert patched != source
    assert static.static_faults(patched, alone) == []
    assert static.own_test_faults(answer("server.tests"), alone) == []


def test_stories_and_goals() -> None:
    contract = blueprint()
    graph = ToolGraph(server="LendingLibrary", tools=[], edges=data_edges(contract))
    columns = {tool.name: list(column_origins(tool)) for tool in contract.tools}
    assert goal_faults(answer("tasks.goals"), contract, graph, columns) == [[], []]
    assert [word_faults(words, columns) for words in answer("tasks.references")] == [[]]
    tools = [
        Tool(name=t.name, kind=t.kind, description="", returns=Returns(rows="one", select="SELECT 1 AS one"))
        for t in answer("blueprint.book").tools
    ]
    outlined = contract.model_copy(update={"tools": tools})
    assert [s08.story_faults(story, outlined) for story in answer("tools.stories")] == [[], []]


def test_telling() -> None:
    known = [
        KnownFact(id="loan.title", value="The Salt Road", words="The Salt Road", type="string", about="loan: title"),
        KnownFact(
            id="loan.due_on", value="2025-02-03", words="3 February", type="date", about="loan: due on", withheld=True
        ),
        KnownFact(
            id="me.email", value="x", words="ada.frost07@example.org", type="string", about="me: email", secret=True
        ),
    ]
    persona = Persona(name="Ada Frost", age=41, style="brief", patience=5, traits=[])
    request = UserRequest(title="", company="", persona=persona, reason="", wishes=[], known=known)
    combination = Combination(
        id="x", template="x", server="LendingLibrary", kind="do", login="session", caller="LLMEM-0001", now=NOW,
        golden=[], steps=[], rows=[], values=[],
    )  # fmt: skip
    (telling,) = answer("tasks.tell")
    assert telling_faults(telling, request, combination) == []
