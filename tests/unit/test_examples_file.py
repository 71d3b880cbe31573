# SPDX-License-Identifier: BSD-3-Clause
"""Example files as the system hands them over: packed, piped, cut short, huge, absent."""

import bz2
import functools
import gzip
import io
import locale
import lzma
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from svmcut.base.errors import DataError, MemoryLimitError
from svmcut.files.examples import read_examples, stream_examples

TEXT = b"1 qid:3 1:0.5 4:-2e-3 # d1\n\n# note\n-1 qid:4 cost:2 2:1\n"

NEWLINE = b"\n"


def write(folder, content, name="train.dat"):
    path = folder / name
    path.write_bytes(content)
    return str(path)


def refusal(folder, content, **options):
    path = write(folder, content)
    with pytest.raises(DataError) as caught:
        read_examples(path, **options)
    assert str(caught.value).startswith(path)
    return str(caught.value)[len(path) :]


def same(a, b):
    assert a.X.n_features == b.X.n_features
    for one, two in (
        (a.X.data, b.X.data),
        (a.X.indices, b.X.indices),
        (a.X.indptr, b.X.indptr),
        (a.y, b.y),
    ):
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)
    for one, two in ((a.qid, b.qid), (a.weights, b.weights)):
        assert (one is None) == (two is None)
        if one is not None:
            np.testing.assert_array_equal(one, two)


@functools.cache
def long_text(rows=3000):
    return b"".join(
        b"%d " % (i % 2) + b" ".join(b"%d:0.%d" % (j, i + j) for j in range(1, 30)) + b"\n"
        for i in range(rows)
    )


def test_all_parts_of_a_line(tmp_path):
    found = read_examples(write(tmp_path, TEXT))
    np.testing.assert_array_equal(
        found.X.to_dense(), np.array([[0.5, 0, 0, -2e-3], [0, 1, 0, 0]], np.float32)
    )
    np.testing.assert_array_equal(found.y, [1, -1])
    np.testing.assert_array_equal(found.qid, [3, 4])
    np.testing.assert_array_equal(found.weights, [1, 2])
    assert [found.source.line_of(i) for i in (0, 1)] == [1, 4]
    assert found.X.data.flags.writeable


@functools.cache
def changed(change):
    """The text of `test_same_examples_however_written`, written once in a way."""
    return change(TEXT + long_text())


@pytest.mark.every(2)
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1],
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.replace(b" ", b"\t"),
        lambda text: b"\xef\xbb\xbf" + text,
        gzip.compress,
        lambda text: gzip.compress(text[:5]) + gzip.compress(text[5:]) + gzip.compress(b""),
        bz2.compress,
        lambda text: bz2.compress(text[:5]) + bz2.compress(text[5:]) + bz2.compress(b""),
        lzma.compress,
        lambda text: (
            lzma.compress(text[:5])
            + bytes(8)
            + lzma.compress(text[5:])
            + lzma.compress(b"")
            + bytes(4)
        ),
    ],
    ids=[
        "no last newline",
        "CRLF",
        "tabs",
        "byte-order mark",
        "gzip",
        "gzip members",
        "bzip2",
        "bzip2 streams",
        "xz",
        "xz streams",
    ],
)
def test_same_examples_however_written(tmp_path, change, threads):
    expected = read_examples(write(tmp_path, TEXT + long_text(), "plain.dat"))
    same(read_examples(write(tmp_path, changed(change), "changed.txt"), threads=threads), expected)


def test_pipes_and_standard_input(tmp_path, monkeypatch):
    text = TEXT + long_text()
    expected = read_examples(write(tmp_path, text))
    for content in map(changed, (bytes, gzip.compress, bz2.compress, lzma.compress)):
        pipe = str(tmp_path / "pipe")
        os.mkfifo(pipe)

        def fill(pipe=pipe, content=content):
            with open(pipe, "wb", buffering=0) as out:
                out.write(content[:1])
                out.write(content[1:])

        writer = threading.Thread(target=fill)
        writer.start()
        same(read_examples(pipe), expected)
        writer.join()
        os.unlink(pipe)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        same(read_examples("-"), expected)


def test_standard_input_of_a_process(tmp_path):
    code = "from svmcut.files.examples import read_examples as r; print(len(r('-')), end='')"
    run = subprocess.run([sys.executable, "-c", code], input=TEXT, capture_output=True, check=True)
    assert run.stdout == b"2"


def test_a_line_longer_than_many_blocks(tmp_path):
    row = b"1 " + b" ".join(b"%d:1.25" % j for j in range(1, 400001))
    expected = np.arange(400000)
    for threads in (1, 2):
        found = read_examples(write(tmp_path, b"-1 2:3\n" + row + b"\n1 1:1"), threads=threads)
        np.testing.assert_array_equal(found.X.indices[1:-1], expected)
        np.testing.assert_array_equal(found.X.indptr, [0, 1, 400001, 400002])


@pytest.mark.parametrize(
    "text, place, words",
    [
        (b"1 9:1 7:1\n", ":1:7", "feature index 7 follows 9; indices must increase within a line"),
        (b"1 7:1 7:1\n", ":1:7", "feature index 7 repeats 7"),
        (b"1 0:1\n", ":1:3", "feature index 0; indices start at 1"),
        (b"1 -3:1\n", ":1:3", "feature index -3; indices start at 1"),
        (b"1 2147483647:1\n", ":1:3", "above the largest, 2147483646"),
        (b"1 9223372036854775808:1\n", ":1:3", "above the largest"),
        (b"1 18446744073709551617:1\n", ":1:3", "above the largest"),
        (b"1 3:\n", ":1:5", "feature value is missing"),
        (b"1 3: 1\n", ":1:5", "feature value is missing"),
        (b"1 :5\n", ":1:3", ":5 has no feature index"),
        (b"1 3:5:7\n", ":1:5", "feature value 5:7 is not a number"),
        (b"1 1.5:1\n", ":1:3", "feature index 1.5 is not an integer"),
        (b"1 1:0x10\n", ":1:5", "0x10 is not a number"),
        (b"1 1:2x\n", ":1:5", "2x is not a number"),
        (b"1 1:+-1\n", ":1:5", "+-1 is not a number"),
        (b"1 1:nan\n", ":1:5", "nan is not finite"),
        (b"1 1:-INF\n", ":1:5", "-INF is not finite"),
        (b"1 1:1e39\n", ":1:5", "1e39 is out of range"),
        (b"1e999 1:1\n", ":1:1", "label 1e999 is out of range"),
        (b"nan 1:1\n", ":1:1", "label nan is not finite"),
        (b"abc 1:1\n", ":1:1", "label abc is not a number"),
        (b"1:1 2:1\n", ":1:1", "line starts with 1:1; expected a label"),
        (b"1 foo\n", ":1:3", "foo is no feature; expected INDEX:VALUE"),
        (b"1 1:1\x00 2:1\n", ":1:6", "NUL byte"),
        (b"# \x00\n1 1:1\n", ":1:3", "NUL byte"),
        (b"1 qid:9223372036854775808 1:1\n", ":1:7", "does not fit in 64 bits"),
        (b"1 qid:a 1:1\n", ":1:7", "query id a is not an integer"),
        (b"1 qid:1 qid:1 1:1\n", ":1:9", "qid:1 follows another qid"),
        (b"1 sid:0 1:1\n", ":1:7", "slack id 0; expected 1 or more"),
        (b"1 cost:inf 1:1\n", ":1:8", "cost inf is not finite"),
        ("1 é:1\n".encode(), ":1:3", r"feature index \xc3\xa9 is not an integer"),
    ],
)
@pytest.mark.parametrize("threads", [1, 3])
def test_refusals_name_place_and_reason(tmp_path, text, place, words, threads):
    message = refusal(tmp_path, text, threads=threads)
    assert message.startswith(place + ": ") and words in message
    message = refusal(tmp_path, b"\n" + long_text() + text + b"1 bad\n" * 9, threads=threads)
    assert message.startswith(f":{3001 + int(place.split(':')[1])}:") and words in message


def test_exact_query_ids_and_largest_index(tmp_path):
    found = read_examples(write(tmp_path, b"1 qid:72048431380967004 2147483646:1e-400\n2 3:-0.0\n"))
    np.testing.assert_array_equal(found.qid, [72048431380967004, 0])
    assert found.X.n_features == 2**31 - 2
    np.testing.assert_array_equal(np.signbit(found.X.data), [False, True])


@pytest.mark.parametrize("text", [b"", b"\n\n", b"# only\n  # this\n", gzip.compress(b"", mtime=0)])
def test_no_examples(tmp_path, text):
    assert refusal(tmp_path, text) == ": no examples"
    with pytest.raises(DataError, match="no examples"):
        list(stream_examples(str(tmp_path / "train.dat")))


def test_truncated_and_damaged_gzip(tmp_path):
    packed = gzip.compress(long_text())
    for size in (2, 9, 20, len(packed) // 2, len(packed) - 1):
        assert refusal(tmp_path, packed[:size]) == ": the gzip data is truncated"
    assert "damaged" in refusal(tmp_path, packed[:-8] + b"12345678")
    assert "damaged" in refusal(tmp_path, packed[:200] + b"\xff" * 50 + packed[250:])


QUICK_XZ = functools.partial(lzma.compress, preset=0)


@pytest.mark.parametrize(
    ("name", "compress", "shortest"), [("bzip2", bz2.compress, 3), ("xz", QUICK_XZ, 6)]
)
def test_truncated_and_damaged_bzip2_and_xz(tmp_path, name, compress, shortest):
    packed = compress(long_text())
    for size in (shortest, 9, 20, len(packed) // 2, len(packed) - 1):
        assert refusal(tmp_path, packed[:size]) == f": the {name} data is truncated"
        assert refusal(tmp_path, packed + packed[:size]) == f": the {name} data is truncated"
    assert f"the {name} data is damaged" in refusal(
        tmp_path, packed[:200] + b"\xff" * 50 + packed[250:]
    )
    assert (
        refusal(tmp_path, packed + b"1 1:1\n")
        == f": the {name} data is damaged: what follows is no other stream"
    )
    assert refusal(tmp_path, compress(b"")) == ": no examples"
    assert refusal(tmp_path, compress(b"1 1:1\n1 x:1\n")).startswith(":2:3: feature index x")
    with pytest.raises(MemoryLimitError, match="limit is 3 MB"):
        read_examples(write(tmp_path, compress(long_text(20000))), max_memory=3)


class StoredFrame:
    """A decompressor of frames whose text stands in them as it is, behind its length, in the place
    of zstandard's."""

    class ZstdError(Exception):
        """Frames may be damaged."""

    class ZstdDecompressor:
        """Gives one object a frame."""

        def decompressobj(self):
            return StoredFrame()

    def __init__(self):
        self.eof, self.unused_data, self._packed = False, b"", b""

    def decompress(self, data):
        self._packed += data
        stop = 8 + int.from_bytes(self._packed[4:8], "little")
        self.eof = len(self._packed) >= stop and len(self._packed) >= 8
        if not self.eof:
            return b""
        if b"bad" in self._packed:
            raise StoredFrame.ZstdError("checksum")
        self.unused_data = self._packed[stop:]
        return self._packed[8:stop]


def stored(text):
    return b"\x28\xb5\x2f\xfd" + len(text).to_bytes(4, "little") + text


def check_zstd(folder, frames, expected):
    same(read_examples(write(folder, frames)), expected)
    assert refusal(folder, frames[:-1]) == ": the zstd data is truncated"
    assert refusal(folder, frames + frames[:2]) == ": the zstd data is truncated"
    assert "no other stream" in refusal(folder, frames + b"1 1:1\n")


def test_zstd_is_read_where_there_is_a_library(tmp_path, monkeypatch):
    text = TEXT + long_text()
    expected = read_examples(write(tmp_path, text, "plain"))
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    told = refusal(tmp_path, stored(text))
    assert told.startswith(": the data is zstd, which cannot be read here") and told.endswith(
        "with zstdcat"
    )
    monkeypatch.setitem(sys.modules, "zstandard", StoredFrame)
    for frames in (stored(text), stored(text[:900]) + stored(b"") + stored(text[900:])):
        check_zstd(tmp_path, frames, expected)
    assert refusal(tmp_path, stored(b"bad")) == ": the zstd data is damaged: checksum"


@pytest.mark.parametrize("library", ["compression.zstd", "zstandard"])
def test_zstd_of_every_library(tmp_path, monkeypatch, library):
    compress = pytest.importorskip(library).compress
    if library == "zstandard":
        monkeypatch.setitem(sys.modules, "compression.zstd", None)
    text = TEXT + long_text()
    expected = read_examples(write(tmp_path, text, "plain"))
    for frames in (compress(text), compress(text[:900]) + compress(b"") + compress(text[900:])):
        check_zstd(tmp_path, frames, expected)
    assert "the zstd data is damaged" in refusal(
        tmp_path, compress(text[:2000])[:60] + b"\xff" * 9999
    )


def test_unreadable_paths(tmp_path):
    for path, reason in (
        (str(tmp_path / "none"), "No such file or directory"),
        (str(tmp_path), "Is a directory"),
        (str(tmp_path / ("x" * 3000)), "File name too long"),
        ("a\0b", "null"),
    ):
        for read in (read_examples, lambda path: list(stream_examples(path))):
            with pytest.raises(DataError, match=reason) as caught:
                read(path)
            assert caught.value.line is None
    odd = write(tmp_path, TEXT, "-a b\nc")
    assert len(read_examples(odd)) == 2


def test_file_that_changes_is_refused(tmp_path):
    path = write(tmp_path, long_text())
    blocks = stream_examples(path, block_bytes=4096)
    next(blocks)
    with open(path, "ab") as more:
        more.write(b"1 1:1\n")
    with pytest.raises(DataError, match="changed while it was read"):
        list(blocks)


def test_memory_limit_is_stated_before_it_is_passed(tmp_path):
    path = write(tmp_path, long_text(20000))
    assert len(read_examples(path, max_memory=6)) == 20000
    with pytest.raises(MemoryLimitError, match=r"take 5\.\d MB, and the limit is 3 MB"):
        read_examples(path, max_memory=3)
    with pytest.raises(MemoryLimitError, match="limit is 3 MB"):
        read_examples(write(tmp_path, gzip.compress(long_text(20000))), max_memory=3)


@pytest.mark.every(2)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space limits are Linux's")
@pytest.mark.parametrize("threads", [1, 2])
def test_memory_that_cannot_be_had(tmp_path, threads):
    path = write(tmp_path, b"1 1:1 2:1 3:1 4:1 5:1 6:1 7:1\n" * 2_000_000)
    code = f"""
        import resource
        from svmcut.base.errors import MemoryLimitError
        from svmcut.files.examples import read_examples
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (120 << 20), -1))
        try:
            read_examples({path!r}, threads={threads})
        except MemoryLimitError as error:
            print(error)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "MB or more, and there is less" in run.stdout


def test_stream_gives_the_same_rows_and_lines(tmp_path):
    text = b"# head\n" + TEXT + long_text(500).replace(b"\n", b"\n\n# between\n", 7)
    path = write(tmp_path, text)
    whole = read_examples(path)
    lines = [whole.source.line_of(i) for i in range(len(whole))]
    for block_bytes in (1, 100, 1000, 30011, 1 << 20):
        blocks = list(stream_examples(path, block_bytes=block_bytes))
        assert sum(map(len, blocks)) == len(whole)
        assert [block.source.line_of(i) for block in blocks for i in range(len(block))] == lines
        np.testing.assert_array_equal(
            np.concatenate([block.X.data for block in blocks]), whole.X.data
        )
        np.testing.assert_array_equal(
            np.concatenate([block.X.indices for block in blocks]), whole.X.indices
        )
        np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), whole.y)
    with pytest.raises(DataError, match=f":{text.count(NEWLINE) + 1}:1: "):
        broken = write(tmp_path, text + b"x\n", "broken")
        list(stream_examples(broken, block_bytes=1000))


def test_locale_does_not_matter(tmp_path):
    before = locale.setlocale(locale.LC_NUMERIC)
    for name in ("de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "C.UTF-8"):
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
            break
        except locale.Error:
            continue
    try:
        found = read_examples(
            write(tmp_path, b"0.1234567890123456789 1:1.5 2:0.1234567890123456789012\n")
        )
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)
    np.testing.assert_array_equal(found.y, [0.1234567890123456789])
    np.testing.assert_array_equal(found.X.data, np.array([1.5, 0.12345679], np.float32))


def test_interrupt_while_reading():
    code = (
        "from svmcut.files.examples import read_examples as r; print('go', flush=True); r('-', "
        "threads=2)"
    )
    for content in (b"", long_text()):
        run = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert run.stdout.readline() == b"go\n"
        run.stdin.write(content)
        run.stdin.flush()
        time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=10)
        assert run.returncode != 0 and b"KeyboardInterrupt" in errors


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peaks are read from /proc")
def test_peak_memory_is_that_of_the_result(tmp_path):
    path = write(tmp_path, long_text(120_000))
    code = f"""
        import re
        import numpy
        from svmcut.files.examples import read_examples
        status = lambda: open("/proc/self/status").read()
        peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", status())[1]) * 1024
        before = peak()
        X = read_examples({path!r}).X
        print((peak() - before) / (X.nbytes + 8 * X.n_rows))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert float(run.stdout) < 1.3
