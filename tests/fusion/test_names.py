"""NameAllocator in fused worlds: told apart whatever the domains are called."""

import pytest

from synth.fusion.blueprint import MAX_NAMESPACE, NameAllocator, namespaces


def test_what_joins_to_the_same_name_is_told_apart() -> None:
    names = NameAllocator()
    assert [names.allocate("Vet__Clinic__Payment"), names.allocate("Vet__Clinic__Payment")] == [
        "Vet__Clinic__Payment",
        "Vet__Clinic__Payment_2",
    ]


def test_case_alone_tells_nothing_apart() -> None:
    names = NameAllocator(["email"])
    assert names.allocate("EMAIL") == "EMAIL_2"
    assert names.allocate("Email") == "Email_3"


def test_a_number_does_not_make_a_name_longer_than_allowed() -> None:
    names = NameAllocator()
    found = [names.allocate("a" * 20, 8) for _ in range(12)]
    assert len(set(found)) == 12
    assert max(map(len, found)) == 8


@pytest.mark.parametrize(
    ("server", "namespace"),
    [
        ("DentalClinic", "dental_clinic"),
        ("ImagingCentre", "imaging_centre"),
        ("CornerPharmacy", "corner"),
        ("Vet_Clinic", "vet_clinic"),
        ("InternationalisationOffice", "io"),
        ("Gastroenterologists", "gastroenterolo"),
    ],
)
def test_a_namespace_is_made_of_the_words_that_have_room(server: str, namespace: str) -> None:
    assert namespaces([server]) == {server: namespace}


def test_namespaces_are_short_and_no_two_are_alike() -> None:
    servers = ["VET", "Vet", "VetClinic", "Vet_Clinic", "CornerPharmacy", "CornerPharmacyNorth", "V" * 48, "v" * 48]
    found = namespaces(servers)
    assert len({name.lower() for name in found.values()}) == len(servers)
    assert all(0 < len(name) <= MAX_NAMESPACE and "__" not in name for name in found.values())
