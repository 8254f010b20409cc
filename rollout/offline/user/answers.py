"""Answers: whether a sentence of the agent answers a question of the user's, by the kind of value that it carries.

`How much?` is answered by an amount, `when?` by a day or a time, `who?` and `which?` by a name or a number that the
user has not said themselves. Whether the value is right the user cannot know.
"""

import re
from collections.abc import Sequence
from typing import Literal

from rollout.offline.user.lexicon import WORD, money, stems, wording
from rollout.offline.user.moods import Sentence
from rollout.offline.user.topics import Topic
from rollout.user.telling.fact_words import words_of

Kind = Literal["amount", "moment", "number", "name"]


def kind_of(question: str) -> Kind:
    """What sort of value answers it: `how much was taken`, `when my next visit is`."""
    text = question.lower()
    head = text[:45]
    if wording("moment_first").match(text):
        return "moment"
    if wording("costs").match(text):
        return "amount"
    if wording("named").search(head):
        return "name"
    if wording("counted").search(head):
        return "number"
    if head.startswith(("how much", "what")) and money().search(text):
        return "amount"
    if wording("moment").search(head):
        return "moment"
    return "amount" if money().search(text) or head.startswith("how much") else "name"


def is_answer(question: str, sentence: Sentence, known: Sequence[Topic], *, is_asked_for: bool = False) -> bool:
    """Whether a sentence carries a value of the question's kind that the user has not said themselves.

    A day of the user's own is one where it is said of what they asked about, or where nothing else is awaited.
    """
    kind, found = kind_of(question), sentence.mentions
    if wording("hour").search(question) and not found.times:
        return False
    if kind == "moment" and wording("born").search(sentence.text):
        return False
    if kind == "moment":
        own = [moment for topic in known if (moment := topic.moment)]
        new = [day for day in found.days if not any(day.is_day(moment.date()) for moment in own)]
        own_times = {(moment.hour, moment.minute) for moment in own}
        if new or any(time not in own_times for time in found.times):
            return True
        if found.days:
            if wording("repeats").search(sentence.text):
                return False
            of_record = any(topic.record_stems & stems(sentence.text) for topic in known)
            return is_spoken_of(question, sentence) or (is_asked_for and not of_record)
        return wording("near_day").search(sentence.text) is not None
    if kind in ("amount", "number"):
        own_figures = {str(number) for topic in known for number in _figures(topic)}
        new_figures = [number for number in found.numbers if str(number) not in own_figures]
        return bool(new_figures) or wording("nothing").search(sentence.text) is not None
    return _has_new_name(question, sentence, known)


def overlap(question: str, sentence: Sentence) -> int:
    """How many words of the question the sentence takes up; words of paying are one."""
    shared = len(stems(question) & stems(sentence.text))
    both_pay = money().search(question) is not None and money().search(sentence.text) is not None
    return shared + both_pay


def is_spoken_of(question: str, sentence: Sentence) -> bool:
    """Whether the sentence takes up a word of the question."""
    return bool(stems(question) & stems(sentence.text))


def _has_new_name(question: str, sentence: Sentence, known: Sequence[Topic]) -> bool:
    said = f"{question} {' '.join(topic.fact.text for topic in known)}".lower()
    words = WORD.findall(sentence.text)
    new = [
        word for word in words[1:] if word.lower() not in said and (word[0].isupper() or any(map(str.isdigit, word)))
    ]
    if [word for word in new if word not in ("I", "I'm", "I'll", "I've", "OK")]:
        return True
    content = stems(sentence.text) - stems(said)
    return overlap(question, sentence) >= 1 and len(content) >= 1 and " is " in f" {sentence.text} "


def _figures(topic: Topic) -> list[str]:
    value = topic.fact.value
    if isinstance(value, bool) or value is None:
        return []
    figures = re.findall(r"\d[\d,]*(?:\.\d+)?", f"{words_of(topic.fact)} {value}")
    found = [figure.replace(",", "") for figure in figures]
    return [*found, f"{value / 100:.2f}"] if isinstance(value, int) and "cents" in topic.fact.id else found
