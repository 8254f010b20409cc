import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from skillweave.base.errors import AuthorError, ProviderError
from skillweave.llm.ask import ask
from skillweave.llm.backends.backend import OfflineBackend, Reply, Request
from skillweave.llm.ledger import Ledger
from skillweave.llm.question import Question

from .conftest import Maker


class Script:
    """An author that gives these answers, one for each attempt, and remembers what it was asked."""

    def __init__(self, *answers: str | Reply) -> None:
        self.answers = answers
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> str | Reply:
        self.requests.append(request)
        return self.answers[request.attempt]


def put(question: Question[Any], script: Script, **options: Any) -> Any:
    backend = OfflineBackend(script, "script")
    return asyncio.run(ask(backend, question, key="red", variables={"thing": "red"}, **options))


def test_a_right_answer_is_asked_once(a_question: Maker) -> None:
    script, ledger = Script("[1, 2]"), Ledger()
    assert put(a_question(list[int]), script, ledger=ledger) == [1, 2]
    (request,) = script.requests
    assert (request.question, request.key, request.variables) == ("thing.ask", "red", {"thing": "red"})
    assert (request.model, request.attempt) == ("script", 0)
    assert ledger.total().first_try == 1


def test_null_can_be_an_answer(a_question: Maker) -> None:
    assert put(a_question(type(None)), Script("null")) is None


def test_a_faulty_answer_is_sent_back_with_the_exact_complaints(a_question: Maker) -> None:
    script, ledger = Script('["x"]', "[3]"), Ledger()
    assert put(a_question(list[int]), script, ledger=ledger) == [3]
    first, second = script.requests
    assert second.messages[:2] == first.messages
    said, complaint = second.messages[2:]
    assert (said.role, said.content) == ("assistant", '["x"]')
    assert complaint.role == "user"
    assert complaint.content is not None
    assert "- things.0: Input should be a valid integer" in complaint.content
    assert ledger.total().repaired == 1


def test_an_absurdly_long_answer_is_not_sent_back_whole(a_question: Maker) -> None:
    script = Script("x" * 1_000_000, "[3]")
    assert put(a_question(list[int]), script) == [3]
    assert len(str(script.requests[1].messages[2].content)) < 201_000


def test_what_a_check_finds_goes_back_too(a_question: Maker) -> None:
    def check(numbers: list[int]) -> Sequence[str]:
        return [f"{number} is odd" for number in numbers if number % 2]

    script = Script("[1, 3, 3]", "[2]")
    assert put(a_question(list[int]), script, check=check) == [2]
    assert "- 1 is odd\n- 3 is odd\n\nAnswer again, in full" in str(script.requests[1].messages[-1].content)


def test_a_check_may_be_awaited(a_question: Maker) -> None:
    async def check(number: int) -> Sequence[str]:
        await asyncio.sleep(0)
        return [] if number == 2 else ["not two"]

    assert put(a_question(int), Script("1", "2"), check=check) == 2


def test_rounds_are_bounded_and_the_last_reasons_kept(a_question: Maker) -> None:
    script, ledger = Script("a", "b", "[", "[1]"), Ledger()
    with pytest.raises(AuthorError, match=r"question 'thing.ask' for 'red': no usable answer in 3 answers") as caught:
        put(a_question(list[int]), script, repairs=2, ledger=ledger)
    assert len(script.requests) == 3
    assert (caught.value.question, caught.value.key) == ("thing.ask", "red")
    assert "line 1 column 2" in caught.value.reasons[0]
    assert ledger.total().rejected == 1


def test_an_author_that_repeats_itself_is_stopped(a_question: Maker) -> None:
    script = Script("no", "well, no", "no", "[1]")
    with pytest.raises(AuthorError, match="in 3 answers"):
        put(a_question(list[int]), script, repairs=9)


def test_without_repairs_one_answer_decides(a_question: Maker) -> None:
    with pytest.raises(AuthorError, match="in 1 answer;"):
        put(a_question(int), Script("x", "1"), repairs=0)


def test_a_cut_off_answer_is_called_that(a_question: Maker) -> None:
    script = Script(Reply(text='["a', stop="length"), '["a"]')
    assert put(a_question(list[str]), script) == ["a"]
    assert "cut off at the token limit" in str(script.requests[1].messages[-1].content)


def test_half_a_text_is_no_answer(a_question: Maker) -> None:
    script = Script(Reply(text="# Rules, the first", stop="length"), "# Rules")
    assert put(a_question(str, form="text"), script) == "# Rules\n"


def test_an_author_that_gives_up_is_not_asked_again(a_question: Maker) -> None:
    asked: list[Request] = []

    def unknown(request: Request) -> str:
        asked.append(request)
        raise AuthorError("the catalogue does not know 'red'", reasons=("nearest: 'rod'",))

    with pytest.raises(AuthorError) as caught:
        asyncio.run(ask(OfflineBackend(unknown), a_question(int), key="red", variables={"thing": 1}))
    assert len(asked) == 1
    assert (caught.value.key, caught.value.reasons) == ("red", ("nearest: 'rod'",))


def test_transport_errors_pass(a_question: Maker) -> None:
    def broken(_: Request) -> str:
        raise ProviderError("no route")

    with pytest.raises(ProviderError, match="no route"):
        asyncio.run(ask(OfflineBackend(broken), a_question(int), key="red", variables={"thing": 1}))


def test_how_it_went_is_entered_by_step_question_and_author(a_question: Maker) -> None:
    run = Ledger()
    item = Ledger(run)
    put(a_question(int), Script("x", "1"), ledger=item, step="s01")
    assert item.entries() == run.entries()
    ((place, asking),) = run.entries().items()
    assert place == ("s01", "thing.ask", "offline/script")
    assert (asking.asked, asking.first_try, asking.repaired, asking.rejected) == (1, 0, 1, 0)
    assert asking.complaints == {"form": 1}
    assert asking.reply_chars == 2


def test_a_conversation_that_no_longer_fits_is_no_answer(a_question: Maker) -> None:
    script = Script(Reply(text="", stop="context_window"), "1")
    with pytest.raises(AuthorError, match="context window"):
        put(a_question(int), script)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply("", stop="content_filter", refusal="I won't."), 'refused to answer: "I won\'t."'),
        (Reply("[1", stop="content_filter"), "the content filter of offline/script withheld the answer"),
        (Reply("", stop="content_filter", withheld="Too violent."), "withheld the answer: 'Too violent.'"),
    ],
)
def test_a_refusal_is_not_argued_with(a_question: Maker, reply: Reply, words: str) -> None:
    script, ledger = Script(reply, "1"), Ledger()
    with pytest.raises(AuthorError, match=words) as caught:
        put(a_question(int), script, ledger=ledger)
    assert len(script.requests) == 1
    assert (caught.value.key, ledger.total().rejected) == ("red", 1)


def test_an_empty_answer_is_sent_back_once(a_question: Maker) -> None:
    script = Script(Reply("", stop="length"), "", "1")
    with pytest.raises(AuthorError, match="in 2 answers; last: the answer is empty"):
        put(a_question(int), script, repairs=5)
    assert "cut off at the token limit" in str(script.requests[1].messages[-1].content)


def test_a_judge_that_answers_nonsense_is_warned_of_once(a_question: Maker, caplog: pytest.LogCaptureFixture) -> None:
    opinion, run = replace(a_question(list[int]), role="judge"), Ledger()
    for _ in range(3):
        with pytest.raises(AuthorError):
            put(opinion, Script("hello", "hello"), ledger=Ledger(run), step="s04")
    (warning,) = [record.getMessage() for record in caplog.records]
    assert warning.startswith("the judge offline/script gives no usable answer, and the run goes on without it: ")
    with pytest.raises(AuthorError):
        put(a_question(list[int]), Script("hello", "hello"))
    assert len(caplog.records) == 1
