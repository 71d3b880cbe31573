# SPDX-License-Identifier: BSD-3-Clause
"""svmcut scale: byte for byte svm-scale's rows and range files, and its manners as a command."""

import errno
import gzip
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest
from programs import TIMEOUT, benchmark, call, forked, run, start

MIXED = """\
+1 1:0.708333 2:1 3:1 4:-0.320755 6:-1 13:1
-1 1:0.583333 2:-1 4:-0.603774 5:1e-3
1 3:-0.333333 5:255 6:-1 13:1
-1.5 1:-0 2:0.12345678901234567 13:1
"""
WIDE = "2.5 1:1 3:64 7:3\n-1 2:5 3:17\n0.1 3:37 7:1e300\n"
CONSTANT = "1 1:5 2:7\n2 1:5 2:7\n3 1:5 2:7 9:0\n"
BLANKS = "0\t2:1e-310 40:-12.75\r\n1  1000:2\r\n1 40:1"
MIXED_RANGES = """\
1 -0 0.70833299999999999
2 -1 1
3 -0.33333299999999999 1
4 -0.60377400000000003 0
5 0 255
6 -1 0
13 0 1
"""
ALL = ("-l", "-0.1", "-u", "0.7", "-y", "-3", "0.4")
SINGLES = "-0.10000000149011612 0.69999998807907104\n"

#: Input and options, and what svm-scale of LIBSVM 3.24 makes of them: rows, range file.
FROZEN = [
    (
        MIXED,
        (),
        """\
1 1:1 2:1 3:1 4:-0.0625002 5:-1 6:-1 13:1 |
-1 1:0.647059 2:-1 3:-0.5 4:-1 5:-0.999992 6:1 13:-1 |
1 1:-1 3:-1 4:1 5:1 6:-1 13:1 |
-1.5 1:-1 2:0.123457 3:-0.5 4:1 5:-1 6:1 13:1 |
""",
        f"x\n-1 1\n{MIXED_RANGES}",
    ),
    (
        MIXED,
        ("-l", "0", "-u", "2"),
        """\
1 1:2 2:2 3:2 4:0.9375 13:2 |
-1 1:1.64706 3:0.5 5:7.84314e-06 6:2 |
1 2:1 4:2 5:2 13:2 |
-1.5 2:1.12346 3:0.5 4:2 6:2 13:2 |
""",
        f"x\n0 2\n{MIXED_RANGES}",
    ),
    (
        MIXED,
        ALL,
        """\
0.40000000596046448 1:0.7 2:0.7 3:0.7 4:0.275 5:-0.1 6:-0.1 13:0.7 |
-2.3199999988079072 1:0.558823 2:-0.1 3:0.0999998 4:-0.1 5:-0.0999969 6:0.7 13:-0.1 |
0.40000000596046448 1:-0.1 2:0.3 3:-0.1 4:0.7 5:0.7 6:-0.1 13:0.7 |
-3 1:-0.1 2:0.349383 3:0.0999998 4:0.7 5:-0.1 6:0.7 13:0.7 |
""",
        f"y\n-3 0.40000000596046448\n-1.5 1\nx\n{SINGLES}{MIXED_RANGES}",
    ),
    (
        WIDE,
        ("-l", "0", "-u", "2"),
        """\
2.5 1:2 3:2 7:6e-300 |
-1 2:2 |
0.10000000000000001 3:0.851064 7:2 |
""",
        "x\n0 2\n1 0 1\n2 0 5\n3 17 64\n7 0 1.0000000000000001e+300\n",
    ),
    (CONSTANT, (), "1 |\n2 |\n3 |\n", "x\n-1 1\n"),
    (
        BLANKS,
        (),
        """\
0 2:1 40:-1 1000:-1 |
1 2:-1 40:0.854545 1000:1 |
1 2:-1 40:1 1000:-1 |
""",
        "x\n-1 1\n2 0 9.9999999999999694e-311\n40 -12.75 1\n1000 0 2\n",
    ),
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scaled(*words, stdin=b"", status=0):
    """Standard output of a run as bytes, and what it said."""
    done = forked("svmcut scale", *words, stdin=stdin)
    assert done.returncode == status, done.stderr
    return done.stdout.encode(), done.stderr


@pytest.mark.parametrize("text, options, rows, ranges", FROZEN)
def test_rows_and_ranges_are_those_of_svm_scale(text, options, rows, ranges, capfdbinary):
    with open("data", "w", newline="") as file:
        file.write(text)
    assert call("svmcut scale", *options, "-s", "ranges", "data") == 0
    assert capfdbinary.readouterr().out.decode() == rows.replace("|", "")
    assert Path("ranges").read_text() == ranges
    assert call("svmcut scale", "-r", "ranges", "data") == 0
    assert capfdbinary.readouterr().out.decode() == rows.replace("|", "")


def write_dense(out, rng):
    scales = np.exp(rng.normal(0, 5, 12))
    for row in rng.normal(size=(400, 12)) * scales:
        out.write(
            f"{rng.choice((-1, 1)):+d} "
            f"{' '.join(f'{j + 1}:{v!r}' for j, v in enumerate(row.tolist()))}\n"
        )


def write_sparse(out, rng):
    for _ in range(200):
        indices = np.unique(rng.integers(1, 500, 8))
        out.write(
            f"{rng.integers(0, 3)} "
            f"{' '.join(f'{j}:{v:.3g}' for j, v in zip(indices, rng.gamma(2, 3, 8)))}\n"
        )


def write_integers(out, rng):
    """Values on grids whose scaled values lie on midpoints of six digits."""
    for row in rng.integers(0, (65, 129, 101, 3, 1025, 1), (1200, 6)).tolist():
        out.write(f"{row[0] / 7!r} {' '.join(f'{j + 1}:{v - 20}' for j, v in enumerate(row))}\n")


def write_extremes(out, rng):
    for _ in range(300):
        powers = rng.integers(-300, 150, 5)
        words = [
            f"{3 * j + 1}:{rng.normal() * 10.0 ** powers[j]:.17g}"
            for j in range(5)
            if rng.random() < 0.7
        ]
        out.write(f"{rng.normal() * 10.0 ** rng.integers(-9, 9):.17g} {' '.join(words)}\n")


@pytest.mark.every(2)
@pytest.mark.skipif(shutil.which("svm-scale") is None, reason="needs svm-scale, of LIBSVM")
@pytest.mark.parametrize("options", [(), ("-l", "0"), ("-u", "0.3"), ALL])
@pytest.mark.parametrize("write", [write_dense, write_sparse, write_integers, write_extremes])
def test_both_programs_write_the_same_and_read_each_other(write, options, rng, capfdbinary):
    for name in ("train", "test"):
        with open(name, "w") as file:
            write(file, rng)

    def theirs(*words):
        done = subprocess.run(["svm-scale", *words], capture_output=True, timeout=TIMEOUT)
        assert done.returncode == 0
        return done.stdout

    def ours(*words):
        assert call("svmcut scale", *words) == 0
        return capfdbinary.readouterr().out

    assert ours(*options, "-s", "ours", "train") == theirs(*options, "-s", "theirs", "train")
    assert Path("ours").read_text() == Path("theirs").read_text()
    expected = theirs("-r", "theirs", "train")
    assert ours("-r", "theirs", "train") == theirs("-r", "ours", "train") == expected
    if b"inf" not in theirs("-r", "ours", "test"):
        assert ours("-r", "theirs", "test") == theirs("-r", "ours", "test")
    if "-y" not in options:
        assert ours("-r", "theirs", "-y", "0", "5", "train") == theirs(
            "-r", "ours", "-y", "0", "5", "train"
        )


def test_keys_and_comments_stay():
    rows = "# head\n2 qid:3 cost:0.5 1:2 3:4 # doc 1:7\n\n1 qid:4 1:1 sid:2 3:2\r\n0 qid:4 3:1#x\n"
    out, _ = scaled("-", stdin=rows.encode())
    kept = (
        "# head\n2 qid:3 cost:0.5 1:1 3:1 # doc 1:7\n\n1 qid:4 sid:2 3:-0.333333 \n0 qid:4 1:-1 "
        "3:-1 #x\n"
    )
    assert out.decode() == kept
    with open("rows", "wb") as file:
        file.write(out)
    assert call("svmcut rank", "-c", "1", "-v", "0", "rows", "model") == 0


def test_input_may_be_packed_standard_input_or_a_pipe():
    expected, _ = scaled("-l", "0", "-", stdin=MIXED.encode())
    with open("packed", "wb") as file:
        file.write(gzip.compress(MIXED.encode()))
    assert scaled("-l", "0", "-s", "ranges", "packed")[0] == expected
    assert scaled("-l", "0", stdin=gzip.compress(MIXED.encode()))[0] == expected
    with open("packed", "rb") as file:
        assert scaled("-l", "0", stdin=file)[0] == expected
    assert scaled("-r", "ranges", "-", stdin=MIXED.encode())[0] == expected
    with open("ranges", "rb") as file:
        assert scaled("-r", "-", "packed", stdin=file)[0] == expected
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe")
        writer = threading.Thread(target=Path("pipe").write_text, args=(MIXED,))
        writer.start()
        assert scaled("-l", "0", "pipe")[0] == expected
        writer.join()


def test_a_copy_of_standard_input_is_kept_only_where_it_is_read_twice(monkeypatch, capfd, folder):
    (folder / "data").write_text(MIXED)
    assert call("svmcut scale", "-s", "ranges", "data") == 0

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    assert call("svmcut scale", "data") == 0
    for options, status in ((("-r", "ranges"), 0), ((), 1), (("-r", "ranges", "-y", "0", "1"), 1)):
        with open("data") as file, monkeypatch.context() as patch:
            patch.setattr("sys.stdin", file)
            capfd.readouterr()
            assert call("svmcut scale", *options) == status
        out, err = capfd.readouterr()
        assert bool(out) == (status == 0)
        told = (
            "the input cannot be kept for the second pass: No space left on device; TMPDIR names "
            "another folder"
        )
        assert (told in err) == bool(status)


def test_warnings(folder):
    (folder / "data").write_text("5 1:1 2:9 7:3\n6 3:4 5:0\n")
    (folder / "ranges").write_text("y\n0 1\n5 9\nx\n-1 1\n2 0 10\n9 1 3\n")
    out, err = scaled("-l", "0", "-y", "0", "2", "-r", "ranges", "data")
    assert out == b"0 2:0.8 9:-2 \n0.25 2:-1 9:-2 \n"
    assert err.splitlines() == [
        "svmcut scale: warning: -l and -u have no effect: the limits are those of ranges",
        "svmcut scale: warning: -y has no effect: the limits are those of ranges",
        "svmcut scale: warning: ranges: no range for 4 features of data, left out: 1, 7, 3, 5",
    ]
    out, err = scaled("data")
    assert out == b"5 1:1 2:1 3:-1 7:1 \n6 1:-1 2:-1 3:1 7:-1 \n"
    assert err == (
        "svmcut scale: warning: 8 values were written and 5 read: zeros are no zeros any more; "
        "-l 0 keeps them where values are not negative\n"
    )
    assert scaled("-l", "0", "data")[1] == ""


@pytest.mark.parametrize(
    "words, message",
    [
        (("-l", "1", "data"), "-l and -u: limits 1 and 1; the first must be below the second"),
        (
            ("-u", "1e39", "data"),
            "-l and -u: limits -1 and inf; the first must be below the second",
        ),
        (("-y", "3", "2", "data"), "-y: limits 3 and 2; the first must be below the second"),
        (("-s", "a", "-r", "b", "data"), "-s writes ranges and -r reads them; give one of the two"),
        (("-s", "-", "data"), "-s: standard output takes the scaled examples; name a file"),
        (("-r", "-", "-"), "-r and EXAMPLE_FILE cannot both be standard input; name one of them"),
        (
            ("-s", "data", "data"),
            "EXAMPLE_FILE 'data' and -s 'data' are the same file; give the output a name of its "
            "own",
        ),
    ],
)
def test_refused_usage(words, message, folder, capfd):
    (folder / "data").write_text(MIXED)
    assert call("svmcut scale", *words) == 2
    assert capfd.readouterr() == ("", f"svmcut scale: {message}\n")
    assert os.listdir() == ["data"] and (folder / "data").read_text() == MIXED


def test_output_into_the_input_is_refused(folder):
    (folder / "data").write_text(MIXED)
    with open("data", "a") as file:
        done = run(
            "svmcut scale", "data", stdout=file, capture_output=False, stderr=subprocess.PIPE
        )
    assert done.returncode == 2 and "are the same file" in done.stderr
    assert (folder / "data").read_text() == MIXED


def test_failures_leave_the_old_range_file(folder, capfd):
    (folder / "ranges").write_text("old")
    (folder / "data").write_text("1 1:2\n-1 1:2 x\n")
    (folder / "empty").write_text("# nothing\n")
    for name, message in (
        ("data", "data:2:8: x is no feature; expected INDEX:VALUE"),
        ("empty", "empty: no examples"),
        ("none", "none: No such file or directory"),
        (".", ".: Is a directory"),
    ):
        assert call("svmcut scale", "-s", "ranges", name) == 1
        assert capfd.readouterr() == ("", f"{message}\n")
    assert call("svmcut scale", "-r", "ranges", "data") == 1
    assert capfd.readouterr().err.startswith(
        "ranges:1: expected x; a range file is what svmcut scale"
    )
    assert (folder / "ranges").read_text() == "old"
    assert sorted(os.listdir()) == ["data", "empty", "ranges"]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    "number, status, what",
    [(signal.SIGTERM, 143, "stopped by SIGTERM"), (signal.SIGINT, 130, "interrupted")],
)
@pytest.mark.parametrize("options", [("-s", "ranges"), ("-r", "given")])
def test_a_signal_writes_nothing(options, number, status, what, folder):
    (folder / "given").write_text("x\n-1 1\n1 0 1\n")
    with start("svmcut scale", *options, "-") as child:
        # More than is in flight: once it is taken the run reads, and waits for the rest.
        child.stdin.write(b"1 1:0.25 2:1\n" * 60_000)
        child.stdin.flush()
        child.send_signal(number)
        assert child.wait(TIMEOUT) == status
        assert child.stderr.read().decode() == f"svmcut scale: {what}\n"
    assert os.listdir() == ["given"]


@pytest.mark.skipif(os.name != "posix", reason="closed pipes of POSIX")
def test_a_reader_that_leaves_is_no_news(folder):
    (folder / "data").write_text("1 1:0.25 2:1\n-1 1:3\n" * 100_000)
    with start("svmcut scale", "-s", "ranges", "data") as child:
        assert child.stdout.readline() == b"1 1:-1 2:1 \n"
        child.stdout.close()
        assert child.wait(TIMEOUT) == 1
        assert child.stderr.read() == b""
    assert (folder / "ranges").read_text() == "x\n-1 1\n1 0.25 3\n2 0 1\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_told(folder):
    (folder / "data").write_text(MIXED)
    with open("/dev/full", "w") as full:
        done = run(
            "svmcut scale", "data", stdout=full, capture_output=False, stderr=subprocess.PIPE
        )
    assert done.returncode == 1
    assert done.stderr == "-: cannot be written: No space left on device\n"


@pytest.mark.skipif(shutil.which("svm-scale") is None, reason="needs svm-scale, of LIBSVM")
def test_benchmark_prints_a_table(folder):
    lines = benchmark(folder, "scale.py", "--repeats", "1", "--megabytes", "0.05")
    assert lines[0].startswith("| file, options |") and len(lines) == 6
    assert all(line.endswith("| yes |") for line in lines[2:])
