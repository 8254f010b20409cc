"""The command `inspect`, where tokens are bytes: its mock model counts tokens by an encoding that is downloaded.

Nothing but counts of tokens depends on it.
"""

import sys

import tiktoken
import tiktoken.registry
from inspect_ai._cli.main import main

tiktoken.registry.ENCODINGS["o200k_base"] = tiktoken.Encoding(
    "o200k_base",
    pat_str=r"[\s\S]",
    mergeable_ranks={bytes([value]): value for value in range(256)},
    special_tokens={},
)
sys.exit(main())
