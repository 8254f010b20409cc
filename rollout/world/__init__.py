"""Tasks of a dataset: held in its worlds, on the contract or on the generated servers."""
