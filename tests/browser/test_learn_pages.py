"""The page of a skill run in a real browser: quiet, inert, and no wider than a phone."""

from pathlib import Path

import pytest

from learn.skill.page import write_skill_page
from tests.browser.chromium import Browser
from tests.learn.pages import HOSTILE
from tests.learn.skill.runs import a_run

pytestmark = pytest.mark.browser


def test_it_opens_without_a_complaint_and_obeys_nothing_that_a_model_wrote(tab: Browser, tmp_path: Path) -> None:
    page = write_skill_page(a_run(tmp_path, HOSTILE))
    tab.open(page)
    tab.ask("document.querySelectorAll('details').forEach((found) => (found.open = true))")
    assert (tab.complaints, tab.dialogs, tab.requests) == ([], [], [page.as_uri()])
    assert tab.ask("document.title") == "Skill run"
    assert tab.ask("document.scripts.length + document.images.length") == 0
    assert tab.ask("getComputedStyle(document.querySelector('.diff .added')).backgroundColor") != "rgba(0, 0, 0, 0)"


def test_it_is_no_wider_than_a_phone(tab: Browser, tmp_path: Path) -> None:
    tab.resize(390, 800)
    tab.open(write_skill_page(a_run(tmp_path, "word" * 60)))
    tab.ask("document.querySelectorAll('details').forEach((found) => (found.open = true))")
    assert tab.ask("document.documentElement.scrollWidth <= innerWidth")
