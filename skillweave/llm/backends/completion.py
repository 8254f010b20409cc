"""The body of a chat completion, as OpenAI-compatible endpoints send it, read into a reply.

Read by our own types rather than the SDK's, which do not validate: a body of another shape is an error here, not an
AttributeError later. What a model wrote, its arguments above all, is handed on as it came.
"""

from pydantic import Field

from skillweave.llm.backends.body import Count, Part, read
from skillweave.llm.request import Reply, Stop, Tokens
from skillweave.schema.message import FunctionCall, ToolCall
from skillweave.schema.record import Json

MEANT = "chat completion"


class Function(Part):
    name: str | None = None
    arguments: str | dict[str, Json] | None = None


class Call(Part):
    index: int | None = None
    """In streams only: which call a piece belongs to."""
    id: str | None = None
    function: Function = Function()


class Text(Part):
    text: str | None = None


class Said(Part):
    content: str | list[Text] | None = None
    refusal: str | None = None
    tool_calls: list[Call] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None

    @property
    def text(self) -> str:
        """What was said aloud."""
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content)
        return self.content or ""


class Sampled(Part):
    logprob: float


class Logprobs(Part):
    content: list[Sampled] | None = None


class Choice(Part):
    message: Said
    finish_reason: str | None = None
    logprobs: Logprobs | None = None
    token_ids: list[int] | None = None


class Cached(Part):
    cached_tokens: Count = 0
    cache_write_tokens: Count = 0


class Usage(Part):
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    prompt_tokens_details: Cached | None = None


class Completion(Part):
    choices: list[Choice] = Field(min_length=1)
    model: str | None = ""
    usage: Usage | None = None
    prompt_token_ids: list[int] | None = None


def read_completion(body: Json, *, tokens: bool = False) -> Reply:
    """The reply in `body`. Raises BodyError where it is no completion."""
    return reply_of(read(Completion, body, MEANT), tokens=tokens)


def reply_of(completion: Completion, *, tokens: bool = False) -> Reply:
    """The reply that the first choice is."""
    choice, usage = completion.choices[0], completion.usage or Usage()
    said, cached = choice.message, usage.prompt_tokens_details or Cached()
    return Reply(
        text=said.text,
        input_tokens=usage.prompt_tokens,
        cached_input_tokens=cached.cached_tokens,
        cache_write_tokens=cached.cache_write_tokens,
        output_tokens=usage.completion_tokens,
        model=completion.model or "",
        stop=_stop(choice),
        tool_calls=tuple(_tool_call(call) for call in said.tool_calls or ()),
        reasoning=said.reasoning_content or said.reasoning,
        refusal=said.refusal or None,
        tokens=_tokens(completion) if tokens else None,
    )


def _stop(choice: Choice) -> Stop:
    said = choice.message
    if said.refusal or choice.finish_reason == "content_filter":
        return "content_filter"
    if choice.finish_reason == "length":
        return "length"
    return "tool_calls" if said.tool_calls else "stop"


def _tool_call(call: Call) -> ToolCall:
    function = FunctionCall(name=call.function.name or "", arguments=call.function.arguments or "")
    return ToolCall(id=call.id or "", function=function)


def _tokens(completion: Completion) -> Tokens:
    choice = completion.choices[0]
    sampled = (choice.logprobs.content if choice.logprobs else None) or ()
    return Tokens(
        token_ids=tuple(choice.token_ids or ()),
        prompt_token_ids=tuple(completion.prompt_token_ids or ()),
        logprobs=tuple(token.logprob for token in sampled),
    )
