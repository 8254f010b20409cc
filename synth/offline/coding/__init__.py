"""The offline coding author: servers and their tests, compiled from contracts."""
