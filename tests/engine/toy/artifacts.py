"""What the toy's steps make."""

from synth.engine.artifact import each, file, joined, jsonl, text

WORDS = joined("words.json", str)
LENGTHS = joined("lengths.json", int)
NOTES = text("notes/{key}.md")
SHOUTS = each("shouts/{key}.json", dict[str, str])
BLOBS = file("blobs/{key}.bin")
LINES = jsonl("lines/{key}.jsonl", dict[str, int])
SUMMARY = text("summary.txt")
