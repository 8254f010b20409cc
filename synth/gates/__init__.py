"""Gates: what a task must show, by execution, before it is kept.

Each gate is a file; `GATES` lists them in the order in which they run. Gates that find a missing source or a second
meaning run before those that find a needless call, and those that execute most run last. `python -m synth verify`, the
card and docs/proof.md use this list.
"""

from skillweave.plugins import Registry
from synth.gates import (
    alternative_actions,
    answers,
    argument_sources,
    clarification_needed,
    declined,
    forms,
    fresh_sources,
    golden,
    indirect_route,
    interlock,
    lawful,
    minimal,
    noise,
    not_already_true,
    observable,
    optional_arguments,
    reachable,
    unique,
    unreachable,
    variants,
)
from synth.gates.gate import Gate

GATES: Registry[Gate] = Registry(
    "gate",
    {
        module.GATE.name: module.GATE
        for module in (
            golden,
            lawful,
            argument_sources,
            answers,
            forms,
            unique,
            not_already_true,
            minimal,
            optional_arguments,
            clarification_needed,
            fresh_sources,
            alternative_actions,
            declined,
            unreachable,
            interlock,
            observable,
            indirect_route,
            reachable,
            variants,
            noise,
        )
    },
)
