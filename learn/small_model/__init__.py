"""A small language model that is trained from scratch on a CPU, and a server for it. Needs PyTorch."""
