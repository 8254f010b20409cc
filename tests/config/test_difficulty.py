"""The section `difficulty`: one level, or a mix of levels."""

import pytest

from skillweave.base.errors import ConfigError
from skillweave.config.load import load_config


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ("difficulty.level=6", "difficulty.level is 6; it should be less than or equal to 5"),
        ("difficulty.level=hard", "difficulty.level is 'hard'; it should be a valid integer"),
        ("difficulty.mix={7: 1}", "difficulty.mix.7 is 7; it should be less than or equal to 5"),
        (
            "difficulty.mix={3: 0.5}",
            "difficulty.mix is {3: 0.5}; it should have shares from 0 to 1 that make 1 together",
        ),
        ("difficulty.mix={3: -1, 4: 2}", "it should have shares from 0 to 1 that make 1 together"),
        ("difficulty={level: 3, mix: {1: 1}}", "it should have a level or a mix, not both"),
        ("difficulty.leve=3", "unknown key 'difficulty.leve'; did you mean 'level'?"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(override: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load_config(None, [override])
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_level_is_the_share_of_all_tasks() -> None:
    assert load_config(None, ["difficulty.level=4"]).difficulty.shares == {4: 1.0}
    assert load_config(None, ["difficulty.mix={2: 0, 3: 0.25, 5: 0.75}"]).difficulty.shares == {3: 0.25, 5: 0.75}


def test_a_quarter_is_hard_unless_something_else_is_said() -> None:
    shares = load_config(None).difficulty.shares
    assert shares[4] + shares[5] >= 0.25
