"""Make a tiny model of random weights, to try a recipe on a CPU: `python recipes/tiny_model.py FOLDER TEXT_FILE ...`.

It learns nothing worth having, but tokenizes, generates and trains as a model of the same architecture does: Qwen2
with two layers, Qwen3's chat template, and a tokenizer trained on the given files, so that conversations have about as
many tokens as they have in a real one. Needs torch, transformers, tokenizers and TRL.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import Qwen2Config, Qwen2ForCausalLM
from trl.chat_template_utils import qwen3_chat_template

END, TURN, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
VOCABULARY = 4000
LONGEST = 65536
"""Tokens of a conversation."""


def make(folder: Path, texts: Sequence[Path]) -> None:
    """Write configuration, weights and tokenizer. Equal texts give equal files."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer(texts)
    tokenizer.save(str(folder / "tokenizer.json"))
    described = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": TURN_END,
        "pad_token": END,
        "model_max_length": LONGEST,
        "chat_template": qwen3_chat_template,
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
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)


def _tokenizer(texts: Sequence[Path]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[END, TURN, TURN_END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train([str(path) for path in texts], trainer)
    return tokenizer


if __name__ == "__main__":
    make(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
