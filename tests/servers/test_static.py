"""What is said of a server's source without running it."""

import pytest

from synth.offline.coding.server import write_server
from synth.servers import skeleton as static
from synth.servers.skeleton import static_faults
from tests.world.clinic import a_blueprint

RIGHT = write_server(a_blueprint())


def test_a_right_server_has_no_fault() -> None:
    assert static_faults(RIGHT, a_blueprint()) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("def pay_fee(", "def pay_fee(:", "syntax error"),
        ("from typing", "import os\nfrom typing", "imports 'os'"),
        ("from typing", "import skillweave.world\nfrom typing", "imports 'skillweave.world'"),
        ("from typing", "from . import other\nfrom typing", "imports '.'"),
        ("fee = db.one(", "fee = eval(", "uses 'eval'"),
        ("fee = db.one(", "fee = open(", "uses 'open'"),
        ("fee = db.one(", "fee = db.connection.execute(", "uses 'connection' of the runtime"),
        ("fee = db.one(", "fee = ().__class__.__bases__[0].__subclasses__() or db.one(", "'__subclasses__'"),
        ("julianday(:now)", "julianday('now')", "reads the outside"),
        ("fee = db.one(", "now = datetime.now()\n    fee = db.one(", "reads the wall clock"),
        ("def pay_fee(", "def pay_fees(", "no function 'pay_fee'"),
        ("    amount_cents: Annotated[int", "    amount: Annotated[int", "must take ['fee_id', 'amount_cents']"),
        ("server = Server(", "served = Server(", "no `server = Server(...)`"),
        ('"R1", "R2", ', '"R1", ', 'in this order: rules=["R1", "R2", '),
        ("rules=[", "rules=[*OTHERS,", 'in this order: rules=["R1", "R2", '),
        ("    fee = db.one(", "    while True:\n        pass\n    fee = db.one(", "While is not allowed"),
        ("fee = db.one(", "fee = db.fetch(", "a session has no 'fetch'; it has the methods one, value,"),
        ("fee = db.one(", "fee = db.clock or db.one(", "and the values now, caller, person"),
        ("fee_id=fee_id)", "fee_id)", "db.one takes one argument, and bindings by name"),
        ("server = Server(", "\0server = Server(", "null bytes"),
    ],
)
def test_faults_are_named_with_the_way_out(old: str, new: str, told: str) -> None:
    assert old in RIGHT
    assert told in "; ".join(static_faults(RIGHT.replace(old, new, 1), a_blueprint()))


def test_equal_faults_are_one_line() -> None:
    wrong = RIGHT.replace("db.one(", "db.fetch(")
    assert wrong.count("db.fetch(") > 1
    (told,) = static_faults(wrong, a_blueprint())
    assert told.endswith(f"(and {wrong.count('db.fetch(') - 1} more)")


def test_endless_source_is_refused_before_it_is_parsed() -> None:
    assert "at most" in static_faults("x = 1\n" * 100_000, a_blueprint())[0]
    assert "cannot be parsed" in static_faults("x = " + "(" * 5000 + ")" * 5000, a_blueprint())[0] or static_faults(
        "x = " + "(" * 5000 + ")" * 5000, a_blueprint()
    )[0].startswith("line")


def test_tests_must_call_every_tool() -> None:
    assert "no function whose name begins with test_" in static.own_test_faults("x = 1", a_blueprint())[0]
    told = static.own_test_faults("def test_one():\n    pass\n", a_blueprint())
    assert "no test calls the tool 'pay_fee'" in told
