"""`models.md`: how to use each kind of author, and what a default run asks of one, from the sizes that were seen."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from typing import Any

from docs.reference import table
from skillweave.config.sections import Config
from skillweave.llm.ledger import CHARACTERS_PER_TOKEN
from synth.cli.dry_run import ExpectedQuestions
from synth.cli.preview import TASK_STEP, needed
from synth.engine.pipeline import load_pipeline
from synth.engine.run import PipelineRun, RunSpec
from synth.engine.step import PipelineStep
from synth.questions.sizes import ByQuestion, Size

TEXT = """\
# Models as authors

Made by `python -m docs.generate`; its words and figures come from `docs/models.py`.

A run needs texts from outside: domains, contracts, policies, stories, code. Each of them answers a question, and
whoever answers is an **author**, named `provider/model`. There are three roles: `llm.textual` answers questions about
meaning, `llm.coding` writes code, and `llm.judge` gives opinions. The built-in offline author answers for the first two
from a catalogue of services, at no cost. A model can answer for any service, and its answers pass the same gates. A
judge has no default. Without one, nothing is judged, and the run and the dataset's card say so. With one, s04 asks it
to decide cases at the limit of each rule from the rule's sentence alone, and the evaluator can rate conversations on
request.

```sh
export OPENAI_API_KEY=...
python -m synth run --dry-run --set llm.textual=openai/gpt-5      # questions and cost; needs no key, sends nothing
python -m synth run --set llm.textual=openai/gpt-5 --set 'domains.seeds=[bicycle repair, lending library]'
```

s01 expands the seeds to related domains, up to 12 in all, and domains that serve the same persons are joined.
`--set steps.s01_domain_expansion.target_domains=2` makes only two; `--set task_mode=single` joins none.

For a first look:

```sh
python -m synth preview "bicycle repair" --set llm.textual=openai/gpt-5
```

It shows the company, its tools and rules, six tasks, what they cost, what a whole domain would cost, and the command
that makes it. It keeps only the answers, and that command finds them again.

## Start here: a model for meaning, the offline author for code

```yaml
llm:
  textual: {model: openai/gpt-5}
  coding: {model: offline/author}
```

The offline author writes correct generators and servers for any contract, at no cost, so you pay a model only for what
the offline author cannot do. Let a model write the code too if you want servers that differ as if different people had
written them. Either way each server has to prove itself equal to its contract.

## Providers

| author | key | answers come from |
| --- | --- | --- |
| `offline/author` | none | the catalogue; for an unknown seed the error lists the known ones |
| `openai/<model>` | `OPENAI_API_KEY` | OpenAI's Responses API; at a `base_url` its chat API, or what `api` says |
| `anthropic/<model>` | `ANTHROPIC_API_KEY` | the Messages API, of Anthropic or at a `base_url` |
| `vllm/<model>` | none | a vLLM server, by default at `http://127.0.0.1:8000/v1`; guided decoding |
| `replay/<cassette>` | none | a recording; no network |
| `module:Class/<model>` | its own | a [backend of your own](extending.md#a-question-and-a-backend-that-answers) |

**vLLM** is a provider of its own name (`vllm/MODEL`) on the backend for OpenAI's protocol. It adds guided decoding and,
in rollouts, `serve`, which starts the server. It is best in an environment of its own; `pip install 'skillweave[vllm]'`
puts it into the same one, with the older Prefect that fits it. Reach any other server of that protocol as
`openai/MODEL` with a `base_url`:

```yaml
llm:
  textual: {model: openai/qwen3, base_url: "http://127.0.0.1:11434/v1"}                     # Ollama
  coding: {model: openai/local, base_url: "http://127.0.0.1:8080/v1"}                       # llama.cpp's server
  judge: {model: openai/some-model, base_url: "https://gateway.example/v1", api_key_env: GATEWAY_KEY}
```

`api_key_env` is the *name* of the environment variable that holds a key. Keys come from nowhere else and are never
written to disk. An endpoint with its own `base_url` gets a key only if you name one; if that is the usual key of
another provider, you get a warning.

**Thoughts** of a model are told from its words, whether its server sends them apart or in the text (`<think>`,
`[THINK]`, gpt-oss' channels and the other forms that vLLM's parsers know). Nobody reads them: no user, no later request
(but for `replay_reasoning`), no parser of answers. A trajectory has them as `reasoning_content`. A reply that is all
thought, because the token limit cut it off, has no words. Only a thought that the chat template began in the prompt and
that is cut off has no mark at all; there, start the server with a parser of reasoning (`serve.reasoning_parser`).

**Calls as text.** A server without a parser of tool calls sends calls as words. They are never made. `rollout run` and
the evaluator count such replies and say so; start the server with `--enable-auto-tool-choice --tool-call-parser NAME`
(`serve.tool_call_parser`), or let the agent write its calls as text (`rollout.parts.agent: react`).

An author has these further keys: `temperature`, `top_p`, `max_tokens`, `seed`, `reasoning_effort`, `structured` (send
the schema of the answer), `stream`, and `extra` (more fields of the request's body). If an endpoint reports that it
does not support a field (for example `temperature` for a reasoning model), the field is left out and the log says so.
Without `structured`, or if an endpoint refuses the schema, a tolerant parser reads the answer from text.

A step can have its own authors. Each role can have fallbacks, which are asked if the author is unreachable, refuses, or
gives no usable answer:

```yaml
llm:
  textual:
    model: vllm/my-model
    fallback: [{model: anthropic/claude-sonnet}, offline/author]
steps:
  s07_policy_generation:
    llm: {textual: {model: anthropic/claude-sonnet, temperature: 0.3}}
```

## What it costs

`--dry-run` shows for each step the number of questions and tokens, and their cost by your `llm.prices`. It estimates
from what this outputs folder asked before, or else from the sizes below. Prices change, so none are built in: a model
without a price has an *unknown* cost, never zero.

```yaml
llm:
  prices:
    openai/gpt-5: {input: 1.25, output: 10.0, cached_input: 0.125}      # US dollars per million tokens; look them up
  budget_usd: 20
```

The run stops before it would exceed `llm.budget_usd`; all runs on one outputs folder share the budget. The highest
possible cost of a request is reserved before it is sent, so requests under way can never exceed the limit. A request
whose reply was lost counts as charged. All answers are kept: raise the budget and run the same command to continue.
With a budget, a model without a price is refused. A run that asked models ends with one row for each question: how
often it was asked, accepted at once, repaired or given up, why, and what it cost. `python -m synth status` shows the
same for all runs. If an endpoint reports no tokens, they are estimated from characters and marked `~`.

{domain}

{sizes}
## Nothing is paid for twice

Every answer is stored on disk before it is used, in one SQLite file that all runs share (`llm.cache`; by default
`skillweave/replies.sqlite` in your cache folder). The lookup key is the question, the model and its endpoint, the
sampling, the item and the attempt. So a run that was killed, or that is repeated in another folder, pays only for new
questions: if you change one prompt, only its questions are asked again.

This also holds for rejected answers. `python -m synth run --retry-rejected` asks again about the rejected items, and
about nothing else. If the fault lies in the result of an earlier step (a contract for which no row can be drawn), the
reason goes back to that step's author, who repairs it; earlier answers are not asked for again. A repair stays valid
until its inputs change. After a repair without success, the item is asked again from its first question. A run proposes
this command only if it can lead to another answer, and says what it would ask.

`llm.record: run.jsonl` also adds every reply to a cassette. `--set llm.textual=replay/run.jsonl` (and `coding`) answers
from it anywhere, without a key. Answers that `--retry-rejected` asked for are found by the same commands in the same
order. Neither the file nor the cassette holds keys, and of a question they hold only the rendered words.

## Limits of an endpoint

```yaml
llm:
  max_concurrency: 16                    # requests under way, over all endpoints
  max_retries: 4
  endpoints:
    openai: {requests_per_minute: 500, tokens_per_minute: 200000}
    "http://127.0.0.1:8000/v1": {max_concurrency: 64}
```

The run obeys `Retry-After` for the whole endpoint. If an endpoint is down, the run probes it now and then, waits up to
`llm.outage_s`, and then stops with everything saved; displays say what it waits for. Where nothing ever answered, it
stops within seconds: start the server, or correct `base_url`. On Dask or Ray each worker has an equal part of
these limits. [Scaling](scaling.md) says how the budget is shared.

Requests obey `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, in lower or upper case; those to this machine
itself go through no proxy. A proxy is an HTTP proxy: SOCKS is refused, and an error says which proxy it came through.

## When answers fail

| what you see | what to do |
| --- | --- |
| many `form` complaints in `synth status` | see in `logs/` how replies began; use a larger model, raise `max_tokens` |
| `cut` | raise the author's `max_tokens`; an answer is continued `llm.continuations` times |
| `check` | read the complaint that the author got in `logs/<step>.log`; raise `steps.<step>.repairs` |
| `refused`, `withheld` | give that step another author, or a `fallback` |
| `too_long` | give that step a model with a larger context window |
| `unreached` | check the endpoint and the limits above; the same command continues |
| a domain rejected | `python -m synth run --retry-rejected`, if the run proposes it; everything else is kept |

Code that a model wrote runs in the [sandbox](sandbox.md). `sandbox.minimum: namespaces` refuses to run it on a machine
with a weaker sandbox.
"""


SIZES = """\
The default run (12 domains, 14 sets of them joined), as recorded models answered, with repairs, at four characters a
token:

{table}
An answer that is sent back costs its prompt and its own tokens again; in a list that is judged element by element, only
the faulty elements are written again. What one model takes may be a third more or less. The longest prompts (s04's
contracts, s13's policies) begin with text that repeats, so providers can cache it.
"""


def page() -> str:
    """The page's text."""
    return TEXT.replace("{domain}", _domain()).replace("{sizes}", _sizes())


def _domain() -> str:
    """What one domain asks, a preview of it, and two domains with the world of both, in a paragraph."""
    one, two = forecast(ONE_DOMAIN), forecast(TWO_DOMAINS)
    previewed = {step.name for step in needed(load_pipeline().restricted("single")) if step.name != TASK_STEP}
    meaning, code = _thousands(one.values(), "textual"), _thousands(one.values(), "coding")
    both = _thousands(two.values(), "textual")
    preview = _thousands([of for name, of in one.items() if name in previewed], "textual")
    return fill(
        f"A single domain takes about {meaning:,} thousand tokens of the textual model, prompts and answers together, "
        f"and {code:,} thousand of the coding model. A preview takes {preview:,} thousand and its few tasks' words. "
        f"Two domains and the world of both take {both:,} thousand of the textual model: "
        f"{MEASURED_OF_TWO:,} thousand when a model wrote them. `--dry-run` gives these same figures for any run.",
        120,
    )


MEASURED_OF_TWO = 353
"""Thousands of tokens of the textual model that a run of two domains took."""
MODEL: Mapping[str, Any] = {"llm": {"textual": {"model": "openai/gpt-5"}, "coding": {"model": "openai/gpt-5"}}}
ONE_DOMAIN = {**MODEL, "task_mode": "single", "steps": {"s01_domain_expansion": {"target_domains": 1}}}
TWO_DOMAINS = {**MODEL, "steps": {"s01_domain_expansion": {"target_domains": 2}}}


def forecast(settings: Mapping[str, Any]) -> dict[str, list[tuple[str, Size]]]:
    """What a run with these settings asks, as `--dry-run` forecasts it: step -> role and size of each question."""
    with TemporaryDirectory() as folder:
        run = PipelineRun(RunSpec(Config.model_validate(settings), Path(folder) / "none", read_only=True))
        expected = ExpectedQuestions(run)
        return {
            step.name: [(question.role, asked[question.name]) for question in step.questions if question.name in asked]
            for step in run.pipeline.steps
            for asked in [expected.of_step(step) or {}]
        }


def _thousands(steps: Iterable[Sequence[tuple[str, Size]]], role: str) -> int:
    """Thousands of tokens that the questions of a role take."""
    sizes = [size for step in steps for asked, size in step if asked == role]
    return round(sum(size.prompt_chars + size.reply_chars for size in sizes) / CHARACTERS_PER_TOKEN / 1000)


def _sizes() -> str:
    """What a default run asks, by step and role."""
    with TemporaryDirectory() as folder:
        run = PipelineRun(RunSpec(Config.model_validate(MODEL), Path(folder) / "none", read_only=True))
        expected = ExpectedQuestions(run)
        rows = [(step, expected.of_step(step) or {}) for step in run.pipeline.steps if step.questions]
    cells = [[name, *_cells(step, asked, roles)] for step, asked in rows for name, roles in _askers(step)]
    header = ["step", "questions", "tokens of prompts", "tokens of answers", "asked of"]
    return SIZES.replace("{table}", table(header, cells))


def _askers(step: PipelineStep[Any]) -> Iterator[tuple[str, set[str]]]:
    """The row of a step, with the roles that it asks, and another for a judge, whom a default run does not have."""
    roles = {str(question.role) for question in step.questions}
    yield step.short, roles - {"judge"}
    if "judge" in roles:
        yield f"{step.short}, where `llm.judge` names a model", {"judge"}


def _cells(step: PipelineStep[Any], asked: ByQuestion, wanted: Collection[str]) -> list[str]:
    roles = {question.name: question.role for question in step.questions if question.role in wanted}
    found = [(roles[name], size) for name, size in asked.items() if name in roles]
    return [
        f"{sum(size.asked for _, size in found):,.0f}",
        f"{sum(size.prompt_chars for _, size in found) / CHARACTERS_PER_TOKEN:,.0f}",
        f"{sum(size.reply_chars for _, size in found) / CHARACTERS_PER_TOKEN:,.0f}",
        ", ".join(sorted({role for role, _ in found})),
    ]
