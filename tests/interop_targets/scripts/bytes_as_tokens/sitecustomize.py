"""On Python's path, lets tiktoken take bytes for tokens: Inspect's mock model asks, and it would download encodings.

Nothing but counts of tokens depends on it.
"""

import tiktoken.registry

tiktoken.registry.ENCODINGS["o200k_base"] = tiktoken.Encoding(
    "o200k_base",
    pat_str=r"[\s\S]",
    mergeable_ranks={bytes([value]): value for value in range(256)},
    special_tokens={},
)
