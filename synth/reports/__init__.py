"""Reports on a dataset: its card, diversity, duplicates, rule coverage and decontamination."""
