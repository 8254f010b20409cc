"""The offline author's manuals: phrases as data, and the writer that sets a contract's rules between them."""
