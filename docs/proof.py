"""The gates' table in `proof.md`: what each proves, what is run, its figures and its reasons, from the registry."""

from pathlib import Path

from docs.reference import table
from synth.gates import GATES
from synth.gates.gate import Gate, TaskGate

PAGE = Path(__file__).with_name("proof.md")
BEGIN, END = "<!-- gates: made by docs.generate -->", "<!-- end of gates -->"


def page() -> str:
    """The page with the table between its markers made anew. Raises ValueError where a marker is missing."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{PAGE.name} lacks the markers {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n\n{_gates()}\n{END}{after}"


def _gates() -> str:
    rows = [(f"`{gate.name}`", gate.proves, gate.runs, _figures(gate), _reasons(gate)) for gate in GATES.values()]
    repeated = ", ".join(f"`{gate.name}`" for gate in GATES.values() if isinstance(gate, TaskGate))
    return "\n".join(
        [
            table(["gate", "it proves", "what is run", "figures in `gates`", "reasons of rejection"], rows).rstrip(),
            *(
                f"\nOf `{gate.name}`, the first task of a template that passes shows what is the same for all of them: "
                f"{gate.of_template[0].lower()}{gate.of_template[1:]}"
                for gate in GATES.values()
                if gate.of_template
            ),
            f"\n`verify` repeats these from a task's own record: {repeated}. The others it repeats on the combination "
            "that the task was made from.",
            "",
        ]
    )


def _figures(gate: Gate) -> str:
    return "; ".join(f"`{name}`: {meaning}" for name, meaning in gate.figures.items())


def _reasons(gate: Gate) -> str:
    return ", ".join(gate.reasons)
