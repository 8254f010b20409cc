"""The steps of the pipeline, one file each, in order."""
