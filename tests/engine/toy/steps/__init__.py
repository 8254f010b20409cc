"""The toy's steps."""
