"""What our functions give for recorded cases without replies of a model. `learn.skill.cases` says what a case is.

Cases are generous in names: each input is looked for under all names that it is known by, and what is missing has
SkillOpt's default.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

from learn.config import PairPolicy
from learn.skill import document
from learn.skill.case_replies import REPLY_AREAS, Given, first, number, read_rows
from learn.skill.document import Edit, apply_edits, as_count, as_text, distinct_notes, skill_digest
from learn.skill.flat_settings import cast, flatten, layered, overridden
from learn.skill.gate import decide, gate_score
from learn.skill.memory import categories, compared, is_failure, top_up_order
from learn.skill.planning import epoch_plan, minibatch_order, minibatches, split_counts
from learn.skill.schedule import budget_at
from learn.skill.scores import mean_scores
from skillweave.base.errors import ConfigError


def _edit(given: Given) -> dict[str, Any]:
    patch = given.get("patch")
    raw = first(given, "edits", default=patch.get("edits") if isinstance(patch, Mapping) else None)
    raw = [given["edit"]] if raw is None and "edit" in given else raw or []
    edits = [Edit.model_validate(edit) if isinstance(edit, Mapping) else Edit(op="") for edit in raw]
    skill, reports = apply_edits(as_text(given.get("skill")), edits)
    per_edit = [
        {"applied": report.is_applied, "reference_status": re.sub(r"_first_of_\d+$", "", report.status)}
        for report in reports
    ]
    return {"skill": skill, "per_edit": per_edit}


def _score(given: Given, hard: str = "hard", soft: str = "soft") -> float:
    metric = first(given, "metric", "gate_metric", default="hard")
    weight = number(first(given, "mixed_weight", "gate_mixed_weight", "weight", default=0.5))
    score = gate_score(number(given.get(hard, 0)), number(given.get(soft, 0)), metric, weight)
    return score + (_emphasis(given) if given.get("use_semantic_density") else 0.0)


def _emphasis(given: Given) -> float:
    """SkillOpt's bonus for words such as MUST. Our gate has none: it would pay for loud words."""
    built_in = "must always never only critical important resolve prefer ensure strict verify"
    loud = {word.lower() for word in first(given, "leading_words", default=None) or built_in.split()}
    body = document.body_of(as_text(first(given, "skill_content", "candidate_skill", "skill", default="")))
    words = re.findall("[a-z0-9]+", body.lower())
    share = sum(word in loud for word in words) / len(words) if words else 0.0
    return number(first(given, "semantic_density_weight", "density_weight", default=0.05)) * share


def _gate(given: Given) -> dict[str, Any]:
    decision = decide(
        _score(given, "cand_hard", "cand_soft"),
        number(given.get("current_score")),
        number(given.get("best_score")),
        use_gate=given.get("use_gate", True) is not False,
    )
    return {
        "action": decision.action,
        "current": "candidate" if decision.is_accepted else "current",
        "current_score": decision.current,
        "best": "candidate" if decision.is_best else "best",
        "best_score": decision.best,
        "best_step": "this_step" if decision.is_best else "unchanged",
    }


RESUMED = ("resume_at", "resume_from", "resume_after", "resume_step", "resume", "start", "start_step", "state")
"""Names of the steps that were made before, which is where a run goes on."""


def _schedule(given: Given) -> dict[str, Any]:
    steps = first(given, "at", "steps")
    total = int(first(given, "total_steps", "total", default=steps if isinstance(steps, int) else 8))
    start = first(given, *RESUMED, default=0)
    if isinstance(start, Mapping):
        start = next((value for value in start.values() if isinstance(value, int)), 0)
    if not isinstance(steps, list):
        calls = int(first(given, "calls", "n", default=total))
        steps = range(int(start) + 1, int(start) + calls + 1)
    budgets = [
        budget_at(
            int(step),
            total,
            scheduler=first(given, "mode", "scheduler", "lr_scheduler", default="constant"),
            most=int(first(given, "max", "max_lr", "learning_rate", default=8)),
            least=int(first(given, "min", "min_lr", "min_learning_rate", default=2)),
        )
        for step in steps
    ]
    return {"budgets": budgets}


def _protected_field(given: Given) -> dict[str, Any]:
    """Operations on regions, by what their names say: `inject_slow`, `extract_notes`, `append_to_appendix`, ..."""
    operation = str(given.get("operation", "")).lower()
    verbs = set(re.findall("[a-z]+", operation))
    skill = as_text(given.get("skill"))
    arguments = list(given.get("args") or [given[key] for key in ("content", "notes", "note", "text") if key in given])
    is_notes = "note" in operation or "appendix" in operation
    argument = arguments[0] if arguments else None
    if len(arguments) > 1 and all(isinstance(part, str) for part in arguments):
        argument = arguments
    if any(verb.startswith("dedup") for verb in verbs):
        return {"result": distinct_notes(_texts(argument))}
    for names, on_guidance, on_notes in FIELD_OPERATIONS:
        if verbs & names:
            return {"result": on_notes(skill, _texts(argument)) if is_notes else on_guidance(skill, as_text(argument))}
    raise ConfigError(f"unknown operation {operation!r} on a region of the skill")


def _texts(argument: Any) -> list[str]:
    return [as_text(part) for part in (argument if isinstance(argument, list) else [argument]) if part is not None]


def _injected(skill: str, _: object) -> str:
    return skill if document.has_guidance(skill) else document.with_guidance(skill, "")


def _injected_notes(skill: str, _: object) -> str:
    return skill if document.has_notes(skill) else document.with_notes(skill, [])


FIELD_OPERATIONS: list[tuple[set[str], Callable[[str, str], Any], Callable[[str, list[str]], Any]]] = [
    ({"inject", "ensure", "init"}, _injected, _injected_notes),
    ({"has", "exists"}, lambda skill, _: document.has_guidance(skill), lambda skill, _: document.has_notes(skill)),
    (
        {"extract", "get", "read"},
        lambda skill, _: document.guidance_of(skill),
        lambda skill, _: document.notes_of(skill),
    ),
    (
        {"strip", "remove", "clear", "delete"},
        lambda skill, _: document.without_guidance(skill),
        lambda skill, _: document.without_notes(skill),
    ),
    ({"replace", "set", "write", "overwrite", "update"}, document.with_guidance, document.replace_notes),
    ({"append", "add", "merge", "flush"}, document.with_guidance, document.with_notes),
]
"""Words in an operation's name -> what it does to guidance, and to notes."""


def _longitudinal(given: Given) -> dict[str, Any]:
    kinds = given.get("categories")
    if kinds is None:
        items = first(given, "items", "ids", default=[])
        ids = [str(item.get("id", "")) if isinstance(item, Mapping) else str(item) for item in items]
        previous, current = (read_rows(first(given, part, f"results_{part}")) for part in ("prev", "curr"))
        kinds = categories(previous, current, ids)
        if "policy" not in given:
            return {"categories": kinds}
    policy = _policy(given)
    most = first(given, "target_n", "n", "samples", "most")
    later = first(given, "top_up", "outcomes", "later", default={})
    if policy == "changed" and most is not None and later:
        train = first(given, "train", "train_items", default=list(later))
        for id in top_up_order(train, kinds, int(given.get("seed", 42))):
            if len(compared(kinds, policy)) < most:
                kinds = {**kinds, id: later.get(id, "persistent_fail")}
    return {"kept": compared(kinds, policy, most)}


def _policy(given: Given) -> PairPolicy:
    """A policy by any of its names."""
    name = str(given.get("policy") or "mixed").strip().lower()
    policies: tuple[PairPolicy, ...] = get_args(PairPolicy)
    for policy in policies:
        if name == policy or name in POLICIES[policy].split():
            return policy
    raise ConfigError(f"unknown longitudinal_pair_policy {name!r}; should be mixed, changed or unchanged")


POLICIES: dict[str, str] = {
    "mixed": "default random all",
    "changed": "change delta 10_01 01_10",
    "unchanged": "stable same 00_11",
}
"""Policy -> SkillOpt's other names for it."""


def _split_counts(given: Given) -> dict[str, Any]:
    ratio = given.get("ratio", [2, 1, 7])
    parts = [part for part in str(ratio).split(":") if part.strip()] if isinstance(ratio, str) else ratio
    if len(parts) != 3 or any(as_count(part, -1) != int(number(part)) for part in parts):
        raise ConfigError(f"split_ratio should be train:val:test, three whole numbers; it is {ratio!r}")
    return {"counts": split_counts(int(given.get("total", 0)), [int(number(part)) for part in parts])}


def _epoch_plan(given: Given) -> dict[str, Any]:
    batches = epoch_plan(
        first(given, "ids", "train", default=[f"t{number}" for number in range(int(given.get("train_size", 0)))]),
        batch_size=int(given.get("batch_size", 40)),
        accumulation=int(given.get("accumulation", 1)),
        seed=int(given.get("seed", 42)),
        epoch=int(given.get("epoch", 1)),
        steps=given.get("steps_per_epoch"),
    )
    return {
        "sizes": [len(batch.ids) for batch in batches],
        "seeds": [batch.seed for batch in batches],
        "distinct_items": len({id for batch in batches for id in batch.ids}),
        "ids": [list(batch.ids) for batch in batches],
    }


def _minibatch(given: Given) -> dict[str, Any]:
    size = first(given, "M", "minibatch_size", "batch_size", "size")
    seed = first(given, "seed", "random_seed")
    if "results" in given:
        rows = read_rows(given["results"])
        failed = [row.id for row in rows if is_failure(row)]
        passed = [] if given.get("failure_only") else [row.id for row in rows if not is_failure(row)]
        return {
            "failure": minibatches(failed, int(size or 8), seed),
            "success": minibatches(passed, int(size or 8), None if seed is None else seed + 1),
        }
    items = given.get("items", list(range(int(given.get("n", 0)))))
    if size is not None:
        return {"sizes": [len(group) for group in minibatches(items, int(size), seed)]}
    return {"no_seed": minibatch_order(items, None), "seeded": minibatch_order(items, seed)}


def _scores(given: Given) -> dict[str, Any]:
    text = first(given, "content", "skill", "text")
    if text is not None:
        return {"hash": skill_digest(text)}
    return {"scores": list(mean_scores(read_rows(given.get("results"))))}


def _config(given: Given) -> dict[str, Any]:
    if "values" in given:
        return {"cast": [cast(value) for value in given["values"]]}
    if "overrides" in given:
        settings = first(given, "config", "cfg", "settings", default={})
        return {"config": overridden(settings, given["overrides"])}
    if "base" in given:
        return {"config": layered(given["base"], first(given, "override", "child", "over", default={}))}
    return {"flat": flatten(first(given, "config", "cfg", default=given))}


AREAS: dict[str, Callable[[Given], dict[str, Any]]] = {
    **REPLY_AREAS,
    "config": _config,
    "edit": _edit,
    "epoch_plan": _epoch_plan,
    "gate": _gate,
    "gate_score": lambda given: {"score": _score(given)},
    "longitudinal": _longitudinal,
    "minibatch": _minibatch,
    "protected_field": _protected_field,
    "schedule": _schedule,
    "score": _scores,
    "split_counts": _split_counts,
}
"""Area -> what our functions give for an input of it."""
