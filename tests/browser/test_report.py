"""The report in a real browser: it opens quietly, obeys nothing that others wrote, and can be worked with."""

import json
from pathlib import Path
from urllib.parse import quote

import pytest

from evaluator.report import ShownConversation
from tests.browser.chromium import Browser
from tests.evaluator.report.trials import BOOK, a_conversation, a_miss, a_page, a_pass, agent, answer, persona, user

pytestmark = pytest.mark.browser
HOSTILE = (
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=document.title='owned';alert(1)>",
    "<!--<script>",
    "{{7*7}}",
    "javascript:alert(1)",
)
PLANTED = " ".join(HOSTILE)
REORDERING = "abc\u202edef"


def hostile() -> ShownConversation:
    """A conversation with such text wherever somebody else may put it."""
    booking = agent(PLANTED, (PLANTED, {PLANTED: PLANTED}), (BOOK.tool, {**BOOK.arguments, "note": PLANTED}))
    messages = [user(f"{PLANTED} {REORDERING}"), booking, answer(PLANTED, booking), answer(PLANTED, booking, 1)]
    return a_conversation(messages, id=PLANTED, agent=PLANTED, persona=persona(PLANTED), world=PLANTED)


def opened(tab: Browser, folder: Path, *conversations: ShownConversation) -> Browser:
    tab.open(a_page(folder, conversations))
    return tab


def listed(tab: Browser) -> list[str]:
    """Ids that the list shows, in its order."""
    rows = "[...document.querySelectorAll('#list a')].filter((row) => row.checkVisibility())"
    found: list[str] = tab.ask(f"{rows}.map((row) => row.querySelector('.id').textContent)")
    return found


def test_it_opens_without_a_complaint_and_asks_for_nothing_else(tab: Browser, tmp_path: Path) -> None:
    opened(tab, tmp_path, a_pass(), a_miss(id="SmallClinic-2"))
    assert tab.ask("document.querySelectorAll('#detail .call').length") > 0
    assert tab.complaints == []
    assert tab.requests == [(tmp_path / "report.html").as_uri()]


def test_a_script_that_is_not_the_pages_own_does_not_run(tab: Browser, tmp_path: Path) -> None:
    page = a_page(tmp_path, [a_pass()])
    text = page.read_text("utf-8").replace("</body>", "<script>document.title = 'owned'</script></body>")
    page.write_text(text.replace("</body>", "<img src='x' onerror=\"document.title = 'owned'\"></body>"), "utf-8")
    tab.open(page)
    assert tab.ask("document.title") == "Evaluation · vendor/strong"
    assert any("Content Security Policy" in complaint for complaint in tab.complaints)
    tab.wait("document.images[0].complete")
    assert tab.refused == [url for url in tab.requests if url != page.as_uri()] != []


def test_hostile_text_stays_text(tab: Browser, tmp_path: Path) -> None:
    opened(tab, tmp_path, hostile())
    tab.ask("document.querySelectorAll('details').forEach((found) => (found.open = true))")
    assert tab.ask("document.title") == f"Evaluation · {PLANTED}"
    assert (tab.dialogs, tab.complaints) == ([], [])
    made = "img, style + style, script:not(#data, #classes) ~ *, iframe, [onerror], [style], [src]"
    assert tab.ask(f"document.querySelectorAll('{made}').length") == 0
    assert tab.ask("document.scripts.length") == 3
    assert tab.ask("[...document.links].every((link) => link.getAttribute('href').startsWith('#'))")
    shown = tab.ask("document.getElementById('detail').textContent")
    assert shown.count(PLANTED) >= 8
    for place in ("h3", ".tool", ".cells th", ".cells td", "ins", "header .note", ".turn.user .words", "details pre"):
        found = tab.ask(f"[...document.querySelectorAll('#detail {place}')].map((one) => one.innerText).join()")
        assert PLANTED in found, place
    assert PLANTED in tab.ask("document.querySelector('.scope').textContent")
    assert PLANTED in tab.ask("document.querySelector('#list .id').textContent")
    assert "\u202e" not in tab.ask("document.documentElement.textContent")
    assert r"abc\u202edef" in shown


def test_the_list_is_filtered_by_class_and_by_id(tab: Browser, tmp_path: Path) -> None:
    opened(tab, tmp_path, a_pass(id="SmallClinic-10"), a_miss(id="SmallClinic-20"), a_miss(id="SmallClinic-21"))
    assert listed(tab) == ["SmallClinic-20#0", "SmallClinic-21#0", "SmallClinic-10#0"]
    tab.click("[data-class]")
    assert listed(tab) == ["SmallClinic-20#0", "SmallClinic-21#0"]
    assert tab.ask("document.getElementById('count').textContent") == "2 of 3"
    tab.type("#controls input", "c-21")
    assert listed(tab) == ["SmallClinic-21#0"]
    tab.ask("document.querySelector('#controls select').value = 'passed'")
    tab.ask("document.querySelector('#controls select').dispatchEvent(new Event('change'))")
    assert listed(tab) == []


def shown(tab: Browser) -> str | None:
    """The id of the trajectory that the pane shows; None where it shows none."""
    found: str | None = tab.ask("document.querySelector('#detail h3')?.textContent ?? null")
    return found


def current(tab: Browser) -> list[str]:
    """Ids that the list marks as shown."""
    rows = "[...document.querySelectorAll('#list a[aria-current=\"true\"] .id')]"
    found: list[str] = tab.ask(f"{rows}.map((row) => row.textContent)")
    return found


def search(tab: Browser, words: str) -> None:
    """Search for these words in place of others."""
    tab.ask(f"document.querySelector('#controls input').value = {json.dumps(words)}")
    tab.ask("document.querySelector('#controls input').dispatchEvent(new Event('input'))")


def test_the_pane_shows_what_the_filter_leaves(tab: Browser, tmp_path: Path) -> None:
    opened(tab, tmp_path, a_pass(id="SmallClinic-10"), a_miss(id="SmallClinic-20"), a_miss(id="SmallClinic-21"))
    search(tab, "SmallClinic-10#0")
    assert (shown(tab), current(tab)) == ("SmallClinic-10#0", ["SmallClinic-10#0"])
    search(tab, "SmallClinic-1")
    assert shown(tab) == "SmallClinic-10#0"
    opened(tab, tmp_path, a_miss(id="S-1", trial=10), a_pass(id="S-1", trial=1))
    assert shown(tab) == "S-1#10"
    search(tab, "S-1#1")
    assert (shown(tab), listed(tab)) == ("S-1#1", ["S-1#10", "S-1#1"])
    opened(tab, tmp_path, a_pass(id="SmallClinic-10"), a_miss(id="SmallClinic-20"))
    search(tab, "no such id")
    assert (shown(tab), current(tab), listed(tab)) == (None, [], [])
    assert "No trajectory fits these filters." in tab.ask("document.getElementById('detail').innerText")
    search(tab, "")
    assert shown(tab) == "SmallClinic-20#0"
    tab.ask("[...document.querySelectorAll('#list a')].at(-1).click()")
    tab.ask("document.querySelector('[data-class]').click()")
    assert shown(tab) == "SmallClinic-20#0"
    tab.ask("[...document.querySelectorAll('#list a')].at(-1).click()")
    assert shown(tab) == "SmallClinic-10#0"
    assert tab.complaints == []


def test_a_link_names_its_trajectory_and_holds_when_the_page_is_made_again(tab: Browser, tmp_path: Path) -> None:
    odd = "S/ä \"%41?&'<b> -1"
    held = [a_pass(id="S-1"), a_miss(id="S-2"), a_pass(id=odd), a_pass(id="S-1", trial=11)]
    opened(tab, tmp_path, *held)
    rows = "[...document.querySelectorAll('#list a')]"
    tab.ask(f"{rows}.find((row) => row.textContent.includes({json.dumps(odd)})).click()")
    tab.wait(f"document.querySelector('#detail h3').textContent === {json.dumps(odd + '#0')}")
    address: str = tab.ask("location.hash")
    assert address == "#trajectory-" + quote(f"{odd}#0", safe="!'()*~")
    page = a_page(tmp_path, [a_miss(id="A-0"), *reversed(held)])
    for link, id in [
        (address, f"{odd}#0"),
        ("#trajectory-S-1%230", "S-1#0"),
        ("#trajectory-S-1#11", "S-1#11"),
    ]:
        tab.open(page, link)
        assert (shown(tab), current(tab)) == (id, [id])
    tab.open(page, "#trajectory-S-9%230")
    assert (shown(tab), current(tab)) == (None, [])
    assert "S-9#0 is not on this page" in tab.ask("document.getElementById('detail').innerText")
    search(tab, "A-0")
    assert shown(tab) == "A-0#0"
    tab.ask("location.hash = '#trajectory-S-2%230'")
    tab.wait("document.querySelector('#detail h3').textContent === 'S-2#0'")
    assert current(tab) == ["S-2#0"]
    assert "S-2#0" in listed(tab)
    assert tab.complaints == []


def test_a_link_tells_agents_with_the_same_task_apart(tab: Browser, tmp_path: Path) -> None:
    page = a_page(tmp_path, [a_miss(id="S-1", agent="v/one"), a_pass(id="S-1", agent="v/two")])
    tab.open(page)
    links = tab.ask("[...document.querySelectorAll('#list a')].map((row) => row.getAttribute('href'))")
    assert len({*links}) == 2
    for link, name in zip(links, ("v/one", "v/two"), strict=True):
        tab.open(page, link)
        assert name in tab.ask("document.querySelector('#detail header').innerText")


def test_an_agent_or_a_user_may_be_chosen(tab: Browser, tmp_path: Path) -> None:
    held = [a_pass(id="S-1", agent="v/one"), a_miss(id="S-2", agent="v/one"), a_miss(id="S-3", agent=PLANTED)]
    opened(tab, tmp_path, *held)
    seen = "[...document.querySelectorAll('section.agent')].filter((one) => one.checkVisibility()).length"
    assert tab.ask("document.querySelectorAll('#who select').length") == 1
    assert tab.ask(seen) == 2
    tab.ask(f"document.querySelector('#who select').value = {json.dumps(PLANTED)}")
    tab.ask("document.querySelector('#who select').dispatchEvent(new Event('change'))")
    assert (tab.ask(seen), listed(tab)) == (1, ["S-3#0"])
    tab.ask("document.querySelector('section[data-agent=\"v/one\"] [data-class]').click()")
    assert (tab.ask(seen), listed(tab)) == (1, ["S-2#0"])
    assert tab.complaints == []


def test_a_selected_trajectory_shows_its_calls_with_their_changes_beside_the_golden_ones(
    tab: Browser, tmp_path: Path
) -> None:
    opened(tab, tmp_path, a_miss(id="SmallClinic-20"), a_pass(id="SmallClinic-10"))
    tab.click("#list a:nth-child(2)")
    tab.wait("document.querySelector('#detail h3').textContent === 'SmallClinic-10#0'")
    changes = "[...document.querySelectorAll('{} .change')].map((change) => change.textContent)"
    made, golden = tab.ask(changes.format("#call-1")), tab.ask(changes.format("#golden-1"))
    assert any(text.startswith("inserted in appointment") and "first visit" in text for text in made)
    assert any(text.startswith('updated in slot "SLO-0004"is_freetrue → false') for text in made)
    assert made == golden
    [left, right] = tab.ask("[...document.querySelectorAll('.side')].map((side) => side.getBoundingClientRect().x)")
    assert left < right
    tab.click("#list a:nth-child(1)")
    tab.wait("document.querySelector('#detail h3').textContent === 'SmallClinic-20#0'")
    assert "SLO-0006" in tab.ask("document.getElementById('call-0').textContent")
    assert tab.complaints == []


def test_a_selection_begins_at_its_head_wherever_the_last_one_was_left(tab: Browser, tmp_path: Path) -> None:
    tab.resize(1400, 300)
    opened(tab, tmp_path, *(a_miss(id=f"SmallClinic-{at}") for at in range(9)))
    head = "document.querySelector('#detail h3').getBoundingClientRect().top"
    tab.ask("document.querySelector('#detail .finding:last-child').scrollIntoView()")
    assert tab.ask(head) < 0
    tab.ask("document.querySelector('#list a:nth-child(4)').click()")
    tab.wait("document.querySelector('#detail h3').textContent === 'SmallClinic-3#0'")
    assert 0 <= tab.ask(head) < 150


def test_the_link_leads_to_the_first_divergence(tab: Browser, tmp_path: Path) -> None:
    chat = [message for at in range(60) for message in (user(f"Hello {at}."), agent(f"Yes, {at}?"))]
    wrong = agent("Booking.", (BOOK.tool, {**BOOK.arguments, "slot_id": "SLO-0006"}))
    opened(tab, tmp_path, a_conversation([*chat, wrong]))
    seen = (
        "(() => { const box = document.getElementById('divergence').getBoundingClientRect();"
        " return box.top >= 0 && box.bottom <= innerHeight; })()"
    )
    tab.ask("document.querySelector('#detail header').scrollIntoView()")
    assert not tab.ask(seen)
    tab.click("#detail header a")
    tab.wait(seen)
    assert "SLO-0006" in tab.ask("document.getElementById('divergence').parentElement.textContent")


def test_a_narrow_window_never_scrolls_sideways(tab: Browser, tmp_path: Path) -> None:
    tab.resize(400, 800)
    opened(tab, tmp_path, a_miss(id="S" * 300, persona=persona("p" * 300), agent="a" * 300), a_pass())
    assert tab.ask("document.querySelector('.side').checkVisibility()")
    assert tab.ask("document.documentElement.scrollWidth <= innerWidth")


def test_without_javascript_the_tables_and_plots_are_there(tab: Browser, tmp_path: Path) -> None:
    tab.tell("Emulation.setScriptExecutionDisabled", value=True)
    try:
        tab.open(a_page(tmp_path, [a_pass(), a_pass(trial=1), a_miss(id="SmallClinic-2")]))
        assert "needs JavaScript" in tab.ask("document.body.innerText")
        assert tab.ask("document.querySelectorAll('table').length") >= 5
        assert tab.ask("document.querySelectorAll('svg .rate').length") >= 5
        assert not tab.ask("document.getElementById('browser').checkVisibility()")
    finally:
        tab.tell("Emulation.setScriptExecutionDisabled", value=False)
