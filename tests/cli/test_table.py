import pytest

from synth.cli.display import show_table


def test_numbers_stand_to_the_right_and_words_to_the_left(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(
        ["step", "state", "count", "share", "cost"],
        [["s01", "done", "1,234", "97%", "$0.50"], ["s02_long", "not run", "7", "-", "unknown"]],
    )
    assert capsys.readouterr().out == (
        "step      state    count  share     cost\n"
        "s01       done     1,234    97%    $0.50\n"
        "s02_long  not run      7      -  unknown\n"
    )
