"""s03: relate the entities of each domain to the person whom it serves.

Every entity must be connected with that person. One that is not goes back to the author by name.
"""

from collections.abc import Sequence

from skillweave.llm.question import question
from skillweave.schema.entity import Entity, EntityGraph, Relation
from skillweave.schema.record import table_of
from synth.artifacts import DOMAIN_TOPICS, ENTITIES, ENTITY_GRAPH
from synth.engine.context import Context
from synth.engine.step import Params, step

RELATE = question("graph.relate", returns=list[Relation], most=64, under="relations")


@step(each=ENTITIES, reads=[DOMAIN_TOPICS, ENTITIES], writes=[ENTITY_GRAPH], params=Params, questions=[RELATE])
async def entity_graph(ctx: Context[Params], key: str) -> None:
    domain, entities = ctx.read(DOMAIN_TOPICS), ctx.read(ENTITIES)
    relations = await ctx.ask(
        RELATE, domain=domain, entities=entities, check=lambda relations: faults(entities, relations)
    )
    ctx.count("relations", len(relations))
    ctx.write(ENTITY_GRAPH, key, EntityGraph(domain=key, core_entity=entities[0].name, relations=relations))


def reachable(graph: EntityGraph) -> set[str]:
    """Entities and relationships that are connected with the core person, itself included."""
    return _connected(graph.core_entity, graph.relations)


def faults(entities: Sequence[Entity], relations: Sequence[Relation]) -> list[str]:
    """What is wrong with a domain's relations, in words for their author."""
    names = {entity.name for entity in entities}
    relationships = {relation.through for relation in relations if relation.through}
    tables = {table_of(name): name for name in sorted(names)}
    complaints = [
        f"relationship {name!r} is named like the entity {tables[table_of(name)]!r}; give it another name"
        for name in sorted(relationships)
        if table_of(name) in tables
    ]
    for relation in relations:
        for end in (relation.source, relation.target):
            if end not in names | relationships:
                complaints.append(
                    f"{end!r} is neither an entity nor a relationship; there are {', '.join(sorted(names))}"
                )
    if not complaints:
        unconnected = names - _connected(entities[0].name, relations)
        complaints += [f"{name} is not connected with {entities[0].name}" for name in sorted(unconnected)]
    return complaints


def _connected(core: str, relations: Sequence[Relation]) -> set[str]:
    import networkx as nx  # An eighth of the time of the commands that only look at a folder.

    network: nx.Graph[str] = nx.Graph()
    network.add_node(core)
    for relation in relations:
        network.add_edge(relation.source, relation.target)
        if relation.through:
            network.add_edge(relation.source, relation.through)
            network.add_edge(relation.target, relation.through)
    return set(nx.node_connected_component(network, core))
