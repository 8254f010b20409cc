"""A generator is foreign code, and what it prints is foreign data: limits hold, and wrong rows are told in words."""

import pytest

from skillweave.sandbox.limits import SandboxLimits
from synth.simulation.generation import run_generator
from tests.simulation.worlds import NOW, a_blueprint

GENERATE = "def generate(seed, now, people, pools):\n"


def faults(script: str, limits: SandboxLimits | None = None) -> list[str]:
    rows, found = run_generator(script, a_blueprint("CityHotel"), 7, NOW, limits)
    assert rows == {} or not any("result is not" in fault for fault in found)
    return found


@pytest.mark.parametrize(
    ("body", "limits", "told"),
    [
        ("    while True: pass\n", SandboxLimits(cpu_seconds=1), "it used more than 1 seconds of CPU time"),
        ("    import time; time.sleep(60)\n", SandboxLimits(seconds=0.5), "it ran longer than 0.5 seconds"),
        ("    return bytearray(1 << 28)\n", SandboxLimits(memory_bytes=200 << 20), "MemoryError"),
        (
            "    print('x' * 5000)\n    return {}\n",
            SandboxLimits(output_bytes=1000),
            "it wrote more than 1000 bytes of output",
        ),
        (
            "    with open('x', 'wb') as file: file.write(bytes(5000))\n",
            SandboxLimits(file_bytes=1000),
            "File too large",
        ),
    ],
)
def test_a_generator_beyond_its_limits_is_told_which(body: str, limits: SandboxLimits, told: str) -> None:
    (fault,) = faults(GENERATE + body, limits)
    assert fault.startswith("the script did not run to its end: ")
    assert told in fault


@pytest.mark.parametrize("value", ["float('nan')", "float('inf')", "[1]", "{}"])
def test_what_no_table_can_hold_is_refused(value: str) -> None:
    (fault,) = faults(f"{GENERATE}    return {{'room': [{{'room_id': 'RM-0001', 'floor': {value}}}]}}\n")
    assert "the result is not {table: [row, ...]} of plain values" in fault


def test_an_answer_of_endless_depth_is_refused() -> None:
    (fault,) = faults("print('[' * 100000)\nimport os\nos._exit(0) if print(end='', flush=True) is None else 0\n")
    assert "the result is not" in fault
