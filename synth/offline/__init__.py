"""The offline author: answers every question of the pipeline from a catalogue kept as data."""
