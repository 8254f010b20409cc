"""Names in a fused world: each allocated once, and kept beside what it stands for.

Nothing is parsed back out of a name. SQL tells no case apart, so no two names differ in case alone.
"""

import re
from collections.abc import Collection, Sequence

from skillweave.schema.names import table_of
from skillweave.world.authorizer import LOG_TABLE

SEPARATOR = "__"
"""Between the parts of a fused name; no name of a single domain holds it."""
LONGEST_NAMESPACE = 14
LONGEST_TOOL = 64
"""What model providers accept."""
LONGEST = 120


class Names:
    """Gives out names, none of them twice."""

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._taken = {name.lower() for name in taken}

    def allocate(self, wanted: str, longest: int = LONGEST) -> str:
        """The name, or one like it that nobody has: `Vet__Clinic`, `Vet__Clinic_2`."""
        found, number = _cut(wanted, longest), 1
        while found.lower() in self._taken:
            number += 1
            suffix = f"_{number}"
            found = _cut(wanted, longest - len(suffix)) + suffix
        self._taken.add(found.lower())
        return found


def table_names() -> Names:
    """For the tables and views of one world, which share their names with the log of touched rows."""
    return Names([LOG_TABLE])


def joined(*parts: str) -> str:
    """`DentalClinic`, `Invoice` -> `DentalClinic__Invoice`."""
    return SEPARATOR.join(parts)


def fused_name(servers: Sequence[str]) -> str:
    """The name of the world of these servers: sorted, `DentalClinic__HealthPlan`."""
    return joined(*sorted(servers))


def namespaces(servers: Sequence[str]) -> dict[str, str]:
    """Server -> what its tools' names begin with; no two alike."""
    names = Names()
    return {server: names.allocate(_namespace(server), LONGEST_NAMESPACE) for server in servers}


def _namespace(server: str) -> str:
    """As many of its words as have room; where not even the first has, their initials."""
    words = [word for word in re.split(r"_+", table_of(server)) if word]
    for count in range(len(words), 0, -1):
        found = "_".join(words[:count])
        if len(found) <= LONGEST_NAMESPACE:
            return found
    return "".join(word[0] for word in words) if len(words) > 1 else words[0]


def _cut(name: str, longest: int) -> str:
    return name[:longest].rstrip("_")
