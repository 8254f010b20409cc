"""Backends around a backend: each adds one thing and passes everything else on."""
