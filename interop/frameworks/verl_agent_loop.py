"""verl: the agent loop `skillweave` for the rows of `interop export verl`, whose `agent_loops.yaml` names it.

The model's tokens are kept as they were sampled; what tools and the user say is appended as a user's message, outside
the loss. The reward is the evaluator's, of the episode as it stands when a limit of tokens or turns ends it.
"""

from typing import Any
from uuid import uuid4

from interop.frameworks.shared import BackgroundEpisode, DatasetOptions, missing
from interop.prompt import observation
from skillweave.base.errors import ConfigError

try:
    from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput, register
    from verl.utils.profiler import simple_timer
except ModuleNotFoundError as error:
    raise missing("verl with its own requirements", "verl") from error

AGENT = "skillweave"
"""The name under which the loop is registered, which the column `agent_name` of an export has."""


class TokenSequence:
    """All tokens of a conversation, with the mask of those that the model sampled."""

    def __init__(self, loop: AgentLoopBase, prompt: list[int]) -> None:
        self._loop = loop
        self.ids = prompt
        self.mask: list[int] = []
        """1 for tokens of the model, 0 for what it heard; of all tokens behind the prompt."""
        self.logprobs: list[float] = []

    async def add_sampled(self, ids: list[int], logprobs: list[float] | None) -> None:
        """Append what the model wrote."""
        known = self.logprobs if self.logprobs or logprobs else None
        merged, self.mask, kept = await self._loop.ct_merge_assistant_token(
            self.ids, ids, self.mask, known, assistant_logprobs=logprobs or None
        )
        self.ids, self.logprobs = merged.token_ids, kept or []

    async def add_heard(self, before: list[dict[str, str]], after: list[dict[str, str]]) -> None:
        """Append the messages that `after` has more than `before`."""
        merged, self.mask, kept = await self._loop.ct_merge_context_msg(
            before, after, self.ids, self.mask, self.logprobs or None
        )
        self.ids, self.logprobs = merged.token_ids, kept or []


@register(AGENT)  # type: ignore[untyped-decorator,unused-ignore]  # verl may not be installed
class SkillweaveAgentLoop(AgentLoopBase):  # type: ignore[misc]
    """Plays one row's conversation."""

    def __init__(
        self,
        *args: Any,
        outputs: str = "",
        user: str | None = None,
        compact: bool = False,
        config: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Create the loop; verl passes the keys of `agent_loops.yaml`.

        Args:
            args: verl's own.
            outputs: The outputs folder of a run; empty: as SKILLWEAVE_OUTPUTS says.
            user: `provider/model` of the simulated user; None: `offline/user`, which understands scripted agents alone.
            compact: Compact system prompts; rows keep those that they were exported with.
            config: A configuration file, with the settings of the user's endpoint.
            kwargs: verl's own.
        """
        super().__init__(*args, **kwargs)
        self._options = DatasetOptions(outputs, user, compact=compact, config=config)

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> AgentLoopOutput:
        """Hold the conversation of a row.

        Args:
            sampling_params: verl's.
            kwargs: The row: `raw_prompt`, and `extra_info` with `task_id`.

        Raises:
            ArtifactError: There is no such task.
            ConfigError: The row names none.
            EpisodeError: The user or the world failed; no reward is made up for it.
        """
        task = (kwargs.get("extra_info") or {}).get("task_id")
        if not isinstance(task, str):
            raise ConfigError("the row names no task; make the data with `python -m interop export verl`")
        episode = BackgroundEpisode(self._options.factory(), task)
        try:
            await episode.open()
            return await self._play(episode, sampling_params, [dict(message) for message in kwargs["raw_prompt"]])
        finally:
            await episode.close()

    async def _play(
        self, episode: BackgroundEpisode, sampling_params: dict[str, Any], messages: list[dict[str, str]]
    ) -> AgentLoopOutput:
        tokens = TokenSequence(self, await self.ct_build_initial_tokens(messages))
        request, metrics, turns = uuid4().hex, dict[str, Any](), 0
        most_turns = self.rollout_config.multi_turn.max_assistant_turns
        while True:
            with simple_timer("generate_sequences", metrics):
                written = await self.server_manager.generate(
                    request_id=request, prompt_ids=tokens.ids, sampling_params=sampling_params
                )
            turns += 1
            await tokens.add_sampled(written.token_ids, written.log_probs)
            if self._is_full(tokens):
                break
            text = self.tokenizer.decode(written.token_ids, skip_special_tokens=True)
            with simple_timer("tool_calls", metrics):
                step = await episode.step(text, text=True)
            if step.done or (most_turns and turns >= most_turns):
                break
            messages = [*messages, {"role": "assistant", "content": text}]
            heard = {"role": "user", "content": observation(step.observation, is_open=True)}
            await tokens.add_heard(messages, [*messages, heard])
            messages = [*messages, heard]
            if self._is_full(tokens):
                break
        end = await episode.finish()
        return self._output(tokens, end.reward, 2 * turns, metrics, written.extra_fields, bool(end.info["passed"]))

    def _is_full(self, tokens: TokenSequence) -> bool:
        return bool(len(tokens.mask) >= self.rollout_config.response_length)

    def _output(
        self,
        tokens: TokenSequence,
        reward: float,
        turns: int,
        metrics: dict[str, Any],
        extra: dict[str, Any],
        passed: bool,
    ) -> AgentLoopOutput:
        most = self.rollout_config.response_length
        start = len(tokens.ids) - len(tokens.mask)
        return AgentLoopOutput(
            prompt_ids=tokens.ids[:start],
            response_ids=tokens.ids[start:][:most],
            response_mask=tokens.mask[:most],
            response_logprobs=tokens.logprobs[:most] or None,
            reward_score=reward,
            num_turns=turns,
            metrics={"num_preempted": -1, **metrics},
            extra_fields={
                **extra,
                "turn_scores": [],
                "tool_rewards": [],
                "reward_extra_info": {"passed": float(passed)},
            },
        )
