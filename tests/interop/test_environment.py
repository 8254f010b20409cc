"""The step-wise environment in process: resets, steps, ends, rewards and limits."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import interop
from interop.environments import EpisodeFactory
from interop.episode import EpisodeError
from interop.in_process import Environment
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.config.sections import Config
from skillweave.schema.record import Json
from tests.interop.driver import play


@pytest.fixture
def environment(small: Path) -> Iterator[Environment]:
    with interop.environment(small) as made:
        yield made


def test_the_oracle_gets_one_and_nothing_gets_none(environment: Environment) -> None:
    for id in environment.task_ids[::3]:
        assert play(environment, id, "oracle").reward == 1, id
        assert play(environment, id, "nothing").reward == 0, id


def test_no_reward_before_the_end(environment: Environment) -> None:
    environment.reset(environment.task_ids[0])
    step = environment.step("Hello! How can I help you?")
    assert (step.reward, step.done) == (0, False)
    assert not {"passed", "checks", "stop_reason"} & {*step.info}


def test_a_seed_draws_the_same_tasks(environment: Environment) -> None:
    def drawn() -> list[str]:
        return [environment.reset(seed=3).task_id, environment.reset().task_id, environment.reset().task_id]

    assert drawn() == drawn()


def test_a_number_is_a_task_whatever_the_split(small: Path) -> None:
    whole, part = EpisodeFactory(small), EpisodeFactory(small, split="test")
    assert {*part.ids} < {*whole.ids}
    assert all(part.id_of(whole.number_of(id)) == id for id in part.ids)


def test_a_task_of_another_split_is_refused(small: Path) -> None:
    with interop.environment(small, split="test") as environment:
        other = next(id for id in EpisodeFactory(small).ids if id not in environment.task_ids)
        for task in (other, environment.factory.number_of(other)):
            with pytest.raises(ArtifactError, match="split"):
                environment.reset(task)
        assert environment.reset(environment.task_ids[0]).task_id == environment.task_ids[0]


@pytest.mark.parametrize("task", ["", "DentalClinic-nothing", 10**6, -1])
def test_an_unknown_task_is_told_in_a_line_and_costs_nothing(environment: Environment, task: str | int) -> None:
    environment.reset(environment.task_ids[0])
    with pytest.raises((ArtifactError, ConfigError)) as told:
        environment.reset(task)
    assert "\n" not in str(told.value)
    assert not environment.step("Hello! How can I help you?").done


def test_after_the_end_there_are_no_steps(environment: Environment) -> None:
    with pytest.raises(EpisodeError):
        environment.step("before the first reset")
    environment.reset(environment.task_ids[0])
    ended = environment.finish()
    assert (ended.done, ended.reward, ended.info["stop_reason"]) == (True, 0, "agent_stop")
    with pytest.raises(EpisodeError) as over:
        environment.step("more")
    assert over.value.kind == "over"
    assert environment.finish() == ended


def test_a_limit_ends_the_episode_and_it_is_scored(small: Path) -> None:
    config = Config.model_validate({"rollout": {"max_calls": 2}})
    with interop.environment(small, config=config) as environment:
        environment.reset(environment.task_ids[0])
        call: dict[str, Json] = {"name": "no_such_tool", "arguments": {}}
        step = environment.step([call, call, call])
    assert (step.done, step.info["stop_reason"], step.info["truncated"]) == (True, "max_calls", True)
    assert len(step.observation) == 3


def test_unreadable_steps_end_the_episode(environment: Environment) -> None:
    environment.reset(environment.task_ids[0])
    steps = [environment.step("") for _ in range(3)]
    assert [step.done for step in steps] == [False, False, True]


def test_text_holds_calls_only_where_that_is_asked_for(small: Path) -> None:
    with interop.environment(small, text=True) as environment:
        observation = environment.reset(environment.task_ids[0])
        assert all(str(tool["function"]["name"]) in observation.text for tool in observation.tools)  # type: ignore[index,call-overload]
        step = environment.step("Thought: let me see.\nAction: no_such_tool\nAction Input: {}")
    assert environment.text_of(step).startswith("Observation: ")


HANDOVER = '<tool_call>{"name": "transfer_to_human", "arguments": {"reason": "no_tool", "summary": "x"}}</tool_call>'


@pytest.mark.parametrize(
    "thought",
    [f"<think>Or {HANDOVER}", "[THINK]\nAction: transfer_to_human\nAction Input: {}", f"<think>{HANDOVER}</think>"],
)
@pytest.mark.parametrize("as_message", [False, True])
def test_a_thought_about_a_handover_ends_no_episode(small: Path, thought: str, as_message: bool) -> None:
    with interop.environment(small, text=True) as environment:
        environment.reset(environment.task_ids[0])
        step = environment.step({"role": "assistant", "content": thought} if as_message else thought)
        assert (step.done, step.observation, step.info["turns"], step.info["calls"]) == (False, [], 0, 0)
        assert "neither an Action nor an Answer" in environment.text_of(step)
        spoken = environment.step(f"{thought.removesuffix('</think>')}</think>[/THINK]Hello! How can I help you?")
        assert (spoken.done, spoken.info["turns"], spoken.info["calls"]) == (False, 1, 0)
        [said] = [message for message in environment.episode.messages if message.role == "assistant"]
    assert said.content == "Hello! How can I help you?"
    assert "transfer_to_human" in (said.reasoning_content or "")


def test_sessions_do_not_meet_and_threads_may_share_a_factory(small: Path) -> None:
    factory = EpisodeFactory(small)
    rewards: dict[str, float] = {}

    def worker(agent: str, ids: list[str]) -> None:
        environment = Environment(factory)
        for id in ids:
            rewards[f"{agent} {id}"] = play(environment, id, agent).reward
        environment.close()

    ids = [*factory.ids][:6]
    threads = [
        threading.Thread(target=worker, args=(agent, ids)) for agent in ("oracle", "nothing", "oracle", "nothing")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rewards == {f"{agent} {id}": float(agent == "oracle") for agent in ("oracle", "nothing") for id in ids}


def test_an_episode_is_a_trajectory_that_the_evaluator_scores_alike(environment: Environment, small: Path) -> None:
    from evaluator.replay.trial import read_trajectory
    from evaluator.scoring.evaluate import CheckSettings, Evaluator

    dataset = environment.factory.dataset
    evaluator = Evaluator(dataset, dataset, CheckSettings())
    for agent, reward in (("oracle", 1), ("nothing", 0)):
        play(environment, environment.task_ids[1], agent)
        line = environment.episode.record().model_dump_json().encode()
        assert evaluator.evaluate(read_trajectory(line), "").reward == reward


def test_compact_prompts_are_shorter_and_state_the_same_rules(small: Path) -> None:
    import re

    with interop.environment(small) as full, interop.environment(small, compact=True) as compact:
        for id in full.task_ids[:5]:
            long, short = (made.reset(id).messages[0].content or "" for made in (full, compact))
            assert len(short) < len(long)
            assert {*re.findall(r"\[[RB]\d+\]", short)} == {*re.findall(r"\[[RB]\d+\]", long)}


def test_an_unknown_user_is_refused(small: Path) -> None:
    with pytest.raises(ConfigError, match="offline/user"):
        interop.environment(small, user="offline/nobody")
