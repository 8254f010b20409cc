"""Read an export with SkyRL's own dataset, and a tokenizer that takes each word for a token: `FILE`."""

import json
import sys

from skyrl.train.dataset import PromptDataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

words = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
words.pre_tokenizer = pre_tokenizers.Whitespace()
template = "{% for message in messages %}{{ message.role }} {{ message.content }}\n{% endfor %}"
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, chat_template=template)
dataset = PromptDataset([sys.argv[1]], tokenizer, max_prompt_length=65536, num_workers=1)
print(json.dumps(dataset.collate_fn([dataset[index] for index in range(len(dataset))])))
