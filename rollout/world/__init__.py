"""Tasks of a dataset, in its worlds: sessions run on the contract or on the generated servers."""
