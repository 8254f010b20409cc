"""The records that programs exchange through files: one noun a module, every field documented."""
