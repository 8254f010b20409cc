"""A policy: the rules of a world as prose, with structured markers by which parts of it can be kept or left out.

In the Markdown file each tool's section stands between `<!-- tool: NAME -->` and `<!-- /tool: NAME -->`, and each
rule's number stands before its sentence: `[R7] Appointments can be cancelled up to 24 hours before they start.`
"""

import re
from collections.abc import Collection

from skillweave.schema.record import Record

_SECTION = re.compile(r"<!-- tool: (?P<name>\w+) -->\n.*?<!-- /tool: (?P=name) -->\n?", re.DOTALL)
_RULE = re.compile(r"\[(R\d+|B\d+)\]")


class Policy(Record):
    world: str
    text: str
    """Markdown."""

    @property
    def rules(self) -> list[str]:
        """Numbers of the rules that the text states, in order of first mention."""
        return list(dict.fromkeys(_RULE.findall(self.text)))

    @property
    def tools(self) -> list[str]:
        """Tools that have a section, in order."""
        return [match["name"] for match in _SECTION.finditer(self.text)]

    @property
    def introduction(self) -> str:
        """What stands before the first tool's section."""
        return self.text.partition("<!-- tool: ")[0].strip()

    def for_tools(self, names: Collection[str]) -> "Policy":
        """The policy with the sections of the other tools left out; what belongs to no tool stays."""
        kept = _SECTION.sub(lambda match: match.group(0) if match["name"] in names else "", self.text)
        return self.model_copy(update={"text": kept})
