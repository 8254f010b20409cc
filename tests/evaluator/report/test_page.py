import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

from evaluator.report.page import LONGEST_TEXT, MOST_CHARACTERS, in_script
from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message
from tests.evaluator.report.trials import BOOK, LIST, a_conversation, a_miss, a_page, a_pass, agent, persona, user
from tests.evaluator.results import a_result, an_error

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)><!-- {{7*7}} &amp; \u2028\u202e"


class Elements(HTMLParser):
    """What a browser takes the page for: its elements, and the text of scripts and styles."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[tuple[str, str]] = []
        self._inside = ""
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        self.texts.append((self._inside, data))

    def of(self, tag: str) -> list[str]:
        return [text for found, text in self.texts if found == tag]


def held(page: Path) -> list[dict[str, Any]]:
    """The trajectories that the page holds."""
    [text] = [text for text in Elements(page).of("script") if '"conversation"' in text]
    found: list[dict[str, Any]] = json.loads(text)
    return found


def words(items: list[dict[str, Any]]) -> list[str]:
    """All texts of turns, put together again."""
    texts = [text for item in items for text in item["texts"]]
    turns = [turn for item in items for turn in item["conversation"]["turns"]]
    return ["\n\n".join(texts[piece] for piece in turn["text"]) for turn in turns]


def test_json_in_a_script_keeps_its_value_and_has_nothing_that_html_knows() -> None:
    value: Json = {HOSTILE: [HOSTILE, 1, None], "half": "\ud800"}
    text = in_script(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert not set("<>&") & set(text)


def test_hostile_text_makes_no_element(tmp_path: Path) -> None:
    def page(text: str, folder: Path) -> Elements:
        wrong = agent(text, (text, {text: text}))
        talk = a_conversation([user(text), wrong], id=text, agent=text, persona=persona(text), world=text)
        return Elements(a_page(folder, [talk], [an_error("provider", text, agent=text, world=text, persona=text)]))

    plain, hostile = page("plain", tmp_path / "plain"), page(HOSTILE, tmp_path / "hostile")
    assert hostile.tags == plain.tags
    assert [name for name, _ in hostile.attributes] == [name for name, _ in plain.attributes]
    assert "\u202e" not in (tmp_path / "hostile" / "report.html").read_text("utf-8")


def test_the_policy_names_the_script_and_the_style_and_nothing_else(tmp_path: Path) -> None:
    page = Elements(a_page(tmp_path, [a_pass()]))
    [policy] = [value for name, value in page.attributes if name == "content" and value and "default-src" in value]
    digests = [b64encode(sha256(page.of(tag)[-1].encode()).digest()).decode() for tag in ("script", "style")]
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{digests[0]}'; style-src 'sha256-{digests[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_the_page_names_nothing_outside_itself(tmp_path: Path) -> None:
    page = a_page(tmp_path, [a_pass(), a_miss(id="SmallClinic-2")])
    assert not re.search(r"https?:|//[a-z]|@import|url\(", page.read_text("utf-8"))
    assert {name for name, _ in Elements(page).attributes} & {"src", "srcset", "style", "onclick"} == set()


def test_the_bytes_do_not_depend_on_the_order_of_the_results(tmp_path: Path) -> None:
    held = [a_miss(id=f"SmallClinic-{at}") for at in range(5)] + [a_pass(id=f"SmallClinic-{at}") for at in range(5, 9)]
    one = a_page(tmp_path / "one", held, [an_error("provider")])
    other = a_page(tmp_path / "other", Random(3).sample(held, len(held)), [an_error("provider")])
    assert one.read_bytes() == other.read_bytes()


def test_a_text_that_many_share_is_stored_once(tmp_path: Path) -> None:
    manual = "\n\n".join(f"Rule {at}: {'be kind. ' * 40}" for at in range(50))
    talks = [
        a_conversation([Message(role="system", content=f"Today is day {at}.\n\n{manual}"), user("Hi.")], id=f"S-{at}")
        for at in range(20)
    ]
    page = a_page(tmp_path, talks)
    assert page.stat().st_size < 2 * len(manual) + 90_000
    assert [text for text in words(held(page)) if text != "Hi."] == sorted(
        (f"Today is day {at}.\n\n{manual}" for at in range(20)), key=lambda text: f"S-{text[13:].split('.')[0]}"
    )


def test_long_texts_are_cut_and_say_so(tmp_path: Path) -> None:
    text = words(held(a_page(tmp_path, [a_conversation([user("x" * (LONGEST_TEXT + 5))])])))[0]
    assert text == "x" * LONGEST_TEXT + "\n[5 more characters]"


def test_the_size_is_bounded_whatever_a_trajectory_holds(tmp_path: Path) -> None:
    calls: list[tuple[str, str]] = [(LIST.tool, "{}")] * 100
    talk = [message for at in range(19) for message in (user(str(at) * 50_000), agent("\u202e" * 50, *calls))]
    page = a_page(tmp_path, [a_conversation(talk)])
    assert page.stat().st_size < 4 * MOST_CHARACTERS
    assert held(page)[0]["conversation"]["cut"]


def test_it_says_how_many_are_not_shown_and_how_to_see_them(tmp_path: Path) -> None:
    talks = [a_miss(id=f"SmallClinic-{at}") for at in range(3)] + [a_pass(id=f"SmallClinic-{at}") for at in range(3, 8)]
    page = a_page(tmp_path, talks, most=4)
    assert [item["passed"] for item in held(page)] == [False, False, False, True]
    text = page.read_text("utf-8")
    assert "4 are shown here, failures first. 4 are not shown" in text
    assert "python -m evaluator show ID" in text


def test_figures_stand_with_their_intervals_and_floors(tmp_path: Path) -> None:
    talks = [a_miss(id="SmallClinic-1"), *(a_pass(id=f"SmallClinic-{at}") for at in range(2, 5))]
    floors = [talk.result.model_copy(update={"floor_nothing": 0.25, "floor_random": 0.125}) for talk in talks]
    text = a_page(tmp_path, [], floors).read_text("utf-8")
    assert re.search(r"pass@1<b>75\.0 %</b><span class=\"note\">\d+\.\d–\d+\.\d, mean over 4 tasks", text)
    assert "doing nothing<b>25.0 %</b>" in text
    assert "by chance<b>12.5 %</b>" in text
    assert text.count('class="floor"') == 2 * text.count('class="rate"')


def test_a_conversation_that_is_gone_leaves_its_result(tmp_path: Path) -> None:
    [item] = held(a_page(tmp_path, [], [a_miss().result]))
    assert (item["id"], item["conversation"]) == ("SmallClinic-1#0", None)
    assert item["divergence"] is not None


def test_a_page_of_nothing_is_a_page(tmp_path: Path) -> None:
    text = a_page(tmp_path, []).read_text("utf-8")
    assert "0 are shown here" in text
    assert '<section class="agent"' not in text


def test_each_agent_has_its_own_figures_and_a_row_by_kind(tmp_path: Path) -> None:
    first = [a_result(task, agent="v/one", kind=kind) for task, kind in (("A", "do"), ("B", "refuse"))]
    second = [a_result(task, agent="v/two", kind="do", passed=False) for task in ("A", "B")]
    text = a_page(tmp_path, [], [*first, *second]).read_text("utf-8")
    assert re.findall(r'data-agent="(.*?)" data-user="(.*?)"', text) == [
        ("v/one", "offline/user"),
        ("v/two", "offline/user"),
    ]
    one, two = text.split('<section class="agent"')[1:]
    assert re.search(r"trials passed<b>100\.0 %</b><span class=\"note\">2 of 2 scored", one)
    assert re.search(r"trials passed<b>0\.0 %</b><span class=\"note\">0 of 2 scored", two)
    assert "<td>v/one with offline/user</td><td>100.0 %</td><td>100.0 %</td></tr>" in text
    assert "<td>v/two with offline/user</td><td>0.0 %</td><td>–</td></tr>" in text
    # 2 of 4 is the rate of nobody.
    assert "50.0 %" not in text


def test_forms_and_levels_are_reported_beside_kinds(tmp_path: Path) -> None:
    some: list[tuple[str, dict[str, Any]]] = [
        ("A", {"forms": ["choice", "errands"], "level": 4}),
        ("B", {"forms": [], "level": 1}),
    ]
    results = [a_result(task, agent=agent, **traits) for agent in ("v/one", "v/two") for task, traits in some]
    text = a_page(tmp_path, [], results).read_text("utf-8")
    assert 'id="by-form"' in text
    assert 'id="by-level"' in text
    first = next(item for item in held(tmp_path / "report.html") if item["id"] == "A#0")
    assert (first["forms"], first["level"]) == (["choice", "errands"], "4")


def test_a_user_that_leaves_too_often_is_warned_of(tmp_path: Path) -> None:
    def page(left: int) -> str:
        held = [a_result(f"T{at}", checks={"user": {"score": 1.0, "left": at < left}}) for at in range(100)]
        return a_page(tmp_path / str(left), [], held).read_text("utf-8")

    assert "scores with this user are unreliable" not in page(2)
    assert "offline/user left 3.0 % of its conversations with vendor/strong early" in page(3)
    assert "<td>100</td><td>3</td><td>3.0 %</td>" in page(3)


def test_a_call_of_the_golden_side_has_its_changes_in_the_page(tmp_path: Path) -> None:
    [item] = held(a_page(tmp_path, [a_miss()]))
    golden = item["conversation"]["golden"][1]
    assert golden["arguments"] == [["slot_id", '"SLO-0004"'], ["note", '"first visit"']]
    assert {"table": "slot", "op": "update", "key": '"SLO-0004"', "cells": [["is_free", "true", "false"]]} in golden[
        "changes"
    ]
    assert golden["tool"] == BOOK.tool
