# SPDX-License-Identifier: BSD-3-Clause
"""Reading by several threads, each its own blocks: nothing of it may show but the time."""

import functools
import gzip
import threading
import time

import numpy as np
import pytest
from svmcut._native.scan import Scanner

from svmcut.base.errors import DataError, MemoryLimitError
from svmcut.files import examples


@pytest.fixture(params=[2, 3, 7])
def threads(request, monkeypatch):
    monkeypatch.setattr(examples, "CREW_BYTES", 1)
    monkeypatch.setattr(examples, "BLOCK_BYTES", 100)
    return request.param


@functools.cache
def text_of(rows=500):
    rng, lines = np.random.default_rng(8), []
    for i in range(rows):
        columns = np.flatnonzero(rng.random(40) < 0.3) + 1
        if i % 17 == 3:
            lines.append("# a note")
        qid = f"qid:{i // 5} " if i > 200 else ""
        lines.append(
            f"{rng.choice([-1, 1])} {qid}" + " ".join(f"{j}:{rng.normal():.4g}" for j in columns)
        )
    return "\n".join(lines).encode()


def read(path, threads):
    found = examples.read_examples(str(path), threads=threads)
    return [
        found.X.data,
        found.X.indices,
        found.X.indptr,
        found.y,
        found.qid,
        found.source.skips,
    ], found.X.n_features


@pytest.mark.every(2)
@pytest.mark.parametrize("written", ["plain", "gzip", "mark"])
def test_the_same_rows(tmp_path, threads, written):
    path, text = tmp_path / "train.dat", text_of()
    path.write_bytes(
        {"plain": text, "gzip": gzip.compress(text), "mark": b"\xef\xbb\xbf" + text}[written]
    )
    expected, features = read(path, 1)
    for _ in range(20):  # the members meet in another order every time
        found, same_features = read(path, threads)
        assert same_features == features
        for one, two in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, two)


def test_the_first_fault_of_the_file_is_reported(tmp_path, threads):
    lines = text_of().split(b"\n")
    lines[301] = b"1 3:1 2:1"
    lines[303] = b"1 0:1"
    lines[490] = b"x 1:1"
    path = tmp_path / "train.dat"
    path.write_bytes(b"\n".join(lines))
    for _ in range(20):
        with pytest.raises(DataError, match=r"train.dat:302:7: feature index 2 follows 3"):
            read(path, threads)


@pytest.mark.every(2)
@pytest.mark.parametrize("bad", [True, False])
def test_lines_come_before_the_end_of_a_damaged_text(tmp_path, threads, bad):
    text = text_of(6000)  # more than gzip unpacks in one go
    if bad:
        text = b"1 2:1 1:1\n" + text
    path = tmp_path / "train.dat"
    path.write_bytes(gzip.compress(text)[:-30])
    for count in (1, threads):
        with pytest.raises(DataError, match="follows 2" if bad else "the gzip data is truncated"):
            read(path, count)


def test_a_line_longer_than_a_block(tmp_path, threads):
    row = b"1 " + b" ".join(b"%d:1.25" % j for j in range(1, 5001))
    path = tmp_path / "train.dat"
    path.write_bytes(b"-1 2:3\n" + row + b"\n1 1:1\n" + row)
    found, _ = read(path, threads)
    np.testing.assert_array_equal(found[2], [0, 1, 5001, 5002, 10002])


def test_the_limit_of_memory(tmp_path, threads):
    path = tmp_path / "train.dat"
    path.write_bytes(text_of(5000))
    with pytest.raises(MemoryLimitError, match=r"the limit is 0.1 MB"):
        examples.read_examples(str(path), threads=threads, max_memory=0.1)


class Slow:
    """A text whose reader is interrupted while other members wait."""

    def __init__(self, blocks, interrupt_at):
        self.position, self._blocks, self._interrupt_at = 0, blocks, interrupt_at

    def bytes_left(self):
        return -1

    def readinto(self, view):
        if (
            self.position >= self._interrupt_at
            and threading.current_thread() is threading.main_thread()
        ):
            raise KeyboardInterrupt
        time.sleep(0.001)
        count = min(len(view), 20, self._blocks * 20 - self.position)
        view[:count] = (b"1 1:1 2:1 3:1 4:1  \n" * 5)[:count]
        self.position += count
        return count


def test_an_interrupt_ends_all_members(threads):
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        examples.read_together(
            Scanner("text", threads=threads),
            Slow(10_000, 100),
            threads,
            lambda position, left: None,
        )
    assert threading.active_count() == before


def test_no_threads_to_be_had(tmp_path, threads, monkeypatch):
    path = tmp_path / "train.dat"
    path.write_bytes(text_of())
    expected, _ = read(path, 1)

    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    for one, two in zip(read(path, threads)[0], expected, strict=True):
        np.testing.assert_array_equal(one, two)
