"""The body of a chat completion, as OpenAI-compatible endpoints send it, read into a reply.

Read by our own types rather than the SDK's, which do not validate: a body of another shape is an error here, not an
AttributeError later. What a model wrote, its arguments above all, is handed on as it came.
"""

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillweave.errors import ProviderError
from skillweave.llm.request import Reply, Stop, Tokens
from skillweave.schema.message import FunctionCall, ToolCall
from skillweave.schema.record import Json

SHOWN = 200


class Part(BaseModel):
    """A part of an answer: fields that we do not know are left aside."""

    model_config = ConfigDict(extra="ignore", protected_namespaces=())


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


class Usage(Part):
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0


class Completion(Part):
    choices: list[Choice] = Field(min_length=1)
    model: str | None = ""
    usage: Usage | None = None
    prompt_token_ids: list[int] | None = None


def read_completion(body: bytes, backend: str, *, tokens: bool = False) -> Reply:
    """The reply in `body`. Raises ProviderError where it is no completion."""
    try:
        completion = Completion.model_validate_json(body)
    except ValidationError as error:
        raise no_completion(error, body.decode("utf-8", "replace"), backend) from error
    return reply_of(completion, tokens=tokens)


def reply_of(completion: Completion, *, tokens: bool = False) -> Reply:
    """The reply that the first choice is."""
    choice, usage = completion.choices[0], completion.usage or Usage()
    said = choice.message
    return Reply(
        text=said.text,
        input_tokens=usage.prompt_tokens or 0,
        output_tokens=usage.completion_tokens or 0,
        model=completion.model or "",
        stop=_stop(choice),
        tool_calls=tuple(_tool_call(call) for call in said.tool_calls or ()),
        reasoning=said.reasoning_content or said.reasoning,
        refusal=said.refusal or None,
        tokens=_tokens(completion) if tokens else None,
    )


def no_completion(error: ValidationError, answer: str, backend: str) -> ProviderError:
    """The error for an answer of another shape."""
    fault = error.errors(include_url=False)[0]["msg"]
    return ProviderError(
        f"{backend} answered with something that is no chat completion ({fault}): {answer[:SHOWN]!r}", transient=True
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
