"""Lower case."""

from rollout.user.telling.lower import lowered


def test_codes_and_the_mark_of_the_end_stay() -> None:
    assert (
        lowered("I want KR 213, at DT78 0HY. Thanks, Ana! ###STOP###")
        == "i want KR 213, at DT78 0HY. thanks, ana! ###STOP###"
    )
    assert lowered("Marked INV-18854 by Dr Iyer.") == "marked INV-18854 by dr iyer."
