"""A small language model that is trained from scratch on a CPU, and a server for it. Needs PyTorch.

It reads conversations as short rows of tokens (`reading`), in which values are slots that it copies, sees neither the
policy nor the tools' descriptions, and writes only valid calls of offered tools (`grammar`). What it can do, with
figures, stands in the README beside this file. Only `network`, `folder`, `training`, `decoding` and `server` import
PyTorch.
"""
