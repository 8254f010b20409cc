"""Services and bridges of one's own: folders of files that the configuration names, beside the built-in catalogue."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from skillweave.base.errors import ConfigError
from synth.cli.app import main
from synth.offline.author import OfflineAuthor
from synth.offline.services import read_catalogue
from tests.shared import ROOT

EXAMPLE = (ROOT / "docs/examples/bike_hire.yaml").read_text("utf-8")
BRIDGE = """sides: {hire: bike_hire, hotel: hotel}
---
rules: []
stories: []
"""
SEEDS = ["bicycle hire", "hotel"]
UNTIL_S03 = ["--until", "s03", "--set", "steps.s01_domain_expansion.target_domains=2"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The user's folder: a configuration, and services beside it."""
    (tmp_path / "services").mkdir()
    (tmp_path / "services/bike_hire.yaml").write_text(EXAMPLE, "utf-8")
    (tmp_path / "config.yaml").write_text("catalogue: [services]\ndomains: {seeds: [bicycle hire, hotel]}\n")
    return tmp_path


def complain(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The only line that a run prints, which ends with status 2."""
    with pytest.raises(SystemExit) as ended:
        main(None, ["run", "--config", str(folder / "config.yaml"), "--outputs", str(folder / "out")])
    lines = capsys.readouterr().err.splitlines()
    assert (ended.value.code, len(lines)) == (2, 1), lines
    return lines[0]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("service: bike_hire", "service: hotel", "the service 'hotel' is built in already; give it another name"),
        ("domain: BikeHire", "domain: CityHotel", "the domain 'CityHotel' is one of 'hotel' already"),
        ("service: bike_hire", "servise: bike_hire", "has neither `service:` nor `sides:`"),
        ("person: Traveller", "person: [", "ParserError: while parsing a flow sequence"),
        ("max_bikes: [1, 2]", "max_bikes: []", "knobs.max_bikes: List should have at least 1 item"),
        ("\n---\n", "\n", "a file holds two documents with a line --- between them"),
        ("title: Harbour Bikes", "title: Harbour Bikes\n    others: {Other: Other}", "it needs their topics and about"),
        (
            "title: Harbour Bikes",
            "title: Harbour Bikes\n    others: {BikeHire: O}\n    topics: [a]\n    about: b",
            "has two companies 'BikeHire'",
        ),
        ("{{ w.unit }}", "{{ w.unti }}", "UndefinedError: 'dict object' has no attribute 'unti'"),
        ("{{ w.unit }}", "{{ w.unit", "line 60: expected token 'end of print statement'"),
        ("{{ w.unit }}", "{{ 1 / 0 }}", "ZeroDivisionError"),
        ("{{ w.unit }}", "{{ ''.__class__.__mro__ }}", "SecurityError: access to attribute '__class__'"),
        ("{{ w.unit }}", "{{ setting.parse_file('/etc/passwd') }}", "SecurityError: access to attribute 'parse_file'"),
        ("{{ w.unit }}", "{{ 'x' * 10**10 }}", "makes a value of more than 1,000,000 parts or characters"),
        ("{{ w.unit }}", "{{ 10**(10**9) }}", "makes a value of more than 1,000,000 parts or characters"),
        ("{{ w.unit }}", "{{ '%999999999d' % 1 }}", "a format pads to more than 99 places"),
        ("{{ w.unit }}", "{{ 'x'|center(10**10) }}", "the filter 'center' has an argument of more than 100"),
        ("{{ w.unit }}", "{{ 'x'.ljust(10**10) }}", "SecurityError: access to attribute 'ljust'"),
        (
            "{{ w.unit }}",
            "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
            "the template makes more than 2,000,000 values and characters; make it smaller",
        ),
        (
            "{{ w.unit }}",
            "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
            "the template makes more than 2,000,000 values and characters",
        ),
        (
            "{{ w.unit }}",
            "{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
            "makes a value of more than 1,000,000 parts or characters",
        ),
        (
            "{{ w.unit }}",
            "{% set n = namespace(x=[1]) %}{% for i in range(99) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
            "makes a value of more than 1,000,000 parts or characters",
        ),
        ("person: true", "person: maybe", "entities.0.person: Input should be a valid boolean"),
        ("core_entity: Rider", "core_entity: &rider Rider\nagain: *rider", "aliases (*name) are not allowed"),
    ],
)
def test_a_faulty_file_is_a_line_that_names_it(
    old: str, new: str, complaint: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in EXAMPLE
    (folder / "services/bike_hire.yaml").write_text(EXAMPLE.replace(old, new, 1), "utf-8")
    line = complain(folder, capsys)
    assert line.startswith("error: catalogue: ")
    assert f"{folder / 'services' / 'bike_hire.yaml'}" in line
    assert complaint in line


def test_a_file_that_is_no_text_is_a_line_that_names_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "services/bike_hire.yaml").write_bytes(EXAMPLE.replace("Harbour", "Härbour").encode("latin-1"))
    assert re.search(r"bike_hire\.yaml' cannot be read: 'utf-8' codec can't decode", complain(folder, capsys))


def test_two_files_with_one_service_are_a_line_that_names_both(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "services/another.yaml").write_text(EXAMPLE, "utf-8")
    line = complain(folder, capsys)
    assert f"{str(folder / 'services/bike_hire.yaml')!r}: the service 'bike_hire' is in" in line
    assert repr(str(folder / "services/another.yaml")) in line


@pytest.mark.parametrize(
    ("services", "complaint"),
    [
        ("nowhere", "nowhere' cannot be read: No such file or directory; name a folder of service files"),
        ("config.yaml", "config.yaml' cannot be read: Not a directory"),
        ("empty", "empty' has no service file; put a NAME.yaml into it"),
        ("other", "other/bike_hire.yml' is not read; call it bike_hire.yaml"),
        ("nested", "nested/deep.yaml' is no file; move it out of the folder"),
        ("unbridged", "boats.yaml': sides: there is no service 'boat_hire'"),
    ],
)
def test_a_folder_that_cannot_be_used_is_a_line_that_names_it(
    services: str, complaint: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("empty", "other", "nested/deep.yaml", "unbridged"):
        (folder / name).mkdir(parents=True)
    (folder / "empty/README.md").write_text("Nothing yet.")
    (folder / "other/bike_hire.yml").write_text(EXAMPLE, "utf-8")
    (folder / "unbridged/boats.yaml").write_text(BRIDGE.replace("bike_hire", "boat_hire"))
    (folder / "config.yaml").write_text(f"catalogue: [{services}]\n")
    assert complaint in complain(folder, capsys)


def test_folders_of_a_file_lie_beside_it_and_those_of_the_command_line_where_it_is_given(
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    shutil.copytree(folder / "services", "mine")
    for words in (["--config", str(folder / "config.yaml")], ["--set", "catalogue=[mine]"]):
        with pytest.raises(SystemExit) as ended:
            main(None, ["list-services", *words])
        assert ended.value.code == 0
        assert re.search(r"^bike_hire +bicycle hire +\S*bike_hire\.yaml$", capsys.readouterr().out, re.MULTILINE)


def test_only_what_a_file_answers_for_follows_from_it(folder: Path) -> None:
    def digests() -> dict[str, str]:
        author = OfflineAuthor(7, [str(folder / "services")])
        asked = {
            ("all", "domains.expand"),
            ("all", "fusion.links"),
            ("BikeHire", "entities.extract"),
            ("BikeHire__CityHotel", "fusion.stories"),
            ("CityHotel", "entities.extract"),
            ("CityHotel__TripCover", "fusion.stories"),
        }
        return {f"{key} {question}": author.digest(key, [question], SEEDS) for key, question in asked}

    def changes(before: dict[str, str]) -> set[str]:
        return {name for name, digest in digests().items() if digest != before[name]}

    file, before = folder / "services/bike_hire.yaml", digests()
    file.write_text(f"{EXAMPLE}# More.\n", "utf-8")
    assert changes(before) == {"BikeHire entities.extract", "BikeHire__CityHotel fusion.stories"}
    before = digests()
    file.write_text(f"# More.\n{EXAMPLE}# More.\n", "utf-8")
    own = {"all domains.expand", "BikeHire entities.extract", "BikeHire__CityHotel fusion.stories"}
    assert changes(before) == own
    before = digests()
    (folder / "services/bridge.yaml").write_text(BRIDGE)
    assert changes(before) == {"all fusion.links", "BikeHire__CityHotel fusion.stories"}
    before = digests()
    boats = EXAMPLE.replace("bike_hire", "boat_hire").replace("BikeHire", "BoatHire").replace("bicycle hire", "boats")
    (folder / "services/boat_hire.yaml").write_text(re.sub(r"keywords: .*", "keywords: [boat]", boats), "utf-8")
    assert changes(before) == set()


def test_a_bridge_of_ones_own_that_cannot_be_rendered_names_its_file(folder: Path) -> None:
    (folder / "services/bridge.yaml").write_text(BRIDGE.replace("rules: []", "rules: {{ hire._fused }}"))
    (bridge,) = [one for one in read_catalogue([str(folder / "services")], 7).bridges.values() if one.where]
    assert bridge.where == str(folder / "services/bridge.yaml")
    (folder / "services/bridge.yaml").write_text(BRIDGE.replace("rules: []", "rules: {{ hire"))
    with pytest.raises(ConfigError, match=r"bridge\.yaml': line 4: expected token"):
        read_catalogue([str(folder / "services")], 7)


def synth(folder: Path, *words: str, api_url: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "synth", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PREFECT_API_URL": api_url},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_changed_file_makes_the_items_of_its_domain_stale_and_no_others(folder: Path, api_url: str) -> None:
    def redone() -> set[str]:
        shown = synth(folder, "run", "--dry-run", *UNTIL_S03, api_url=api_url)
        assert shown.returncode == 0, shown.stderr
        return set(re.findall(r"^(s0\d \S+): redo", shown.stdout, re.MULTILINE))

    done = synth(folder, "run", *UNTIL_S03, api_url=api_url)
    assert done.returncode == 0, done.stderr
    assert redone() == set()
    (folder / "services/bike_hire.yaml").write_text(f"{EXAMPLE}# More.\n", "utf-8")
    (folder / "services/bridge.yaml").write_text(BRIDGE)
    assert redone() == {"s02 entities.json[BikeHire]"}
