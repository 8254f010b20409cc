"""The offline author's language: how people refer to rows, ask for tools and tell what they want."""
