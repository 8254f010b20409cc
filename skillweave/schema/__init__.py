"""The records that programs exchange through files. Every field is documented; docs/formats.md is made from them."""
