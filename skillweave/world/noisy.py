"""NoisySession: any session, with faults planted in it."""

from collections.abc import Mapping
from functools import cached_property

from skillweave.schema.call import SESSION_TOOLS, Call, CallResult
from skillweave.schema.change import RowChange
from skillweave.schema.entity import Comparison
from skillweave.schema.record import Json
from skillweave.schema.task import Noise
from skillweave.world.noise import PlantedFaults
from skillweave.world.session import Session
from skillweave.world.tools import Definition, name_of


class NoisySession:
    """A session whose calls are befallen as the noise says.

    The session that `World.session` opens for a task has the task's noise in it already, as a server with `--task` has.
    """

    def __init__(self, session: Session, noise: Noise, spared: frozenset[str] = frozenset()) -> None:
        """`spared` are the tools that sign in: faults do not befall them."""
        self.results: list[CallResult] = []
        self._session = session
        self._faults = PlantedFaults(noise)
        self._spared = spared | SESSION_TOOLS

    @property
    def tools(self) -> list[Definition]:
        """OpenAI tool definitions of what is offered."""
        return self._session.tools

    @property
    def now(self) -> str:
        """The clock; it stands still."""
        return self._session.now

    @property
    def caller(self) -> str | None:
        """Who is signed in."""
        return self._session.caller

    @property
    def minted(self) -> list[str]:
        """Ids that this session's calls minted, in order."""
        return self._session.minted

    @property
    def transfer(self) -> dict[str, Json] | None:
        """The arguments of the transfer that ended the session."""
        return self._session.transfer

    @property
    def declined(self) -> list[str]:
        """Rules by which requests were recorded as declined, in order."""
        return self._session.declined

    @property
    def defects(self) -> list[str]:
        """What went wrong in calls that answered `world_defect`."""
        return self._session.defects

    def call(self, tool: str, arguments: Mapping[str, Json]) -> CallResult:
        """Call a tool."""
        befalling = None
        if self._is_open and tool in self._open_to_faults and isinstance(arguments, Mapping):
            call = Call.model_construct(tool=tool, arguments=dict(arguments))
            befalling = self._faults.befalling(call, self.results)
        if befalling is None:
            result = self._session.call(tool, arguments)
        elif befalling.error is not None:
            result = CallResult.model_construct(call=call, ok=False, error=befalling.error)
        else:
            result = befalling.on(self._session.call(tool, arguments))
        self.results.append(result)
        return result

    @property
    def _is_open(self) -> bool:
        return self.caller is not None and self.transfer is None

    @cached_property
    def _open_to_faults(self) -> frozenset[str]:
        return frozenset(map(name_of, self.tools)) - self._spared

    def diff(self) -> list[RowChange]:
        """Row changes since the start, with the ids as they are."""
        return self._session.diff()

    def comparison(self, table: str, column: str) -> Comparison:
        """How scores compare a column."""
        return self._session.comparison(table, column)

    def close(self) -> None:
        """Give the state up. A closed session answers nothing."""
        self._session.close()
