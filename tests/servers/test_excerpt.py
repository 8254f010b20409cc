"""What a repair shows of a server: the tools that differ, and lines for the others."""

import pytest

from skillweave.llm.parse import PatchError
from synth.offline.coding.server import write_server
from synth.servers.writing import excerpt
from tests.world.clinic import a_blueprint

SOURCE = write_server(a_blueprint())
OTHERS = {tool.name for tool in a_blueprint().tools} - {"pay_fee"}


def test_only_what_is_asked_for_is_shown_and_the_rest_comes_back() -> None:
    shown = excerpt(SOURCE, OTHERS)
    assert "def pay_fee(" in shown.text
    assert "def list_fees(" not in shown.text
    assert "# list_fees: right, left out\n" in shown.text
    assert "server = Server(" in shown.text
    assert len(shown.text) < len(SOURCE) / 2
    assert shown.whole(shown.text) == SOURCE
    assert shown.whole(shown.text.replace("def pay_fee(", "def pay(")) == SOURCE.replace("def pay_fee(", "def pay(")


def test_a_line_that_stands_for_a_function_must_stay() -> None:
    shown = excerpt(SOURCE, OTHERS)
    line = "# list_fees: right, left out\n"
    for spoiled in (shown.text.replace(line, ""), shown.text + line):
        with pytest.raises(PatchError, match="'# list_fees: right, left out' stands for a function that is right"):
            shown.whole(spoiled)
