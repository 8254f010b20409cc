"""Gate for fused worlds, interlock: links between the calls join all domains of a task.

The gate leaves out each domain's calls in turn. If a remaining write then breaks a rule or loses the only source of an
argument, that shows a link. A domain on which no other depends can be left out; if there is none, the task is
interlocked both ways. A request that must be declined is interlocked if the rule that forbids it depends on columns of
all other domains.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from skillweave.schema.blueprint import FusedBlueprint, FusedTool
from skillweave.schema.combination import Combination
from skillweave.schema.contract import STRUCTURAL, CallResult, Guard, Tool
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.fusion import ProvenLink
from skillweave.schema.record import Json
from skillweave.world.replay import result_reference, value_at
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.wording import value_type
from synth.contracts.writes import columns_read
from synth.gates.declined import calls_showing_reason
from synth.gates.gate import Figures, JudgedTask, TaskGate
from synth.tasks.criteria import KnownValue, is_known, known_from_reads, known_from_results, said_by_user
from synth.tasks.kinds import is_declined
from synth.tasks.replay import Rejected, open_session, rows_of


def refusable_bridge_rules(fused: FusedBlueprint) -> list[str]:
    """Bridge rules for `refuse` tasks of a fused world: the agent enforces them, and they join all domains."""
    return [guard.rule for tool in fused.tools for guard in _bridging(fused, tool) if not _unread(fused, tool, guard)]


def check_declined_interlock(world: World, combination: Combination) -> dict[str, Json]:
    """The figure of a `refuse` task of a fused world. Raises Rejected if the task does not need each domain."""
    fused, request = world.blueprint, combination.asked
    assert isinstance(fused, FusedBlueprint)
    if request is None:
        raise Rejected("not interlocked", "nothing is asked for")
    tool = fused.tool(request.tool)
    assert isinstance(tool, FusedTool)
    guard = next((guard for guard in _bridging(fused, tool) if [guard.rule] == combination.forbidden), None)
    if guard is None:
        raise Rejected("not interlocked", f"no bridge rule that the agent holds is all that forbids {tool.name}")
    shown = {
        fused.member_of(combination.golden[place].tool).server for place in calls_showing_reason(world, combination)
    }
    others = sorted({member.server for member in fused.members} - {tool.server})
    apart = [*_unread(fused, tool, guard), *(server for server in others if server not in shown)]
    if apart:
        raise Rejected("not interlocked", f"{guard.rule} is not decided by what {apart[0]} shows")
    links = [
        ProvenLink(
            kind="rule",
            source=server,
            target=tool.server,
            call=len(combination.golden),
            tool=tool.name,
            rule=guard.rule,
            held_by="agent",
        )
        for server in others
    ]
    return {
        "ways": "one",
        "crossings": [crossing.model_dump(mode="json") for crossing in links],
        "without": {
            **dict.fromkeys(others, f"what decides {guard.rule} cannot be known"),
            tool.server: "nothing is asked for",
        },
        "demanded": {},
    }


def _bridging(fused: FusedBlueprint, tool: FusedTool) -> Iterator[Guard]:
    """Bridge rules of a tool that the agent enforces."""
    yield from (guard for guard in tool.guards if guard.rule in fused.bridge_rules and guard.enforced_by == "agent")


def _unread(fused: FusedBlueprint, tool: FusedTool, guard: Guard) -> list[str]:
    """Domains from which the guard reads nothing, without the tool's own domain."""
    read = {table for table, _ in columns_read(guard.holds)}
    owners = {entity.server for entity in [*fused.entities, *fused.relationships] if entity.table in read}
    return [member.server for member in fused.members if member.server not in {*owners, tool.server}]


class BrokenWrite(NamedTuple):
    """A write that did not succeed, or that broke a rule."""

    call: int
    parameter: str | None = None
    """The argument that lost its only source; None if the write broke a rule."""
    rule: str | None = None
    """The broken rule; None if the write lost an argument."""
    held_by: Literal["tool", "agent"] | None = None
    """Who enforces the broken rule."""


GATE = TaskGate(
    name="interlock",
    proves=(
        "Links join all domains of a task: of two linked domains, one cannot be served without the other. A call that "
        "the user has not asked for is demanded by a bridge rule."
    ),
    runs=(
        "The golden calls without those of each domain, arguments bound again from the results of the others: a write"
        " breaks a rule, or an argument has lost its only source; links join all domains. Without a demanded call, a "
        "later call breaks the rule that demands it. A refusal rests on a bridge rule that the agent enforces, that "
        "reads tables of every domain, and whose columns the golden calls look up in each."
    ),
    figures={
        "interlock.ways": "`both`: each domain is needed by another one; `one`: some domain is needed by none",
        "interlock.crossings": "links shown between domains",
        "interlock.without": "what happens without each domain",
        "interlock.demanded": "bridge rule -> golden writes that it demands",
    },
    reasons=(
        "not interlocked",
        "interlock cannot be tried",
        "demanded by nothing",
    ),
    check=lambda judged: _figures(judged),
)


def _figures(judged: JudgedTask) -> Figures:
    is_fused = len(judged.world.blueprint.roles) > 1
    return {"interlock": check_interlock(judged.world, judged.combination, judged.said)} if is_fused else {}


def check_interlock(
    world: World, combination: Combination, said: Sequence[KnownValue] | None = None
) -> dict[str, Json]:
    """The figure: the links shown, and what happened without each domain. `said` is all that the user says."""
    if is_declined(combination):
        return check_declined_interlock(world, combination)
    links = crossings(world, combination, said)
    without: dict[str, Json] = {member.server: "carried out all the same" for member in _fused(world).members}
    for crossing in reversed(links):
        lost = f"breaks {crossing.rule}" if crossing.rule else f"has lost its {crossing.parameter}"
        without[crossing.source] = f"call {crossing.call} ({crossing.tool}) {lost}"
    return {
        "ways": "both" if {link.source for link in links} == without.keys() else "one",
        "crossings": [crossing.model_dump(mode="json") for crossing in links],
        "without": without,
        "demanded": {rule: [*calls] for rule, calls in sorted(demanded_calls(world, combination, said).items())},
    }


def demanded_calls(
    world: World, combination: Combination, said: Sequence[KnownValue] | None = None
) -> dict[str, list[int]]:
    """Bridge rule -> golden writes that it demands, counted from 0: without any one of them a later call breaks it."""
    words = said_by_user(combination) if said is None else said
    bridges = _fused(world).bridge_rules
    calls_by_rule: dict[str, list[int]] = {}
    for place, call in enumerate(combination.golden):
        if world.blueprint.tool(call.tool).kind != "write":
            continue
        try:
            later = Remainder(world, combination, {place}, words, forgetful=False).carried_out()
        except Rejected:
            # A later call names a row that this call creates, so the rule is not all that needs it.
            continue
        for rule in sorted({broken.rule or "" for broken in later} & bridges):
            calls_by_rule.setdefault(rule, []).append(place)
    return calls_by_rule


def crossings(world: World, combination: Combination, said: Sequence[KnownValue] | None = None) -> list[ProvenLink]:
    """The links that a combination shows. Raises Rejected if they do not join all domains, or no rule needs a call."""
    words = said_by_user(combination) if said is None else [*said, KnownValue("today", combination.now[:10])]
    fused = _fused(world)
    owners = [fused.member_of(call.tool).server for call in combination.golden]
    links: list[ProvenLink] = []
    for member in fused.members:
        left_out = {place for place, owner in enumerate(owners) if owner == member.server}
        broken = Remainder(world, combination, left_out, words).carried_out()
        # A write that lost an argument is not called; the second run shows whether it would break a rule too.
        refused = Remainder(world, combination, left_out, words, forgetful=False).carried_out()
        broken += [write for write in refused if write.rule and write not in broken]
        links += [
            _crossing(combination, member.server, owners[write.call], write)
            for write in broken
            if _is_owed_to(fused, combination, member.server, left_out, write)
        ]
    apart = _apart([member.server for member in fused.members], links)
    if apart:
        raise Rejected("not interlocked", f"nothing joins {', '.join(apart)} with the rest")
    for place, call in enumerate(combination.golden):
        if call.demanded_by is not None:
            later = Remainder(world, combination, {place}, words, forgetful=False).carried_out()
            if not any(write.rule == call.demanded_by for write in later):
                raise Rejected("demanded by nothing", f"without {call.tool} nothing breaks {call.demanded_by}")
    return links


def _is_owed_to(
    fused: FusedBlueprint, combination: Combination, server: str, left_out: Collection[int], broken: BrokenWrite
) -> bool:
    """Whether the write needs that domain itself, and not only another write that broke before."""
    call = combination.golden[broken.call]
    if broken.parameter is not None:
        source = result_reference(call.grounding[broken.parameter])
        return source is not None and source.call in left_out
    guard = next(guard for guard in fused.tool(call.tool).guards if guard.rule == broken.rule)
    own = {entity.table for entity in [*fused.entities, *fused.relationships] if entity.server == server}
    return bool(own & {table for table, _ in columns_read(guard.holds)})


def _fused(world: World) -> FusedBlueprint:
    assert isinstance(world.blueprint, FusedBlueprint)
    return world.blueprint


def _crossing(combination: Combination, source: str, target: str, broken: BrokenWrite) -> ProvenLink:
    call = combination.golden[broken.call]
    return ProvenLink(
        kind="value" if broken.parameter else "rule",
        source=source,
        target=target,
        call=broken.call,
        tool=call.tool,
        parameter=broken.parameter,
        origin=call.grounding[broken.parameter] if broken.parameter else None,
        rule=broken.rule,
        held_by=broken.held_by,
    )


def _apart(servers: Sequence[str], links: Sequence[ProvenLink]) -> list[str]:
    """Domains that no chain of links joins to the first domain."""
    reached = {servers[0]}
    for _ in servers:
        for crossing in links:
            if reached & {crossing.source, crossing.target}:
                reached |= {crossing.source, crossing.target}
    return [server for server in servers if server not in reached]


@dataclass
class Remainder:
    """A run of the golden calls on the same state, with some calls left out."""

    world: World
    combination: Combination
    left_out: Collection[int]
    said: Sequence[KnownValue]
    forgetful: bool = True
    """Whether an argument that lost its source is dropped, unless another source gives it; else it keeps its value."""
    _results: list[CallResult | None] = field(default_factory=list)
    _failed: bool = False
    """Whether an earlier call failed; later failures may only follow from it."""

    def carried_out(self) -> list[BrokenWrite]:
        """The writes that broke. Raises Rejected if a call fails for a reason that shows no link."""
        broken: list[BrokenWrite] = []
        with open_session(self.world, self.combination) as session:
            for place, call in enumerate(self.combination.golden):
                if place in self.left_out and call.tool not in self.world.sign_ins:
                    self._results.append(None)
                    continue
                broken += self._make(session, place, call)
        return broken

    def _make(self, session: ContractSession, place: int, call: GoldenCall) -> list[BrokenWrite]:
        tool = self.world.blueprint.tool(call.tool)
        arguments, lost = self._bound(session, call)
        if lost:
            self._results.append(None)
            self._failed = True
            return [BrokenWrite(place, parameter=name) for name in lost] if tool.kind == "write" else []
        result = session.call(call.tool, arguments)
        self._results.append(result if result.ok else None)
        if result.ok:
            broke = result.violations if tool.kind == "write" else []
            return [BrokenWrite(place, rule=rule, held_by="agent") for rule in broke]
        broken = self._refused(place, tool, result)
        self._failed = True
        return [broken] if broken else []

    def _refused(self, place: int, tool: Tool, result: CallResult) -> BrokenWrite | None:
        """The rule that a call broke; None if the failure is expected, or harmless."""
        rule = result.error.rule if result.error else None
        guard = next((guard for guard in tool.guards if guard.rule == rule), None)
        if guard is None or (guard.concern in STRUCTURAL and guard.rule not in _fused(self.world).bridge_rules):
            if self.forgetful and not self._failed:
                raise Rejected("interlock cannot be tried", f"call {place} ({tool.name}) fails: {result.error}")
            return None
        return BrokenWrite(place, rule=guard.rule, held_by="tool") if tool.kind == "write" else None

    def _bound(self, session: ContractSession, call: GoldenCall) -> tuple[dict[str, Json], list[str]]:
        """The call's arguments, and the names of those whose values nobody can know any more."""
        arguments = dict(call.arguments)
        lost: dict[str, list[KnownValue]] = {}
        for name, golden in call.arguments.items():
            source = result_reference(call.grounding.get(name, ""))
            if source is None:
                continue
            result = self._results[source.call]
            if result is not None:
                arguments[name] = _taken(result, source.path, golden, source.as_date)
            elif self.forgetful and value_type(golden) != "date":
                # There are so few days that an agent may guess one.
                lost[name] = [KnownValue(name, golden), KnownValue(source.path.rpartition(".")[2], golden)]
        for known in self._all_known(session) if lost else ():
            lost = {name: wanted for name, wanted in lost.items() if not is_known(wanted, known)}
        return arguments, list(lost)

    def _all_known(self, session: ContractSession) -> Iterator[KnownValue]:
        """All values that an agent can know now, without the calls left out."""
        yield from self.said
        yield from known_from_results(self._results)
        servers = {_fused(self.world).member_of(self.combination.golden[place].tool).server for place in self.left_out}
        reads = [tool for tool in _fused(self.world).tools if tool.kind == "read" and tool.server not in servers]
        yield from known_from_reads(session, reads, self.said)


def _taken(result: CallResult, path: str, golden: Json, as_date: bool) -> Json:
    """A value of a result; from a list, that of the row which the golden call used, wherever that row is now."""
    column = path.rpartition(".")[2]
    if path.startswith("[") and any(row.get(column) == golden for row in rows_of(result)):
        return golden
    try:
        value = value_at(result.value, path)
    except LookupError:
        return golden
    return str(value)[:10] if as_date else value
