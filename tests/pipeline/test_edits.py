"""Every artifact is read: one is edited as another upstream would have made it, and what follows comes out otherwise.

Where what follows cannot stand on the edit, a gate says so, with the reason.
"""

import json
import sqlite3
from collections.abc import Sequence

from skillweave.llm.backends.backend import Request
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination
from skillweave.schema.entity import Entity
from skillweave.schema.task import Task
from skillweave.world import database
from synth.artifacts import (
    BLUEPRINTS,
    COMBINATIONS,
    DATABASE,
    DOMAIN_TOPICS,
    DRAFTS,
    ENTITIES,
    ENTITY_GRAPH,
    ENTITY_ROWS,
    GENERATORS,
    POLICIES,
    QUERIES,
    RELATIONSHIP_ROWS,
    SERVERS,
    SUMMARIES,
    TEMPLATES,
    TOOL_GRAPHS,
    TOOL_LISTS,
    VALIDATED,
)
from tests.pipeline.downstream import Downstream

HOTEL = "CityHotel"
PHARMACY = "CornerPharmacy"


def without(entities: Sequence[Entity], name: str, attribute: str, *, in_rows: bool = True) -> list[Entity]:
    """The entities, one of them without an attribute; its literal rows too, unless told otherwise."""
    found = []
    for entity in entities:
        if entity.name == name:
            literal = entity.rows.literal
            if literal and in_rows:
                literal = [{column: cell for column, cell in row.items() if column != attribute} for row in literal]
            rows = entity.rows.model_copy(update={"literal": literal})
            kept = [a for a in entity.attributes if a.name != attribute]
            entity = entity.model_copy(update={"attributes": kept, "rows": rows})
        found.append(entity)
    return found


def tools_of(blueprint: Blueprint) -> set[str]:
    return {tool.name for tool in blueprint.tools}


def test_a_domain_s_topic_is_its_blueprint_s_and_its_person_is_checked(line: Downstream) -> None:
    domain = line.read(DOMAIN_TOPICS, PHARMACY)
    line.edit(DOMAIN_TOPICS, PHARMACY, domain.model_copy(update={"topic": "a chemist's shop"}))
    assert line.changed("s04", PHARMACY) == {f"blueprints/{PHARMACY}.json"}
    assert line.read(DRAFTS, PHARMACY).domain == "a chemist's shop"
    line.edit(DOMAIN_TOPICS, PHARMACY, domain.model_copy(update={"person": "Reader"}))
    rejected = line.run("s02", PHARMACY)
    assert rejected.state == "rejected"
    assert "role_of: 'Reader'" in rejected.reasons[0]


def test_a_domain_s_seed_is_the_origin_of_its_tasks(line: Downstream) -> None:
    domain = line.read(DOMAIN_TOPICS, PHARMACY)
    line.edit(DOMAIN_TOPICS, PHARMACY, domain.model_copy(update={"seed": "medicine by the corner"}))
    line.changed("s17", PHARMACY)
    assert {task.lineage.seed_domain for task in line.read(QUERIES, PHARMACY)} == {"medicine by the corner"}


def test_a_dropped_attribute_is_gone_from_contracts_and_results(line: Downstream) -> None:
    entities, before = line.read(ENTITIES, PHARMACY), line.read(DRAFTS, PHARMACY)
    line.edit(ENTITIES, PHARMACY, without(entities, "Medicine", "substance", in_rows=False))
    rejected = line.run("s04", PHARMACY)
    assert rejected.state == "rejected"
    assert "literal row has the unknown attribute 'substance'" in rejected.reasons[0]
    line.edit(ENTITIES, PHARMACY, without(entities, "Medicine", "substance"))
    assert line.run("s03", PHARMACY).state == "done"
    assert line.changed("s04", PHARMACY) == {f"blueprints/{PHARMACY}.json"}
    after = line.read(DRAFTS, PHARMACY)
    assert "substance" in before.tool("find_medicines").returns.select
    assert "substance" not in after.model_dump_json(include={"tools", "invariants", "events"})


def test_a_renamed_entity_is_followed_by_graph_contracts_and_tools(line: Downstream) -> None:
    text = json.dumps([entity.model_dump(mode="json") for entity in line.read(ENTITIES, HOTEL)])
    renamed = [Entity.model_validate(one) for one in json.loads(text.replace('"RoomType', '"RoomClass'))]
    line.edit(ENTITIES, HOTEL, renamed)
    line.changed("s03", HOTEL)
    relations = line.read(ENTITY_GRAPH, HOTEL).relations
    assert ("RoomClass", "Room") in {(relation.source, relation.target) for relation in relations}
    line.changed("s04", HOTEL)
    draft = line.read(DRAFTS, HOTEL)
    assert "room_type " not in draft.tool("book_room").effects[0].sql
    assert "room_class" in draft.model_dump_json()


def test_an_edge_taken_from_the_graph_takes_what_stands_on_it(line: Downstream) -> None:
    graph = line.read(ENTITY_GRAPH, HOTEL)
    kept = [relation for relation in graph.relations if "OrderedExtra" not in (relation.source, relation.target)]
    line.edit(ENTITY_GRAPH, HOTEL, graph.model_copy(update={"relations": kept}))
    line.changed("s04", HOTEL)
    draft = line.read(DRAFTS, HOTEL)
    assert not {"OrderedExtra", "Extra"} & {entity.name for entity in draft.tables}
    assert "order_extra" not in tools_of(draft)
    assert "book_room" in tools_of(draft)


def test_a_tool_taken_from_a_draft_is_offered_nowhere(line: Downstream) -> None:
    draft = line.read(DRAFTS, HOTEL)
    fewer = [tool for tool in draft.tools if tool.name != "redeem_points"]
    line.edit(DRAFTS, HOTEL, draft.model_copy(update={"tools": fewer}))
    assert line.changed("s05") == {f"blueprints.json[{HOTEL}]", f"tool_lists/{HOTEL}.json"}
    assert "redeem_points" not in tools_of(line.read(BLUEPRINTS, HOTEL))
    assert "redeem_points" not in json.dumps(line.read(TOOL_LISTS, HOTEL))


def test_a_changed_rule_is_stated_anew_and_compiled_anew(line: Downstream) -> None:
    blueprint = line.read(BLUEPRINTS, HOTEL)
    guard = blueprint.tool("redeem_points").guards[-1]
    changed = guard.model_copy(update={"says": f"{guard.says.rstrip('.')}, as printed on the invoice."})
    line.edit(BLUEPRINTS, HOTEL, _with_guard(blueprint, "redeem_points", changed))
    assert line.changed("s07", HOTEL) == {f"policies/{HOTEL}.md"}
    assert "as printed on the invoice." in line.read(POLICIES, HOTEL)


def _with_guard(blueprint: Blueprint, name: str, guard: object) -> Blueprint:
    rule = getattr(guard, "rule", "")
    tools = [
        tool.model_copy(update={"guards": [guard if g.rule == rule else g for g in tool.guards]})
        if tool.name == name
        else tool
        for tool in blueprint.tools
    ]
    return blueprint.model_copy(update={"tools": tools})


def test_a_tool_that_is_not_offered_is_in_no_task(line: Downstream) -> None:
    tools = line.read(TOOL_LISTS, PHARMACY)
    line.edit(TOOL_LISTS, PHARMACY, [tool for tool in tools if '"set_reminder"' not in json.dumps(tool)])
    record = line.run("s17", PHARMACY)
    assert record.rejected["a golden tool is not offered, or not in the policy"] > 0
    used = {call.tool for task in line.read(QUERIES, PHARMACY) for call in task.golden}
    assert "set_reminder" not in used
    assert "order_refill" in used


def _emptied(line: Downstream, key: str, statement: str) -> bytes:
    blueprint = line.read(BLUEPRINTS, key)
    connection: sqlite3.Connection = database.load(line.read(DATABASE, key), blueprint)
    connection.execute(statement)
    return database.to_bytes(connection, blueprint)


def _ordering(line: Downstream) -> list[str]:
    """The combinations in which a refill is ordered."""
    return [
        one.id for one in line.read(COMBINATIONS, PHARMACY) if any(call.tool == "order_refill" for call in one.golden)
    ]


def test_rows_taken_from_the_database_leave_no_instances_and_no_edges(line: Downstream) -> None:
    assert _ordering(line)
    line.edit_file(DATABASE, PHARMACY, _emptied(line, PHARMACY, "UPDATE pickup_window SET status = 'closed'"))
    line.run("s15", PHARMACY)
    assert not _ordering(line)
    before = line.read(TOOL_GRAPHS, PHARMACY)
    assert line.changed("s08", PHARMACY) == {f"tool_graphs/{PHARMACY}.json"}
    assert len(line.read(TOOL_GRAPHS, PHARMACY).edges) < len(before.edges)


def test_another_generator_makes_other_rows_and_a_broken_one_none(line: Downstream) -> None:
    assert line.changed("s06", PHARMACY) == set()

    def hollow(request: Request, text: str) -> str:
        return "def generate(*given):\n    return {}\n" if request.question == "database.generator" else text

    script = line.read(GENERATORS, PHARMACY)
    branch = line.read(ENTITY_ROWS, f"{PHARMACY}__Branch")[0]["branch_name"]
    line.twist = lambda request, text: (
        text.replace(str(branch), "Canal Side") if request.question == "database.generator" else text
    )
    changed = line.changed("s06", PHARMACY)
    assert str(branch) in script
    assert {f"database/scripts/{PHARMACY}.py", f"database/{PHARMACY}.sqlite"} <= changed
    assert f"database/outputs/entities/{PHARMACY}__Branch.json" in changed
    assert "Canal Side" in {row["branch_name"] for row in line.read(ENTITY_ROWS, f"{PHARMACY}__Branch")}
    line.twist = hollow
    assert line.run("s06", PHARMACY).state == "rejected"


def test_rows_are_written_down_as_the_database_holds_them(line: Downstream) -> None:
    """The rows in JSON are a view of the database: no step of a single domain reads them."""
    blueprint = line.read(BLUEPRINTS, PHARMACY)
    held = database.load(line.read(DATABASE, PHARMACY), blueprint)
    branch, order = blueprint.entity("Branch"), blueprint.entity("RefillOrder")
    assert line.read(ENTITY_ROWS, f"{PHARMACY}__Branch") == database.rows(held, branch)
    assert line.read(RELATIONSHIP_ROWS, f"{PHARMACY}/RefillOrder") == database.rows(held, order)


def test_a_summary_of_an_empty_world_asks_for_no_goals(line: Downstream) -> None:
    summary = line.read(SUMMARIES, PHARMACY)
    line.edit(SUMMARIES, PHARMACY, summary.model_copy(update={"rows": dict.fromkeys(summary.rows, 0)}))
    assert line.changed("s14", PHARMACY) == {f"task_templates/{PHARMACY}.json"}
    assert line.read(TEMPLATES, PHARMACY) == []


def test_a_rule_that_the_policy_drops_takes_the_tasks_that_rest_on_it(line: Downstream) -> None:
    before = dict(line.run("s16", PHARMACY).rejected)
    rule = line.read(BLUEPRINTS, PHARMACY).tool("set_reminder").guards[-1].rule
    line.edit(POLICIES, PHARMACY, line.read(POLICIES, PHARMACY).replace(f"[{rule}]", ""))
    after = dict(line.run("s16", PHARMACY).rejected)
    assert after.pop("rule not in the policy") > 0
    # What was rejected for another reason may be rejected for this one now, and nothing else is.
    assert {reason for reason, count in after.items() if count > before.get(reason, 0)} <= {
        "more than its share of the world's tasks"
    }
    left = [validated.combination for validated in line.read(VALIDATED, PHARMACY)]
    assert left
    assert not [c for c in left if any(call.tool == "set_reminder" for call in c.golden)]


def test_a_story_that_is_not_told_takes_its_goals(line: Downstream) -> None:
    graph = line.read(TOOL_GRAPHS, PHARMACY)
    edges = [edge for edge in graph.edges if (edge.kind, edge.target) != ("story", "pay_order")]
    line.edit(TOOL_GRAPHS, PHARMACY, graph.model_copy(update={"edges": edges}))
    line.changed("s14", PHARMACY)
    names = {template.id.rpartition("/")[2] for template in line.read(TEMPLATES, PHARMACY)}
    assert "refill_and_pay" not in names
    assert {"refill", "cancel"} <= names


def test_a_goal_whose_row_no_read_shows_is_left_out(line: Downstream) -> None:
    graph = line.read(TOOL_GRAPHS, PHARMACY)
    edges = [edge for edge in graph.edges if (edge.target, edge.parameter) != ("order_refill", "window_id")]
    line.edit(TOOL_GRAPHS, PHARMACY, graph.model_copy(update={"edges": edges}))
    line.changed("s14", PHARMACY)
    names = {template.id.rpartition("/")[2] for template in line.read(TEMPLATES, PHARMACY)}
    assert "cancel" in names
    assert "refill" not in names


def test_a_server_that_differs_from_its_contract_is_rejected(line: Downstream) -> None:
    assert "'cancelled'" in line.read(SERVERS, PHARMACY)
    line.twist = lambda request, text: (
        text.replace("'cancelled'", "'called off'") if request.question.startswith("server.") else text
    )
    record = line.run("s09", PHARMACY)
    assert record.state == "rejected"
    sent_back = [request for request in line.requests if request.question == "server.repair"]
    assert "called off" in str(sent_back[0].messages)


def test_a_template_that_asks_for_nothing_more_has_other_instances(line: Downstream) -> None:
    templates = line.read(TEMPLATES, PHARMACY)
    kept = [template for template in templates if template.id == f"{PHARMACY}/renew"]
    line.edit(TEMPLATES, PHARMACY, [template.model_copy(update={"tell": []}) for template in kept])
    line.changed("s15", PHARMACY)
    found = line.read(COMBINATIONS, PHARMACY)
    assert {combination.template for combination in found} == {f"{PHARMACY}/renew"}
    assert not any(combination.communicate for combination in found)


def test_a_combination_that_is_not_sound_falls_at_its_gate(line: Downstream) -> None:
    combinations = line.read(COMBINATIONS, PHARMACY)
    # Not all are judged: which are depends on what the others give.
    spoilt = [_unsourced(one) if one.kind == "do" else one for one in combinations]
    line.edit(COMBINATIONS, PHARMACY, spoilt)
    record = line.run("s16", PHARMACY)
    assert record.rejected["argument without source"] > 1
    assert not [one for one in line.read(VALIDATED, PHARMACY) if one.combination.kind == "do"]


def _unsourced(combination: Combination) -> Combination:
    golden = [call.model_copy(update={"grounding": {}}) for call in combination.golden]
    return combination.model_copy(update={"golden": golden})


def test_a_validated_task_is_told_as_it_is(line: Downstream) -> None:
    validated = line.read(VALIDATED, PHARMACY)
    tasks = line.read(QUERIES, PHARMACY)
    line.edit(VALIDATED, PHARMACY, validated[1:])
    line.changed("s17", PHARMACY)
    dropped = {task.id for task in tasks} - {task.id for task in line.read(QUERIES, PHARMACY)}
    assert [_combo(task) for task in tasks if task.id in dropped] == [validated[0].combination.id]


def _combo(task: Task) -> str:
    return task.task_info.combo_id
