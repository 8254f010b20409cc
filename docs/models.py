"""`models.md`: how to use each kind of author, and what a default run asks of one, from the sizes that were seen."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from typing import Any

from docs.reference import table
from skillweave.config.sections import Config
from synth.cli.dry_run import ExpectedQuestions
from synth.cli.preview import TASK_STEP, needed
from synth.cli.text import CHARACTERS_PER_TOKEN
from synth.engine.pipeline import load_pipeline
from synth.engine.run import PipelineRun, RunSpec
from synth.engine.step import PipelineStep
from synth.questions.sizes import ByQuestion, Sizes, StepSizes

TEXT = """\
# Models as authors

Made by `python -m docs.generate`; its words and figures come from `docs/models.py`.

Every text that a run needs from outside (domains, contracts, policies, stories, code) is the answer to a question, and
who answers is an **author**, named `provider/model`. Three roles have one each: `llm.textual` for meaning, `llm.coding`
for code, `llm.judge` for opinions. The built-in offline author answers the first two from a catalogue of services, for
nothing. A model answers for any service, and its answers pass the very same gates. A judge has no default: where none
is named nothing is judged, and the run and the dataset's card say so. With one, s04 has cases at the limit of each rule
decided from its sentence, and the evaluator can rate conversations on request.

```sh
export OPENAI_API_KEY=...
python -m synth run --dry-run --set llm.textual=openai/gpt-5      # what it would ask, and cost; nothing is sent
python -m synth run --set llm.textual=openai/gpt-5 --set 'domains.seeds=[bicycle repair, lending library]'
```

Seeds are expanded to their neighbours, up to 12 domains in all, and domains that serve the same persons are joined.
`--set steps.s01_domain_expansion.target_domains=2` keeps to two, `--set task_mode=single` joins none.

For a first look:

```sh
python -m synth preview "bicycle repair" --set llm.textual=openai/gpt-5
```

shows the company, its tools and rules, six tasks, what they took, what a whole domain would cost, and the command that
makes it. Nothing is kept but the answers, which that command finds again.

## Start here: a model for meaning, the offline author for code

```yaml
llm:
  textual: {model: openai/gpt-5}
  coding: {model: offline/author}
```

The offline author writes generators and servers from whatever contract there is, without a fault and without a cent,
so a model is paid only for what it alone can do. Let a model write the code, too, when you want servers as different
from each other as people would write them: each has to prove itself equal to its contract either way.

## Providers

| author | key | answers come from |
| --- | --- | --- |
| `offline/author` | none | the catalogue; unknown seeds are named with what is known |
| `openai/<model>` | `OPENAI_API_KEY` | OpenAI's Responses API; at a `base_url` its chat API, or what `api` says |
| `anthropic/<model>` | `ANTHROPIC_API_KEY` | the messages API, of Anthropic or at a `base_url` |
| `vllm/<model>` | none | a vLLM server, `http://127.0.0.1:8000/v1` by default, decoded by their JSON schema |
| `replay/<cassette>` | none | what was recorded; no network |
| `module:Class/<model>` | its own | a [backend of your own](extending.md#a-question-and-a-backend-that-answers) |

Anything that speaks OpenAI's chat protocol is an `openai` author with a `base_url`:

```yaml
llm:
  textual: {model: openai/qwen3, base_url: "http://127.0.0.1:11434/v1"}                     # Ollama
  coding: {model: openai/local, base_url: "http://127.0.0.1:8080/v1"}                       # llama.cpp's server
  judge: {model: openai/some-model, base_url: "https://gateway.example/v1", api_key_env: GATEWAY_KEY}
```

`api_key_env` *names* the environment variable that holds a key; keys come from nowhere else and are written nowhere.
An endpoint with a `base_url` of its own is sent a key only where you name one, and there is a warning where that is
the usual key of another provider.

Keys of an author: `temperature`, `top_p`, `max_tokens`, `seed`, `reasoning_effort`, `structured` (send the schema of
the answer along), `stream`, `extra` (further fields of the body). What a model does not take (a temperature, where it
reasons) is left out when its endpoint says so, and the log tells. Without `structured`, or where an endpoint refuses
the schema, answers are read from text by a tolerant parser.

A step can have authors of its own, and each role can have others that follow where one fails (it is down, refuses, or
gives no usable answer):

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

`--dry-run` says, for each step, how many questions there would be, how many tokens, and what they would cost by your
`llm.prices`. It goes by what this outputs folder has asked before, else by the sizes below. Prices change, so none are
built in: without one a cost is *unknown*, never nought.

```yaml
llm:
  prices:
    openai/gpt-5: {input: 1.25, output: 10.0, cached_input: 0.125}      # US dollars for a million tokens; look them up
  budget_usd: 20
```

With a budget the run stops before more is spent, all runs on one outputs folder together: the most that a request can
cost is reserved before it is sent, so what is under way can never pass the limit, and a request whose reply was lost
counts as charged. Everything that was answered is kept; raise the budget and run the same command to go on. A model
without a price is refused then. A run that asked models ends with a row for each question, and `synth status` shows
the same of all runs: how often it was asked, accepted first, repaired or given up, why, and what it took. Where nobody
reports tokens they are taken from characters, and marked `~`.

{domain}

{sizes}
## Nothing is paid for twice

Every answer is stored on disk before anybody reads it, in one SQLite file that all runs share (`llm.cache`: by default
`skillweave/replies.sqlite` in your cache folder). It is found by what was asked, of which model at which endpoint, with
which sampling, for which item, at which attempt. So a run that was killed, or that is made again in another folder,
pays only for what is new: change one prompt, and exactly its questions are asked again.

That also holds for answers that were rejected. `python -m synth run --retry-rejected` asks anew about the rejected
items, and about nothing else. Where the fault lies in what an earlier step made (a contract without which no row can be
drawn), the reason goes back to that step's author, who mends it: what was answered before is not asked again. What was
mended stays until it is made from other inputs; what was mended in vain is asked anew from its first question. A run
proposes the command only where another answer can come of it, and says what it would ask.

`llm.record: run.jsonl` adds every reply to a cassette as well; `--set llm.textual=replay/run.jsonl` (and `coding`)
answers from it, anywhere, without a key; what was asked anew with `--retry-rejected` is found by the same commands in
the same order. Neither holds keys, or anything of a question but its rendered words.

## Limits of an endpoint

```yaml
llm:
  max_concurrency: 16                    # requests under way, over all endpoints
  max_retries: 4
  endpoints:
    openai: {requests_per_minute: 500, tokens_per_minute: 200000}
    "http://127.0.0.1:8000/v1": {max_concurrency: 64}
```

`Retry-After` is obeyed for the whole endpoint. One that is down is left alone, but for a look now and then, and waited
for up to `llm.outage_s`; then the run stops with everything saved. With Dask or Ray each worker process keeps these
limits by itself; the budget holds over all of them.

## When answers fail

| what you see | what to do |
| --- | --- |
| many `form` complaints in `synth status` | see in `logs/` how replies began; a larger model or `max_tokens` |
| `cut` | raise the author's `max_tokens`; an answer is continued `llm.continuations` times |
| `check` | the gate's complaint is in `logs/<step>.log`, as the author was told it; raise `steps.<step>.repairs` |
| `refused`, `withheld` | another author for that step, or a `fallback` |
| `too_long` | a model with a larger context window for that step |
| `unreached` | the endpoint's limits above; the same command goes on |
| a domain rejected | `python -m synth run --retry-rejected`, where the run proposes it; all else is kept |

Code that a model wrote runs in the [sandbox](sandbox.md); `sandbox.minimum: namespaces` refuses to run it on a machine
that offers less.
"""


SIZES = """\
The default run (12 domains, 14 sets of them joined), with every answer accepted at the first try, at four
characters a token:

{table}
Repairs come on top: an answer that is sent back costs its prompt again, and what it said; of a list that is judged
element by element, only the faulty ones are written again. The longest prompts (s04's contracts, s13's policies) repeat
most of their words, which stand first, so that providers' prompt caches help.
"""


def page() -> str:
    """The page's text."""
    return TEXT.replace("{domain}", _domain()).replace("{sizes}", _sizes())


def _domain() -> str:
    """What one domain asks, and a preview of it, in a sentence."""
    pipeline = load_pipeline().restricted("single")
    meaning, code = (_thousands(pipeline.steps, role) for role in ("textual", "coding"))
    previewed = _thousands([step for step in needed(pipeline) if step.name != TASK_STEP], "textual")
    return fill(
        f"One domain by itself takes {meaning:,} thousand tokens of a model for meaning, prompts and answers together, "
        f"and {code:,} thousand of one for code; a preview takes {previewed:,} thousand and its few tasks' words. A "
        "veterinary clinic of 17 tools and 58 tasks that a model wrote, all but the code, took 22 questions and 103 "
        "thousand.",
        120,
    )


def _thousands(steps: Iterable[PipelineStep[Any]], role: str) -> int:
    """Thousands of tokens that the questions of a role take for one domain."""
    shipped = Sizes.shipped().steps
    asked = [
        (shipped.get(step.name, StepSizes()).domain.get(one.name), one) for step in steps for one in step.questions
    ]
    sizes = [size for size, question in asked if size is not None and question.role == role]
    return round(sum(size.prompt_chars + size.reply_chars for size in sizes) / CHARACTERS_PER_TOKEN / 1000)


def _sizes() -> str:
    """What a default run asks, by step and role."""
    with TemporaryDirectory() as folder:
        run = PipelineRun(RunSpec(Config(), Path(folder) / "none", read_only=True))
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
