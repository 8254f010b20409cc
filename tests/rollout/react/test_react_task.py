import asyncio
import json
from pathlib import Path

import pytest

from rollout.conversation import RolloutLimits
from rollout.parts import SourceContext
from rollout.react.task import GeneralReactTask, ReactTasks, react_tasks
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.config.sections import Config
from skillweave.llm.backends.backend import OfflineBackend
from skillweave.schema.record import Json
from skillweave.schema.trajectory import TrajectoryRecord
from tests.rollout.talks import a_question, add, calling, check_history, said_by, talk

SUM = calling(("add", '{"a": 2, "b": 3}'))
LINES = ['{"id": "q1", "question": "2 + 3?", "answer": "5"}', '{"id": "q2", "question": "Where?", "answer": "Rome"}']


def reward_of(record: TrajectoryRecord) -> float | None:
    assert record.score is not None
    return record.score.reward


def a_file(folder: Path, *lines: str) -> Path:
    path = folder / "questions.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_the_first_words_without_a_call_are_the_answer() -> None:
    record = talk(SUM, "It is 5.")
    assert record.stop_reason == "agent_stop"
    assert reward_of(record) == 1.0
    assert record.user is None
    assert reward_of(talk("It is 6.")) == 0.0


def test_words_beside_a_call_are_no_answer() -> None:
    record = talk(calling(("add", '{"a": 2, "b": 3}'), text="It is 5."), "It is 6.")
    assert reward_of(record) == 0.0


def test_without_an_answer_nothing_is_earned() -> None:
    record = talk(SUM, limits=RolloutLimits(max_calls=2))
    assert record.stop_reason == "max_calls"
    assert reward_of(record) == 0.0


def test_a_task_may_allow_fewer_calls_than_the_run() -> None:
    record = talk(SUM, task=GeneralReactTask("sum", "2 + 3?", "5", tools=[add], max_calls=3))
    assert record.stop_reason == "max_calls"
    assert record.metadata["tool_call_count"] == 3
    check_history(record.messages)


def test_a_checker_may_give_part_of_the_reward() -> None:
    task = GeneralReactTask("half", "?", lambda answer: 0.5 if answer == "almost" else False)
    record = talk("almost", task=task)
    assert record.score is not None
    assert (record.score.passed, record.score.reward, record.score.checks) == (False, 0.5, {"answer": 0.5})


def test_the_digest_tells_changed_questions_apart() -> None:
    same = GeneralReactTask("sum", "What is 2 + 3?", "5", tools=[add])
    assert a_question().digest == same.digest
    others = [a_question(answer="6"), a_question(tools=()), GeneralReactTask("sum", "3 + 3?", "5", tools=[add])]
    assert len({task.digest for task in (same, *others)}) == 4


def test_a_file_of_questions_is_a_source(tmp_path: Path) -> None:
    source = ReactTasks(a_file(tmp_path, LINES[0], "", LINES[1]), [add])
    assert source.ids() == ["q1", "q2"]
    assert reward_of(talk("rome", task=source.task("q2", 0))) == 1.0
    assert reward_of(talk(SUM, "5", task=source.task("q1", 3))) == 1.0
    assert source.digest == ReactTasks(tmp_path / "questions.jsonl", [add]).digest
    assert source.digest != ReactTasks(tmp_path / "questions.jsonl").digest
    with pytest.raises(ConfigError, match="no question 'q3'"):
        source.task("q3", 0)


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([LINES[0], LINES[0]], "line 2: id 'q1' stands twice"),
        (["{"], "line 1: line: Invalid JSON"),
        (['{"id": "q1", "question": "?"}'], "line 1: answer: Field required"),
        (['{"id": "q1", "question": "?", "answer": "5", "check": "fuzzy"}'], "unknown check 'fuzzy'; known are answer"),
    ],
)
def test_a_line_that_is_no_question_is_named(tmp_path: Path, lines: list[str], complaint: str) -> None:
    with pytest.raises(ArtifactError, match=complaint):
        ReactTasks(a_file(tmp_path, *lines))


def test_a_run_names_the_file_and_the_tools(tmp_path: Path) -> None:
    path = a_file(tmp_path, *LINES)
    source = react_tasks(a_context(tmp_path, questions=str(path), tools=["tests.rollout.talks:add"]))
    task = source.task("q1", 0)
    runtime = asyncio.run(task.initialize_runtime())
    answer = asyncio.run(runtime.call("add", {"a": 1, "b": 1}))
    assert json.loads(answer.content) == 2


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "must be {questions: FILE}"),
        ({"questions": "q.jsonl", "tool": []}, "must be {questions: FILE}"),
        ({"questions": "q.jsonl"}, "questions 'q.jsonl' cannot be read"),
        ({"questions": "q.jsonl", "tools": ["nowhere:add"]}, "tool 'nowhere:add' of rollout.parts.options"),
    ],
)
def test_options_that_name_none_are_refused(tmp_path: Path, options: dict[str, Json], complaint: str) -> None:
    with pytest.raises((ConfigError, ArtifactError), match=complaint):
        react_tasks(a_context(tmp_path, **options))


def a_context(folder: Path, **options: Json) -> SourceContext:
    config = Config.model_validate({"rollout": {"parts": {"options": options}}})
    return SourceContext(config, folder, OfflineBackend(lambda request: "", "user"))


def test_a_wrong_tool_is_told_back_and_the_conversation_goes_on() -> None:
    record = talk(calling(("multiply", "{}")), "5")
    assert "there are: add" in (said_by(record, "tool")[0].content or "")
    assert reward_of(record) == 1.0


def test_a_changed_answer_is_another_task(tmp_path: Path) -> None:
    one = ReactTasks(a_file(tmp_path, LINES[0])).task("q1", 0).digest
    other = ReactTasks(a_file(tmp_path, LINES[0].replace('"5"', '"6"'))).task("q1", 0).digest
    assert one != other
