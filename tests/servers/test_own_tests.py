"""A server's own tests count only where pytest says that each of them has passed."""

import pytest

from synth.servers.writing import failures

TEST = "def test_one():\n    assert True\n"


def test_passing_tests_are_believed() -> None:
    assert failures("Clinic", "", "\n" + TEST, b"") == []


@pytest.mark.parametrize(
    ("source", "tests"),
    [
        ("", TEST + "\nimport os\nos._exit(0)\n"),
        (
            "import os\nprint('9 passed')\nos._exit(0)\n",
            "import sys\nsys.path.insert(0, 'mcp_servers')\nimport Clinic\n" + TEST,
        ),
        ("", "import pytest\n" + TEST + "\ndef test_two():\n    pytest.exit('enough', returncode=0)\n"),
        ("", "import pytest\n\n@pytest.mark.skip\n" + TEST),
    ],
    ids=["the tests end the process", "the server ends it", "pytest is told to end", "nothing is tested"],
)
def test_a_status_of_0_alone_proves_nothing(source: str, tests: str) -> None:
    (told,) = failures("Clinic", source, tests, b"")
    assert told.startswith("the tests do not pass: pytest did not report that all of them passed")


def test_each_failing_test_is_told_with_what_it_got() -> None:
    wrong = "def test_two():\n    assert {'ok': True, 'due_on': '2025-02-10'} == {'ok': True, 'due_on': '2025-02-17'}\n"
    told = failures("Clinic", "", f"{TEST}\n{wrong}\ndef test_three():\n    raise ValueError('none')\n", b"")
    assert [one.partition("test_")[2].partition(":")[0] for one in told] == ["two", "three"]
    assert "{'due_on': '2025-02-10'} != {'due_on': '2025-02-17'}" in told[0]
    assert "ValueError: none" in told[1]
    assert all(len(one.splitlines()) < 16 for one in told)
