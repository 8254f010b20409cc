"""Processes that work side by side for a command, none of which outlives it, even where it is killed."""

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor

from skillweave.lifeline import die_with_parent


def process_pool(workers: int) -> ProcessPoolExecutor:
    """To be given its work by the thread that makes it, while that lives."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=begin_work, initargs=(os.getpid(),))


def begin_work(parent: int) -> None:
    """Called once in each process: an interrupt of the terminal is its parent's to deal with."""
    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
