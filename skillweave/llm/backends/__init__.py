"""Backends: what answers a request, one module a provider, and what they share."""
