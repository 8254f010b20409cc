"""Recorded cases of skill training: an input of one area, and what our functions give for it.

A case of SkillOpt names its own region markers `{SLOW_START}`, `{SLOW_END}`, `{NOTES_START}`, `{NOTES_END}` and
`{NOTES_HEADING}`; ours stand for them. A reply of a model is data of the case. Where we differ on purpose:

| area | SkillOpt | here |
| --- | --- | --- |
| edit | text added to an empty document begins with two empty lines | it begins with the text |
| edit | a target that straddles a region's marker removes the marker; null loses the edit | skipped; read as empty |
| edit | what is added below the last line of the body may land in a region | it stands before the region |
| edit | an edit that changes nothing, adds nothing or comes twice in one step counts as applied | skipped |
| select | a budget of 0 makes one edit | it makes none |
| normalise | a batch size that is no number ends the run | it counts as 1 |
| protected_field | a text without its region loses empty lines everywhere | at the seam alone |
| protected_field | markers in guidance and notes stay | they are removed |
| step_buffer | a null reason ends the run | it is `unknown` |
| step_buffer | descriptions label the reasons by position | by name; by position only if there are equally many |
| json_extract | broken JSON may be repaired | only commas too many are forgiven |
| longitudinal | of several rollouts of one item the last counts | it passes if at least half of them do |
| loop | guidance that passes no gate keeps the old score | the skill is scored anew |
| loop | a candidate that equals the current skill is tried, or accepted without a gate | rejected as unchanged |
| loop | steps without a rewrite count nowhere | they count as skipped |
"""

from collections.abc import Mapping
from typing import Any

from learn.skill import document
from learn.skill.case_areas import AREAS
from learn.skill.case_replies import Given
from skillweave.base.errors import ConfigError

TOKENS = {
    "{SLOW_START}": document.GUIDANCE_START,
    "{SLOW_END}": document.GUIDANCE_END,
    "{NOTES_START}": document.NOTES_START,
    "{NOTES_END}": document.NOTES_END,
    "{NOTES_HEADING}": document.NOTES_HEADING,
}


def run(case: Mapping[str, Any]) -> dict[str, Any]:
    """What our functions give for a recorded case, in the form of its `expected`.

    Args:
        case: `area`, which says what is recorded, and its `input`; other keys are passed over.

    Returns:
        The outcome; `{"error": "ValueError"}` for a value that is not allowed.

    Raises:
        ConfigError: There is no such area.
    """
    area = case.get("area")
    if area == "loop":
        outcome = _loop(_unmarked(case.get("input", {})))
        return {key: _marked(value) for key, value in outcome.items()}
    if area not in AREAS:
        raise ConfigError(f"unknown area {area!r} of a case; known are {', '.join(sorted([*AREAS, 'loop']))}")
    try:
        outcome = AREAS[area](_unmarked(case.get("input", {})))
    except ConfigError:
        return {"error": "ValueError"}
    return {key: _marked(value) for key, value in outcome.items()}


def _loop(given: Given) -> dict[str, Any]:
    from learn.skill.case_loop import run_loop

    return run_loop(given)


def _unmarked(value: Any) -> Any:
    return _replaced(value, TOKENS)


def _marked(value: Any) -> Any:
    return _replaced(value, {marker: token for token, marker in TOKENS.items()})


def _replaced(value: Any, texts: Mapping[str, str]) -> Any:
    """A value with texts replaced in all of its strings."""
    if isinstance(value, str):
        for old, new in texts.items():
            value = value.replace(old, new)
        return value
    if isinstance(value, Mapping):
        return {_replaced(key, texts): _replaced(part, texts) for key, part in value.items()}
    return [_replaced(part, texts) for part in value] if isinstance(value, list | tuple) else value
