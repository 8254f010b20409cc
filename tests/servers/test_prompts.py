"""What a server's author is shown: all that is needed of a contract, and little else."""

from skillweave.schema.blueprint import Blueprint
from synth.offline.coding.server import write_server
from synth.servers.skeleton import registry
from synth.servers.suite import DifferentialSuite
from synth.servers.writing import REPAIR, TESTS, WRITE, excerpt, tables_used, tool_outlines
from synth.simulation.generation import filled_tables
from synth.steps.s06_database_generation import GENERATOR
from tests.servers.fused import two_libraries
from tests.simulation.worlds import NOW, a_blueprint
from tests.world.clinic import a_blueprint as small


def written(blueprint: Blueprint) -> tuple[str, str]:
    views = [view.entity for view in blueprint.views]
    system, user = WRITE.render(
        {
            "blueprint": blueprint,
            "registry": "\n".join(registry(blueprint, NOW)),
            "outlines": tool_outlines(blueprint),
            "tables": [*blueprint.tables, *views],
        }
    )
    return str(system.content), str(user.content)


def repaired(blueprint: Blueprint, *names: str) -> str:
    outlines = tool_outlines(blueprint, names)
    others = {tool.name for tool in blueprint.tools} - set(names)
    messages = REPAIR.render(
        {
            "blueprint": blueprint,
            "outlines": outlines,
            "tables": tables_used(blueprint, outlines),
            "source": excerpt(write_server(blueprint, NOW), others).text,
            "failures": ["pay_invoice(): it differs"],
        }
    )
    return "\n".join(str(message.content) for message in messages)


def test_a_prompt_for_a_whole_service_is_compact() -> None:
    """With the contracts as JSON they were 83,400 characters, and 125,700 for a repair."""
    clinic = a_blueprint("DentalClinic")
    assert len("".join(written(clinic))) < 37_000
    assert len(repaired(clinic, "pay_invoice", "find_open_slots")) < 17_000


def test_each_statement_and_sentence_is_shown_once_for_its_tool() -> None:
    clinic = small()
    _, user = written(clinic)
    for tool in clinic.tools:
        assert f"def {tool.name}(" in user
        assert f"returns {tool.returns.rows}: {tool.returns.select}" in user
        for effect in tool.effects:
            assert f"effect: {effect.sql}" in user
        for guard in tool.guards:
            held = guard.enforced_by == "tool"
            assert (f"guard {guard.rule} {guard.error}: {guard.holds}" in user) == held
            assert not held or user.count(guard.says) == 1
    assert "booleans: wants_reminders, asked" in user
    assert "observable" not in user


def test_a_repair_shows_the_tools_that_differ_and_their_tables() -> None:
    clinic = small()
    told = repaired(clinic, "pay_fee")
    assert "- fee: fee_id, patient_id, appointment_id, amount_cents integer, is_paid boolean" in told
    assert "- reminder:" not in told
    assert "not_your_fee: " in told
    assert "def pay_fee(" in told
    assert "not_your_appointment" not in told


def test_what_is_of_several_companies_is_told_only_where_they_are() -> None:
    fused, _ = two_libraries()
    system, user = written(fused)
    assert "db.person" in user
    assert "people=People(" in user
    assert "- South__Reader__person: reader_id" in user
    assert '@server.tool("read", member="south")' in user
    assert "db.person" not in "".join(written(small()))
    assert system == written(small())[0]


def test_examples_are_calls_in_python_with_few_words(proof: DifferentialSuite) -> None:
    _, user = TESTS.render({"blueprint": small(), "examples": list(proof.examples)})
    text = str(user.content)
    assert "is refused: 'not_your_appointment', rule 'R2'" in text
    assert "'value': {'" in text
    assert "': True" in text
    assert "': true" not in text
    assert "patch=[{'table': " in text
    assert "'before'" not in text


def test_a_generator_is_told_how_values_are_drawn_without_defaults() -> None:
    clinic = a_blueprint("DentalClinic")
    _, user = GENERATOR.render({"blueprint": clinic, "filled": filled_tables(clinic), "shared": ["full_name"]})
    text = str(user.content)
    assert "one row for each of `people`; full_name taken from there" in text
    assert "- plan_changed_on date, nullable; -400..-10 days, NULL in a share of 0.5\n" in text
    assert "any of these, weights [93.0, 7.0]" in text
    assert "- {'treatment_name': 'routine check-up', " in text
    assert "None " not in text.replace("None of these", "")
    assert len(text) < 14_500
