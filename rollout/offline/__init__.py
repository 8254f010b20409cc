"""Who plays agents and users without a model."""
