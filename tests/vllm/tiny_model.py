"""Make a tiny model with random weights, for a real vLLM server to serve: `python tiny_model.py FOLDER`.

It runs in vLLM's environment, not in ours, and needs nothing from outside: the tokenizer is trained on the text in this
file. Weights are drawn from a seed, so that the model is the same each time. It likes quotation marks, so that a
string that it has begun is soon at its end.
"""

import json
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import Qwen2Config, Qwen2ForCausalLM

END, TURN, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
VOCABULARY = 400
"""Little more than the bytes: the fewer tokens, the sooner a random string comes upon its closing quote."""
QUOTE = '"'
LIKING = 4.0
"""What is added to the quotation mark's logit: inside a string, one token in ten closes it."""
LONGEST = 65536
"""Tokens of a conversation; the tools and the policy of a world take some twenty thousand of these."""
TEMPLATE = """\
{%- if tools %}<|im_start|>system
{% if messages[0].role == 'system' %}{{ messages[0].content }}
{% endif %}Tools:
{% for tool in tools %}{{ tool.function | tojson }}
{% endfor %}A call is written as <tool_call>{"name": ..., "arguments": {...}}</tool_call>.<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}<|im_start|>user
<tool_response>{{ message.content }}</tool_response><|im_end|>
{% elif not (tools and loop.first and message.role == 'system') %}<|im_start|>{{ message.role }}
{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}
<tool_call>{"name": {{ call.function.name | tojson }}, "arguments": {{ call.function.arguments | tojson }}}</tool_call>
{%- endfor %}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def make(folder: Path) -> None:
    """Write configuration, weights and tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    described = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": TURN_END,
        "pad_token": END,
        "model_max_length": LONGEST,
        "chat_template": TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(described, indent=1), encoding="utf-8")
    torch.manual_seed(7)
    end, pad = tokenizer.token_to_id(TURN_END), tokenizer.token_to_id(END)
    config = Qwen2Config(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=LONGEST,
        eos_token_id=end,
        bos_token_id=pad,
        pad_token_id=pad,
        tie_word_embeddings=False,
    )
    model = Qwen2ForCausalLM(config)
    _prefer(model, tokenizer.token_to_id(QUOTE))
    model.to(torch.bfloat16).save_pretrained(folder)


def _prefer(model: Qwen2ForCausalLM, token: int) -> None:
    """Have the model like a token, whatever stands before it."""
    with torch.no_grad():
        # One dimension is the same for all tokens and outweighs the rest: the last norm makes it the root of the size.
        model.model.embed_tokens.weight[:, 0] = 1
        model.lm_head.weight[:, 0] = 0
        model.lm_head.weight[token, 0] = LIKING / model.config.hidden_size**0.5


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[END, TURN, TURN_END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    # Without its indentation, since grammars let a model of random weights fill gaps with white space for long.
    words = Path(__file__).read_text(encoding="utf-8").split()
    tokenizer.train_from_iterator(words, trainer)
    return tokenizer


if __name__ == "__main__":
    make(Path(sys.argv[1]))
