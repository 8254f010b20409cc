"""s13, on a small run's artifacts: what it writes, and what an author's faulty answers make of it."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest

from skillweave.base.manifest import ItemOutput, ItemRecord
from skillweave.base.store import Store
from skillweave.llm.ask import AuthorChain
from skillweave.llm.backends.backend import Reply, Request
from skillweave.llm.ledger import Ledger
from skillweave.schema.blueprint import BridgeRule
from skillweave.schema.contract import KeyCall, Policy
from skillweave.schema.fusion import DomainCombination, Fusion, StoryCall, Storyline
from synth.artifacts import (
    BLUEPRINTS,
    CONTRACTS,
    DATABASE,
    DOMAIN_COMBINATIONS,
    FUSIONS,
    KEY_CALLS,
    MEDIATIONS,
    POLICIES,
    SERVERS,
    TOOL_LISTS,
)
from synth.engine.artifact import Artifact, decode, encode
from synth.engine.context import Context, RunSetting
from synth.engine.executor import ItemExecutor
from synth.offline.author import OfflineAuthor
from synth.offline.coding.server import write_server
from synth.offline.manuals import ManualWriter
from synth.policy.manual import assemble_manual
from synth.servers.suite import prepare_suite
from synth.servers.writing import SERVER_REPORTS
from synth.steps.s13_policy_merge import MergeParams, policy_merge
from tests.fusion.companies import AIRLINE, FINES_FIRST, ILL, LIBRARY, NOW, PLANS_ONLY, ground, joint, singles

R = TypeVar("R")
T = TypeVar("T")
Answer = Callable[[Request], str | None]
NAME = joint().server


@cache
def key_calls() -> dict[str, list[KeyCall]]:
    """On which the proofs of the companies' own servers stand."""
    suites = {one.blueprint.server: prepare_suite(one.blueprint, one.content, NOW, "7") for one in singles()}
    return {server: list(suite.key_calls) for server, suite in suites.items()}


class Run:
    """A run's artifacts up to the fused database, the step on them, and the offline author, or another before it."""

    name = "offline/author"

    def __init__(self, outputs: Path, bridges: list[BridgeRule], instead: Answer = lambda request: None) -> None:
        self.store = Store(outputs)
        self.visible: dict[tuple[str, str], ItemOutput] = {}
        self.asked: list[str] = []
        self._instead = instead
        servers = ["Airline", "Library"]
        story = Storyline(
            name="story",
            title="A story",
            calls=[StoryCall(server="Library", tool="pay_fine"), StoryCall(server="Airline", tool="cancel_booking")],
            reasons=["I read on the way."],
            bridges=bridges,
        )
        fusion = Fusion(name=NAME, domains=servers, storylines=[story], proofs={}, pruned=[], rejected={}, searches=0)
        self._write(
            DOMAIN_COMBINATIONS,
            NAME,
            encode(DOMAIN_COMBINATIONS, DomainCombination(name=NAME, domains=servers, person="Person", links=[])),
        )
        self._write(FUSIONS, NAME, encode(FUSIONS, fusion))
        self._write(CONTRACTS, NAME, encode(CONTRACTS, joint()))
        self._write(DATABASE, NAME, ground().content)
        for one in (AIRLINE, LIBRARY):
            self._write(POLICIES, one.server, assemble_manual(ManualWriter(one, Random(1)).parts(), one).encode())
            self._write(BLUEPRINTS, one.server, encode(BLUEPRINTS, one))
            self._write(SERVERS, one.server, write_server(one, NOW).encode())
            self._write(KEY_CALLS, one.server, encode(KEY_CALLS, key_calls()[one.server]))

    def record(self, **params: Any) -> ItemRecord:
        """The step's item, run."""
        context: Context[MergeParams] = Context(
            policy_merge,
            NAME,
            params=MergeParams(**params),
            setting=RunSetting(7, NOW, ()),
            store=self.store,
            visible=self.visible,
            services=self,
        )
        return ItemExecutor().execute(policy_merge, context, [])

    def read(self, artifact: Artifact[T]) -> T:
        """What the step has written."""
        path = artifact.path(NAME)
        return decode(artifact, self.store.read(path), path)

    def line(self, step: str, role: str) -> AuthorChain:
        """Always the same author."""
        return AuthorChain([self], Ledger())

    async def complete(self, request: Request) -> Reply:
        """An answer."""
        self.asked.append(request.question)
        own = self._instead(request)
        return Reply(OfflineAuthor(7)(request) if own is None else own)

    async def close(self) -> None:
        """Nothing is open."""

    async def offload(self, function: Callable[..., R], *arguments: object) -> R:
        """Work for the pool, done in place."""
        return function(*arguments)

    def log(self, step: str, key: str, message: str) -> None:
        """Nobody reads it."""

    def _write(self, artifact: Artifact[Any], key: str, content: bytes) -> None:
        path = f"given/{artifact.pattern.replace('{key}', '')}/{key}"
        self.store.write(path, content)
        self.visible[artifact.pattern, key] = ItemOutput(
            artifact=artifact.pattern, key=key, label=artifact.label(key), path=path, digest="", size=0, mtime_ns=0
        )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    made = Run(tmp_path_factory.mktemp("outputs"), [PLANS_ONLY, ILL])
    record = made.record()
    assert record.state == "done", record.reasons
    return made


def test_bridge_rules_are_numbered_proven_and_held_by_both(run: Run) -> None:
    made = run.read(MEDIATIONS)
    assert [proof.rule for proof in made.proofs] == ["B1", "B2"]
    assert sorted(rule.enforced_by for rule in made.bridges) == ["agent", "tool"]
    assert made.dropped == {}


def test_the_policy_is_one_and_prints_what_was_settled(run: Run) -> None:
    text = run.read(POLICIES)
    policy = Policy(world=NAME, text=text)
    assert policy.tools == [tool.name for tool in joint().tools]
    assert {"B1", "B2"} <= set(policy.rules)
    assert all(conflict.resolution in text for conflict in run.read(MEDIATIONS).conflicts)
    assert (text.count("decline_request"), text.count("transfer_to_human")) == (1, 1)
    assert "airline__sign_in" in policy.for_tools([]).text


def test_a_request_can_be_declined_by_any_rule_of_the_domains_and_between_them(run: Run) -> None:
    *tools, decline, transfer = (tool["function"] for tool in run.read(TOOL_LISTS))
    assert [tool["name"] for tool in tools] == [tool.name for tool in joint().tools]  # type: ignore[call-overload,index]
    assert (decline["name"], transfer["name"]) == ("decline_request", "transfer_to_human")  # type: ignore[call-overload,index]
    assert decline["parameters"]["properties"]["rule"]["enum"] == ["B1", "B2", *joint().rules]  # type: ignore[call-overload,index]


def test_the_server_refuses_by_the_bridge_rules_that_tools_hold(run: Run) -> None:
    held = next(rule for rule in run.read(MEDIATIONS).bridges if rule.enforced_by == "tool")
    assert held.error in run.read(SERVERS)


def test_the_server_is_carried_over_and_its_author_writes_only_tests(run: Run) -> None:
    assert [question for question in run.asked if question.startswith("server.")] == ["server.tests"]
    report = run.read(SERVER_REPORTS)
    assert (report.carried, report.rounds, report.guards_unmet) == (len(joint().tools), 0, [])


def test_what_cannot_be_carried_over_is_written_anew(tmp_path: Path) -> None:
    made = Run(tmp_path, [PLANS_ONLY])
    made._write(SERVERS, "Library", write_server(LIBRARY, NOW).replace('rule="R1"', 'rule="R" + "1"').encode())
    assert made.record().state == "done"
    assert "server.write" in made.asked
    assert made.read(SERVER_REPORTS).carried == 0


def mediated(change: Callable[[dict[str, Any]], None]) -> Answer:
    """The offline author as a mediator, with its answer changed: in the first round, or for ever."""

    def answer(request: Request) -> str | None:
        if request.question != "fusion.mediate":
            return None
        found = json.loads(OfflineAuthor(7)(request))
        found["attempt"] = request.attempt
        change(found)
        del found["attempt"]
        return json.dumps(found)

    return answer


def test_a_rule_that_stays_wrong_is_dropped_and_the_rest_kept(tmp_path: Path) -> None:
    def unsaid(answer: dict[str, Any]) -> None:
        answer["bridges"][0]["says"] = f"Nobody may, {answer['attempt']} or not."

    made = Run(tmp_path, [PLANS_ONLY, ILL], mediated(unsaid))
    assert made.record().rejected == {"bridge rule dropped": 1}
    record = made.read(MEDIATIONS)
    assert record.numbers == {ILL.rule: "B1"}
    assert "the sentence does not" in record.dropped[PLANS_ONLY.rule]


def test_a_mediator_mends_a_lock_when_told_of_it(tmp_path: Path) -> None:
    def mended(answer: dict[str, Any]) -> None:
        if answer["attempt"]:
            answer["bridges"][0] |= {"holds": PLANS_ONLY.holds, "says": PLANS_ONLY.says}

    made = Run(tmp_path, [FINES_FIRST, ILL], mediated(mended))
    assert made.record().state == "done"
    assert made.asked.count("fusion.mediate") == 2
    assert made.read(MEDIATIONS).numbers == {FINES_FIRST.rule: "B1", ILL.rule: "B2"}


def test_without_a_word_on_privacy_the_item_is_rejected(tmp_path: Path) -> None:
    def silent(answer: dict[str, Any]) -> None:
        answer["conflicts"] = [one for one in answer["conflicts"] if one["about"] != "privacy"]

    record = Run(tmp_path, [PLANS_ONLY], mediated(silent)).record()
    assert record.state == "rejected"
    assert "nothing settles privacy" in record.reasons[0]
