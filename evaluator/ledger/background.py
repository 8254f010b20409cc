"""What a user knows before anybody speaks: the values of their texts, and their own facts."""

from collections.abc import Iterable
from datetime import date
from functools import cached_property

from evaluator.ledger.known import Known
from evaluator.ledger.names import NO_NAMES, Names
from evaluator.ledger.own import own_facts
from evaluator.ledger.person import Person
from skillweave.schema.task import Fact, Persona, Scenario


class Background:
    """The same for every conversation of a user; it does not grow."""

    def __init__(
        self,
        scenario: Scenario,
        persona: Persona,
        now: str,
        *,
        texts: Iterable[str] = (),
        names: Names = NO_NAMES,
    ) -> None:
        """`texts` are what else the user may say: the first message, whom they write to. `names` are those of the
        world's records. Facts that are never told are known, and may not be said."""
        self.names = names
        self.facts = own_facts(scenario.facts, names)
        self.withheld = own_facts([fact for fact in scenario.facts if fact.tell == "never"], names)
        self.person = Person(persona.name, [scenario.goal, scenario.reason, *(fact.text for fact in scenario.facts)])
        self.known = Known(date.fromisoformat(now[:10]), names)
        """Known from the facts."""
        self._texts = (scenario.goal, scenario.reason, f"{persona.name}, {persona.age}", now, *texts)
        self._hear_facts([fact for fact in scenario.facts if fact.tell != "never"])

    @cached_property
    def all_known(self) -> Known:
        """Known from all texts."""
        found = self.known.copy()
        for text in self._texts:
            found.hear(text)
        return found

    def has_words(self, words: str) -> bool:
        """Whether the user's texts say something in these very words."""
        return self.all_known.has_words(words)

    def _hear_facts(self, told: Iterable[Fact]) -> None:
        values = {fact.id: fact.values for fact in self.facts}
        for fact in told:
            if fact.id in values:
                self.known.hear_read(f"{fact.text}\n{fact.value}", values[fact.id])
            else:
                self.known.hear(fact.text)
            if isinstance(fact.value, int | float):
                self.known.hear(f"{fact.value / 100:.2f}" if fact.id.endswith("_cents") else str(fact.value))
