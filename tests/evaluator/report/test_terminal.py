import os
import pty
from io import StringIO

from evaluator.report import ShownConversation
from evaluator.report.transcript import show_conversation
from tests.evaluator.report.trials import BOOK, a_conversation, a_miss, a_pass, agent, user


def shown(conversation: ShownConversation) -> str:
    out = StringIO()
    show_conversation(conversation, out)
    return out.getvalue()


def test_calls_stand_with_their_changes_and_the_golden_ones_after_them() -> None:
    made, _, golden = shown(a_pass()).partition("Golden calls\n")
    for side in (made, golden):
        assert "inserted in appointment" in side
        assert 'updated in slot "SLO-0004"' in side
        assert "is_free: true -> false" in side
    assert "It is booked." in made
    assert "left the golden path" not in made


def test_the_first_divergence_is_marked_once_at_its_call() -> None:
    lines = shown(a_miss()).splitlines()
    [at] = [at for at, line in enumerate(lines) if "left the golden path here" in line]
    assert any("SLO-0006" in line for line in lines[at : at + 6])
    assert lines[1].startswith("failed, reward 0.0")


def test_what_was_never_done_is_marked_at_the_end() -> None:
    assert shown(a_conversation([user("Book me in."), agent("No.")])).count("left the golden path here") == 1


def test_what_the_user_comes_out_with_later_stands_at_the_head() -> None:
    later = {"when": "after_report", "says": "And drop the reminder, please."}
    text = shown(a_pass(scenario={"goal": "You want a slot.", "reason": "", "facts": [], "later": later}))
    assert "goal: You want a slot.\nlater: And drop the reminder, please.\n" in text


def test_nothing_in_it_is_obeyed_by_a_terminal() -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07 \u202e [red]markup[/red]\r\nnext\tline"
    text = shown(a_conversation([user(hostile), agent(hostile, (hostile, {hostile: hostile}), (BOOK.tool, hostile))]))
    assert all(character.isprintable() or character in "\n\t" for character in text)
    assert r"\x1b[2J\x1b]0;owned\x07 \u202e [red]markup[/red]\r" in text


def test_a_terminal_gets_colours_and_no_markup() -> None:
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w") as out:
        show_conversation(a_conversation([user("[red]x[/red] \x1b[2J"), agent("No.")]), out)
        out.write("\f")
        out.flush()
        text = ""
        while not text.endswith("\f"):
            text += os.read(reader, 1 << 20).decode()
    os.close(reader)
    assert "[red]x[/red] \\x1b[2J" in text
    assert "\x1b[1m" in text
