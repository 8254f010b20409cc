"""The command line of the pipeline. Commands import what they need when they run, so that `--help` is instant."""
