from tests.world.clinic import a_world


def test_kin_are_the_other_values_of_the_columns_that_hold_a_value() -> None:
    world = a_world()
    names = sorted({str(row["full_name"]) for row in people()})
    assert world.kin(names[0]) >= frozenset(names[1:])
    assert names[0] not in world.kin(names[0])


def people() -> list[dict[str, object]]:
    with a_world().session(caller="PAT-0001") as session:
        return [dict(row) for row in session.rows("patient")]


def test_what_no_text_column_holds_has_no_kin() -> None:
    world = a_world()
    assert world.kin("Nobody Anywhere") == world.kin(12) == world.kin(None) == world.kin(["x"]) == frozenset()
    with world.session(caller="PAT-0001") as session:
        assert session.kin("Nobody Anywhere") == frozenset()
