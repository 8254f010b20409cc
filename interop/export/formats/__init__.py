"""The formats, one file each; a file's `FORMAT` (or a name of its own) is registered in `interop.export.registry`."""
