"""The body of a chat completion, as OpenAI-compatible endpoints send it, read into a reply.

Read by our own types rather than the SDK's, which do not validate: a body of another shape is an error here, not an
AttributeError later.
"""

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillweave.errors import AuthorError, ProviderError
from skillweave.llm.request import Reply, Stop
from skillweave.schema.message import FunctionCall, ToolCall

SHOWN = 200


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", protected_namespaces=())


class _Function(_Part):
    name: str
    arguments: str | None = ""


class _Call(_Part):
    id: str
    function: _Function


class _Said(_Part):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Choice(_Part):
    message: _Said
    finish_reason: str | None = None


class _Usage(_Part):
    prompt_tokens: int = 0
    completion_tokens: int | None = 0


class Completion(_Part):
    choices: list[_Choice] = Field(min_length=1)
    model: str = ""
    usage: _Usage | None = None


def read_completion(body: str, backend: str) -> Reply:
    """The reply in `body`. Raises ProviderError (not a completion) or AuthorError (refused, nothing said)."""
    try:
        completion = Completion.model_validate_json(body)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]["msg"]
        raise ProviderError(
            f"{backend} answered with something that is no chat completion ({fault}): {body[:SHOWN]!r}", transient=True
        ) from error
    choice, usage = completion.choices[0], completion.usage or _Usage()
    said = choice.message
    if said.refusal:
        raise AuthorError(f"{backend} refused to answer: {said.refusal[:SHOWN]!r}")
    if choice.finish_reason == "content_filter":
        raise AuthorError(f"the content filter of {backend} withheld the answer")
    if not said.content and not said.tool_calls:
        raise AuthorError(f"{backend} gave an empty answer (finish reason {choice.finish_reason!r})")
    return Reply(
        text=said.content or "",
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens or 0,
        model=completion.model,
        stop=_stop(choice),
        tool_calls=tuple(_tool_call(call) for call in said.tool_calls or ()),
        reasoning=said.reasoning_content or said.reasoning,
    )


def _stop(choice: _Choice) -> Stop:
    if choice.finish_reason == "length":
        return "length"
    return "tool_calls" if choice.message.tool_calls else "stop"


def _tool_call(call: _Call) -> ToolCall:
    return ToolCall(id=call.id, function=FunctionCall(name=call.function.name, arguments=call.function.arguments or ""))
