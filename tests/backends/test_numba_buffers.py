"""Memory that is kept between calls is never in two hands."""

import threading

import numpy as np
import pytest

pytest.importorskip("numba", reason="numba is not installed; it comes with opspec[numba]")

from opspec.backends.numba.buffers import MOST_KEPT, borrowed, returned


def test_what_is_returned_is_lent_again() -> None:
    first = borrowed(1000)
    returned(first)
    assert borrowed(900) is first


def test_what_is_lent_is_not_lent_twice() -> None:
    returned(borrowed(1000))
    assert not np.shares_memory(borrowed(1000), borrowed(1000))


def test_what_is_kept_is_large_enough() -> None:
    returned(borrowed(1000))
    assert borrowed(100_000).size >= 100_000


def test_what_is_large_is_not_kept() -> None:
    large = borrowed(MOST_KEPT + 1)
    returned(large)
    assert borrowed(1000) is not large


def test_each_thread_keeps_its_own() -> None:
    mine = borrowed(1000)
    returned(mine)
    theirs: list[object] = []
    thread = threading.Thread(target=lambda: theirs.append(borrowed(1000)))
    thread.start()
    thread.join()
    assert theirs[0] is not mine
