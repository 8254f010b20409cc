"""A tokenizer of bytes, from whose tokens every text comes back; and what of a conversation a rendered text lacks."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast


def tokenizer_of_bytes(chat_template: str | None = None) -> Any:
    """A fresh tokenizer; targets add special tokens of their own to it."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytes_alone = Tokenizer(models.BPE(vocab={letter: at for at, letter in enumerate(alphabet)}, merges=[]))
    bytes_alone.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bytes_alone.decoder = decoders.ByteLevel()
    named = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=bytes_alone, chat_template=chat_template, **named)


def lacking(text: str, calls: Iterable[Mapping[str, Any]], results: Iterable[str], tools: Iterable[str]) -> list[str]:
    """What a rendered text lacks of the calls, of the results of tools, and of the names of tools.

    Args:
        text: The text.
        calls: `{"name", "arguments"}`, arguments as an object.
        results: The contents of results.
        tools: Names of the tools.
    """
    return [part for part in _parts(calls, results, tools) if not any(form in text for form in _forms(part))]


def _parts(calls: Iterable[Mapping[str, Any]], results: Iterable[str], tools: Iterable[str]) -> Iterator[str]:
    for call in calls:
        yield call["name"]
        for key, value in call["arguments"].items():
            yield from (key, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    yield from results
    yield from tools


def _forms(part: str) -> Iterator[str]:
    """As it is, as JSON has it inside a text, as `tojson` has it for HTML, and as Python writes a value."""
    yield part
    for ascii_only in (False, True):
        yield json.dumps(part, ensure_ascii=ascii_only)[1:-1]
    yield {"true": "True", "false": "False", "null": "None"}.get(part, part)
