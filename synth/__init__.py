"""The pipeline: domain names in, worlds and verified tasks out."""
