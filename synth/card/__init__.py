"""The card of a dataset: `README.md` in its folder, made from its files."""
