"""The offline author's manuals: phrases as data, and the writer that sets them around a contract's rules."""
