"""The proof of rewritten statements: what is redirected does not pass."""

import re
from collections.abc import Iterator

import pytest

from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import FusedBlueprint, FusedMember
from synth.fusion.blueprint import fuse
from synth.fusion.rewriting import ContractStatement, RewriteProver, prove_rewrites, statement_pairs
from synth.offline.services import built_in
from tests.fusion.awkward import READS, WRITES
from tests.fusion.libraries import library
from tests.simulation.worlds import a_blueprint

ALIKE = [library("Library", reads=READS, writes=WRITES), library("Archive")]
"""Two domains with the same tables: what is redirected from one to the other prepares all the same."""


@pytest.fixture(scope="module")
def fused() -> FusedBlueprint:
    return fuse(ALIKE)


@pytest.fixture(scope="module")
def prover(fused: FusedBlueprint) -> Iterator[RewriteProver]:
    made = RewriteProver(ALIKE, fused)
    yield made
    made.close()


def _redirected(member: FusedMember, place: ContractStatement) -> Iterator[ContractStatement]:
    """The statement with one reference after the other sent to the twin's table."""
    names = sorted([*member.tables.values(), member.view], key=len, reverse=True)
    for found in re.finditer("|".join(names), place.text):
        twin = found.group().replace("Library", "Archive")
        text = place.text[: found.start()] + twin + place.text[found.end() :]
        yield place._replace(text=text, query=place.query.replace(place.text, text))


def test_each_redirected_reference_is_seen(fused: FusedBlueprint, prover: RewriteProver) -> None:
    redirected = [
        (member, author, wrong)
        for member, author, place in statement_pairs(ALIKE, fused)
        if member.server == "Library"
        for wrong in _redirected(member, place)
    ]
    assert len(redirected) > 120
    for member, author, wrong in redirected:
        with pytest.raises(WorldError):
            prover.rewrite(member, author, wrong)


@pytest.mark.parametrize(
    ("author", "rewritten"),
    [
        ("SELECT title FROM copy WHERE status = 'here'", "SELECT title FROM Library__Copy WHERE status = 'lent'"),
        ("SELECT title FROM copy ORDER BY title", "SELECT title FROM Library__Copy ORDER BY title DESC"),
        ("SELECT copy_id FROM copy", "SELECT title FROM Library__Copy"),
        ("SELECT count(*) FROM copy", "SELECT count(*) FROM Library__Loan"),
        ("SELECT points FROM member", "SELECT tier FROM Library__Member"),
        ("SELECT points FROM member", "SELECT points FROM Library__Nothing"),
    ],
)
def test_another_meaning_is_no_rewrite(
    author: str, rewritten: str, fused: FusedBlueprint, prover: RewriteProver
) -> None:
    with pytest.raises(WorldError):
        prover.rewrite(
            fused.member("Library"), ContractStatement("", author, author), ContractStatement("", rewritten, rewritten)
        )


def test_the_statement_without_a_proof_is_named(fused: FusedBlueprint) -> None:
    wrong = fused.tool("library__mark_copy").model_copy(update={"returns": fused.tool("archive__mark_copy").returns})
    tools = [wrong if tool.name == wrong.name else tool for tool in fused.tools]
    with pytest.raises(WorldError, match="Library, mark_copy returns: rewritten it does not touch the same columns"):
        prove_rewrites(ALIKE, fused.model_copy(update={"tools": tools}))


@pytest.mark.parametrize("person", ["Patient", "Traveller"])
def test_every_statement_of_the_catalogue_is_proven_with_all_its_domains_in_one_world(person: str) -> None:
    headers = [service.header for service in built_in().services.values() if service.header.person == person]
    together = [a_blueprint(header.settings[0].domain) for header in headers]
    found = prove_rewrites(together, fuse(together))
    assert len(together) >= 4
    assert {rewrite.server for rewrite in found} == {one.server for one in together}
    assert {rewrite.proof for rewrite in found} == {"same code", "same code, columns apart", "through the view"}
