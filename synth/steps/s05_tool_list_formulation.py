"""s05: bring all blueprints into one form, and export the tool lists that agents get.

This is the one step that sees all servers side by side. It numbers rules, gives every table of the run a prefix of its
own for ids, and checks that servers agree on the shared attributes of a person and that held-out domains exist. It asks
no author.
"""

from skillweave.base.errors import AuthorError, ConfigError
from skillweave.schema.blueprint import Blueprint
from skillweave.world.tools import tool_definitions
from synth.artifacts import BLUEPRINTS, DOMAIN_TOPICS, DRAFTS, TOOL_LISTS
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.tasks.splits import holdout_fault
from synth.trial.draft import formulate, server_initials


@step(each=None, reads=[DOMAIN_TOPICS, DRAFTS], writes=[BLUEPRINTS, TOOL_LISTS], params=Params)
async def tool_list_formulation(ctx: Context[Params], key: str) -> None:
    fault = holdout_fault(ctx.splits, ctx.keys(DOMAIN_TOPICS)) if ctx.splits.holdout_domains else None
    if fault:
        raise ConfigError(fault)
    drafts = ctx.read_all(DRAFTS)
    initials = server_initials(list(drafts))
    people: dict[tuple[str, str], str] = {}
    written = 0
    for server, draft in drafts.items():
        clash = _clash(draft, people)
        if clash:
            ctx.reject(server, clash)
            continue
        blueprint = formulate(draft, initials[server])
        ctx.write(BLUEPRINTS, server, blueprint)
        ctx.write(TOOL_LISTS, server, tool_definitions(blueprint))
        written += 1
    if not written:
        raise AuthorError("no blueprint is left; the earlier steps' rejections say why")
    ctx.count("servers", written)


def _clash(draft: Blueprint, people: dict[tuple[str, str], str]) -> str | None:
    """Why a server's shared person does not agree with other servers'. If it agrees, its attributes are noted."""
    person = draft.core.role_of or ""
    for attribute in draft.core.attributes:
        if attribute.shared:
            known = people.setdefault((person, attribute.name), attribute.type)
            if known != attribute.type:
                return f"its {person}.{attribute.name} is {attribute.type}, elsewhere it is {known}"
    return None
