"""What a company says of itself is about what it has: no rule speaks of a module that it does without."""

import re
from itertools import product

import pytest

from synth.offline.services import built_in, environment

WORDS = {
    "deposit": "deposit",
    "waitlist": "waiting|joining",
    "membership": "care plan|discount",
    "tiers": r"\btier|points",
    "second_reading": "second.reading",
    "home_visits": "home visit|at home",
    "gear": r"equipment|\bgear",
    "oneway": "one-way|elsewhere",
    "appeals": "appeal",
    "loyalty": r"points|\btier",
    "groups": "persons|party",
    "generics": "generic|substitut",
    "bonus": "claim-free",
    "vehicles": "vehicle|camper",
    "club": r"club|\btier",
}
"""Module -> words for it."""


@pytest.mark.parametrize("name", sorted(built_in().services))
def test_no_rule_speaks_of_a_module_that_a_company_does_without(name: str) -> None:
    service = built_in().services[name]
    for setting in service.header.settings:
        for switches in product([True, False], repeat=len(setting.modules)):
            knobs = {**service.choices(setting)[0], **dict(zip(setting.modules, switches, strict=True))}
            tools = service.render(setting, knobs).tools
            texts = [
                text for tool in tools for text in (tool.description, *(each.description for each in tool.parameters))
            ]
            texts += [guard.says for tool in tools for guard in tool.guards]
            texts += [effect.says for tool in tools for effect in tool.effects]
            texts.append(environment().from_string(setting.about).render(**knobs, town="Lindon"))
            for module, words in WORDS.items():
                if knobs.get(module) is False:
                    assert not [text for text in texts if re.search(words, text)], (setting.domain, module)
