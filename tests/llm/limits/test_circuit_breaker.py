import re

import pytest

from skillweave.base.errors import OutageError, UnreachedError
from skillweave.llm.limits.circuit_breaker import FIRST_CONTACT_S, CircuitBreaker, EndpointFailure

DEAD = EndpointFailure("not reached", 1, is_certain=True)
OUTAGE_S = 100.0


def failing(circuit: CircuitBreaker, *sources: int, is_certain: bool = False) -> None:
    for moment, source in enumerate(sources):
        circuit.failed(moment, EndpointFailure("status 500", source, is_certain=is_certain))


def an_open_one() -> CircuitBreaker:
    """Since second 0; its first probe is due in second 3."""
    circuit = CircuitBreaker("there", OUTAGE_S)
    failing(circuit, 1, 1, 1, is_certain=True)
    return circuit


def probe_moments(circuit: CircuitBreaker) -> list[float]:
    """When probes go, none of which is answered, until nobody waits any more."""
    now = 2.0
    found: list[float] = []
    while True:
        try:
            admission = circuit.admit(now, is_patient=True)
        except OutageError:
            return [*found, now]
        if admission.is_probe:
            found.append(now)
            circuit.failed(now, DEAD)
            circuit.end_probe(now)
        now += admission.wait


@pytest.mark.parametrize(
    ("sources", "is_certain", "is_open"),
    [
        ([1, 2], True, False),
        ([1, 1, 1], True, True),
        ([1, 1, 2], False, True),
        ([1, 1, 1, 1, 1], False, False),
        ([1, 1, 1, 1, 1, 2], False, True),
    ],
)
def test_it_opens_after_failures_in_a_row_that_one_request_cannot_have_caused(
    sources: list[int], is_certain: bool, is_open: bool
) -> None:
    circuit = CircuitBreaker("there", OUTAGE_S)
    failing(circuit, *sources, is_certain=is_certain)
    assert circuit.is_open is is_open


def test_an_answer_between_failures_keeps_it_closed() -> None:
    circuit = CircuitBreaker("there", OUTAGE_S)
    failing(circuit, 1, 2)
    assert not circuit.answered()
    failing(circuit, 1, 2)
    assert not circuit.is_open


def test_probes_go_one_at_a_time_at_growing_intervals_until_the_outage_is_too_long() -> None:
    assert probe_moments(an_open_one()) == [3, 5, 9, 17, 33, 63, 93, OUTAGE_S]


def test_while_a_probe_is_under_way_the_others_wait() -> None:
    circuit = an_open_one()
    assert circuit.admit(3.0, is_patient=True).is_probe
    assert circuit.admit(3.0, is_patient=True)[:2] == (OUTAGE_S - 3, False)
    assert circuit.answered()
    assert circuit.admit(3.0, is_patient=True)[:2] == (0.0, False)


def test_who_comes_after_a_long_outage_may_still_probe() -> None:
    circuit = an_open_one()
    assert circuit.admit(5000.0, is_patient=True).is_probe
    with pytest.raises(OutageError):
        circuit.admit(5000.0, is_patient=True)


def test_the_impatient_do_not_wait_but_may_probe() -> None:
    circuit = an_open_one()
    with pytest.raises(OutageError, match="another author is at hand"):
        circuit.admit(2.5, is_patient=False)
    assert circuit.admit(3.0, is_patient=False).is_probe


def test_the_error_says_which_since_when_why_and_that_it_goes_on() -> None:
    circuit = an_open_one()
    assert circuit.admit(3.0, is_patient=True).is_probe
    with pytest.raises(OutageError) as caught:
        circuit.admit(200.0, is_patient=True)
    assert re.fullmatch(
        r"there: down since \d\d:\d\d:\d\d \(status 500\); waited for 100 seconds \(llm.outage_s\); "
        r"once it answers again, the same command goes on",
        str(caught.value),
    )


def test_an_endpoint_that_asks_for_it_is_left_alone() -> None:
    circuit = CircuitBreaker("there", OUTAGE_S)
    circuit.pause(0.0, 70.0)
    circuit.pause(0.0, 10.0)
    assert circuit.admit(30.0, is_patient=True)[:2] == (40.0, False)
    assert circuit.admit(71.0, is_patient=True)[:2] == (0.0, False)
    assert circuit.is_calm


def test_a_pause_that_is_too_long_is_an_outage() -> None:
    circuit = CircuitBreaker("there", OUTAGE_S)
    circuit.pause(0.0, 70.0)
    with pytest.raises(OutageError, match="wants no request for 70 seconds, and no more than 60 are waited for"):
        circuit.admit(0.0, is_patient=False)
    circuit.pause(0.0, 3600.0)
    with pytest.raises(OutageError, match=r"wants no request for 3600 seconds.*no more than 100.*same command"):
        circuit.admit(0.0, is_patient=True)


def test_what_was_never_reached_is_tried_for_seconds_only() -> None:
    circuit = CircuitBreaker("there", OUTAGE_S)
    for moment in range(3):
        circuit.failed(moment, EndpointFailure("not reached: refused", 1, is_certain=True, is_unreached=True))
    assert circuit.admit(2.5, is_patient=True).wait <= FIRST_CONTACT_S
    assert circuit.admit(3.0, is_patient=True).is_probe
    with pytest.raises(UnreachedError, match=r"there: not reached: refused; it never answered in 5 seconds of trying"):
        circuit.admit(FIRST_CONTACT_S, is_patient=True)


@pytest.mark.parametrize("by", ["an answer", "an error"])
def test_what_was_reached_before_is_waited_for(by: str) -> None:
    circuit = CircuitBreaker("there", OUTAGE_S)
    if by == "an answer":
        circuit.answered()
    else:
        circuit.failed(0.0, EndpointFailure("status 503", 1, is_certain=True))
    for moment in range(3):
        circuit.failed(moment, EndpointFailure("not reached", 1, is_certain=True, is_unreached=True))
    assert circuit.admit(50.0, is_patient=True).is_probe
    assert circuit.admit(50.0, is_patient=True).until == OUTAGE_S
