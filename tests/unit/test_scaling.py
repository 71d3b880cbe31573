# SPDX-License-Identifier: BSD-3-Clause
"""Scaling: numbers as printf writes them, ranges, rows as a plain reading of the rules gives them,
refusals."""

import math
import random
import re
import subprocess
import sys

import numpy as np
import pytest
from svmcut._native.scaling import Measure, Scale, format_general
from svmcut._native.scan import Scanner

from svmcut.base.errors import DataError
from svmcut.files.scaling import (
    LabelRange,
    Ranges,
    ScaleLimits,
    read_ranges,
    round_limit,
    scale_examples,
    write_ranges,
)


def test_numbers_are_those_of_printf():
    rng = random.Random(3)
    values = [
        sign * step / unit
        for unit in (64, 128, 1000, 1e7, 3)
        for step in range(1, 2000)
        for sign in (1, -1)
    ]
    values += [
        rng.choice((1, -1)) * rng.random() * 10.0 ** rng.randint(-9, 9) for _ in range(50_000)
    ]
    values += [math.nextafter(10.0**e, to) for e in range(-7, 9) for to in (0, 10.0**e, math.inf)]
    values += [rng.randrange(10**7) / 10 ** rng.randint(0, 9) for _ in range(20_000)]
    values += [
        0.0,
        -0.0,
        5e-324,
        1.7976931348623157e308,
        999999.5,
        999999.4999999,
        0.000099999949999,
        123456.5,
    ]
    for digits in (6, 17):
        assert [(v, format_general(v, digits).decode()) for v in values] == [
            (v, f"{v:.{digits}g}") for v in values
        ]


def plain_scaling(lines, limits, label_limits=None):
    """What scaled rows are by the rules, one thing after the other: (range lines, rows)."""
    rows = [line.split() for line in lines]
    pairs = [{int(i): float(v) for i, v in (word.split(":") for word in row[1:])} for row in rows]
    labels = [float(row[0]) for row in rows]
    features = sorted(set().union(*pairs))
    spans = {i: [row.get(i, 0.0) for row in pairs] for i in features}
    spans = {i: (min(found), max(found)) for i, found in spans.items() if min(found) != max(found)}

    def scaled(value, lower, upper, low, high):
        if value in (low, high):
            return lower if value == low else upper
        return lower + (upper - lower) * (value - low) / (high - low)

    out = []
    for label, row in zip(labels, pairs):
        if label_limits:
            label = scaled(label, *label_limits, min(labels), max(labels))
        words = [(i, scaled(row.get(i, 0.0), *limits, *span)) for i, span in spans.items()]
        out.append(
            f"{label:.17g} "
            + "".join([f"{i}:{value:g} " for i, value in words if value != 0])
            + "\n"
        )
    pair = "{:.17g} {:.17g}\n".format
    ranges = "y\n" + pair(*label_limits) + pair(min(labels), max(labels)) if label_limits else ""
    ranges += "x\n" + pair(*limits) + "".join([f"{i} {pair(*span)}" for i, span in spans.items()])
    return ranges, "".join(out)


def random_lines(rng, rows, columns, density, digits):
    lines = []
    for _ in range(rows):
        chosen = [i for i in range(1, columns + 1) if rng.random() < density]
        words = [f"{i * i}:{rng.gauss(0, i):.{digits}g}" for i in chosen]
        lines.append(" ".join([f"{rng.gauss(0, 3):.{digits}g}", *words]))
    return lines


@pytest.mark.parametrize("limits", [(-1.0, 1.0), (0.0, 1.0), (round_limit(0.1), round_limit(2.7))])
@pytest.mark.parametrize("label_limits", [None, (-2.0, round_limit(0.3))])
@pytest.mark.parametrize("density, digits", [(1, 17), (0.3, 3), (0.02, 1)])
def test_rows_and_ranges_follow_the_rules(limits, label_limits, density, digits, tmp_path):
    lines = random_lines(random.Random(density), 60, 40, density, digits)
    (tmp_path / "rows").write_text("\n".join(lines) + "\n")
    scale_examples(
        str(tmp_path / "rows"),
        ScaleLimits(limits, label_limits),
        save=str(tmp_path / "r"),
        target=str(tmp_path / "out"),
    )
    ranges, rows = plain_scaling(lines, limits, label_limits)
    assert (tmp_path / "r").read_text() == ranges
    assert (tmp_path / "out").read_text() == rows
    again = read_ranges(str(tmp_path / "r"))
    scale_examples(
        str(tmp_path / "rows"),
        ScaleLimits((5, 6)),
        restored=("r", again),
        target=str(tmp_path / "again"),
    )
    assert (tmp_path / "again").read_text() == rows
    write_ranges(str(tmp_path / "r2"), again)
    assert (tmp_path / "r2").read_text() == ranges


def measured(text, cut=None):
    """What a first pass finds in a text that comes in two pieces; or its refusal."""
    measure = Measure("x")
    try:
        used = measure.feed(text[:cut]) if cut is not None else 0
        measure.feed(text[used:], last=True)
    except DataError as error:
        return str(error)
    indices, low, high = measure.features()
    return measure.rows, measure.labels, indices.tolist(), low.tolist(), high.tolist()


def test_signs_of_zeros_are_those_of_the_last_of_equals():
    for values, low, high in (
        (("-0", "0", "5"), "0", "5"),
        (("0", "-0", "5"), "-0", "5"),
        (("-0", None, "5"), "0", "5"),
        (("-5", None, "-0"), "-5", "-0"),
        (("-5", "-0", None), "-5", "0"),
        ((None, "-0", "-5"), "-5", "-0"),
    ):
        text = "".join("1\n" if value is None else f"1 1:{value}\n" for value in values)
        found = measured(text.encode())
        assert (f"{found[3][0]:g}", f"{found[4][0]:g}") == (low, high), values


def test_pieces_of_text_make_no_difference():
    text = b"\xef\xbb\xbf# head\n1 qid:3 1:2 300:4 # a\r\n\n-1\t2:1e300 70000:1\n0.5 cost:2 1:-1"
    whole = measured(text)
    assert whole[0] == 3 and whole[2] == [1, 2, 300, 70000]
    assert all(measured(text, cut) == whole for cut in range(len(text)))


ALPHABET = [
    *(bytes([c]) for c in b"0123456789:.+-eE#\n\r\t qsc\0x"),
    b"qid:",
    b"cost:1",
    b"sid:2",
    b"1:1",
    b"2:2",
    b" 7:3",
    b"nan",
    b"2147483647:1",
    b"1e400",
]


def test_what_is_refused_is_what_the_other_commands_refuse():
    rng = random.Random(11)
    refused = 0
    for _ in range(20_000):
        text = bytearray(b"1 qid:3 1:2 3:4.5 # c\n-1 2:1 5:1e3\n")
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(text) + 1)
            text[at : at + rng.randint(0, 2)] = rng.choice(ALPHABET)
        scanner = Scanner("x")
        try:
            scanner.feed(bytes(text), last=True)
            expected = len(scanner.take()["y"])
        except DataError as error:
            expected = error.original
        found = measured(bytes(text))
        if (
            "out of range" in str(expected) and found != expected
        ):  # beyond float32, which is no fault here
            assert any(
                2e38 < abs(float(v)) < 2e308
                for v in re.findall(r":([-+.\de]+)", text.decode("latin1"))
            )
            continue
        refused += isinstance(found, str)
        assert (found if isinstance(found, str) else found[0]) == expected, bytes(text)
    assert refused > 5000


def written(text, ranges, checked=False):
    pieces = []
    scale = Scale("x", pieces.append, ranges.limits, ranges.features, ranges.labels, checked)
    scale.feed(text, last=True)
    return b"".join(pieces), scale


def ranges_of(*features, limits=(-1.0, 1.0), labels=None):
    index, low, high = zip(*features)
    return Ranges(
        limits, (np.array(index, np.int32), np.array(low, float), np.array(high, float)), labels
    )


def test_features_without_a_range_are_left_out_and_counted():
    ranges = ranges_of((2, 0, 10), (300, 1, 3), (301, 4, 4), (9000, -1, 1))
    out, scale = written(b"5 1:1 2:9 7:3\n6 2:5 299:1 300:2 301:9 400:4 70000:5\n7 1:1\n", ranges)
    assert out == b"5 2:0.8 300:-2 \n6 \n7 2:-1 300:-2 \n"
    assert scale.missing == (5, [1, 7, 299, 400, 70000])
    assert (scale.entries, scale.written) == (10, 4)


def test_many_features_whose_zeros_are_written(tmp_path):
    """More text than is written at once, in front of, between and behind the features of a row."""
    n = 200_000
    ranges = Ranges(
        (-1.0, 1.0), (np.arange(1, n + 1, dtype=np.int32), np.zeros(n), np.full(n, 4.0))
    )
    out, scale = written(b"1 3:1 150000:2\n2\n", ranges)
    fill = [f"{i}:-1 " for i in range(1, n + 1)]
    second = "2 " + "".join(fill) + "\n"
    fill[2], fill[149_999] = "3:-0.5 ", ""
    assert out.decode() == "1 " + "".join(fill) + "\n" + second
    assert scale.written == 2 * n - 1


@pytest.mark.parametrize(
    "text, message",
    [
        (b"1 1:2\n2 1:1e308\n", "x:2:3: 1:1e308 is too far outside its range to be scaled"),
        (b"1e300 1:2\n", "x:1:1: 1e300 is too far outside its range to be scaled"),
        (b"1 1:1e309\n", "x:1:5: feature value 1e309 is out of range"),
        (b"1 2:1 1:1\n", "x:1:7: feature index 1 follows 2; indices must increase within a line"),
    ],
)
def test_refused_rows(text, message):
    with pytest.raises(DataError) as refusal:
        written(text, ranges_of((1, 0, 1e-3), labels=LabelRange(0, 1, 0, 1e-10)))
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "1: expected x; a range file is what svmcut scale or svm-scale saves"),
        ("1 1:2 2:3\n", "1: expected x; a range file is what svmcut scale or svm-scale saves"),
        ("y\n0 1\n-5 5\n", "4: expected x; a range file is what svmcut scale or svm-scale saves"),
        ("x\n", "2: expected LOWER UPPER, the limits of features"),
        ("x\n0 nan\n", "2: expected LOWER UPPER, the limits of features"),
        ("y\n0 1\nx\n0 1\n", "3: expected LOW HIGH, the lowest and the highest label"),
        (
            "x\n0 1\n1 0 1 7\n",
            "3: expected INDEX LOW HIGH, a feature, its lowest and its highest value",
        ),
        (
            "x\n0 1\n1 0 1\n\n2 0 1\n",
            "4: expected INDEX LOW HIGH, a feature, its lowest and its highest value",
        ),
        (
            "x\n0 1\n1 0 inf\n",
            "3: expected INDEX LOW HIGH, a feature, its lowest and its highest value",
        ),
        ("x\n0 1\n0 0 1\n", "3: feature index 0; expected whole numbers from 1 that increase"),
        (
            "x\n0 1\n2 0 1\n1 0 1\n",
            "4: feature index 1; expected whole numbers from 1 that increase",
        ),
        ("x\n0 1\n1.5 0 1\n", "3: feature index 1.5; expected whole numbers from 1 that increase"),
        (
            "x\n0 1\n2147483647 0 1\n",
            "3: feature index 2147483647; expected whole numbers from 1 that increase",
        ),
    ],
)
def test_refused_range_files(text, message, tmp_path):
    path = str(tmp_path / "ranges")
    (tmp_path / "ranges").write_text(text)
    with pytest.raises(DataError) as refusal:
        read_ranges(path)
    assert str(refusal.value) == f"{path}:{message}"


def test_ranges_beyond_doubles_are_refused(tmp_path):
    path, rows = str(tmp_path / "rows"), tmp_path / "rows"
    for text, labels, message in (
        ("1 3:-1e308\n2 3:1e308\n", None, "feature 3 ranges from -1e+308 to 1e+308"),
        ("-1e308 3:1\n1e308 3:2\n", (0, 2), "labels range from -1e+308 to 1e+308"),
    ):
        rows.write_text(text)
        with pytest.raises(DataError) as refusal:
            scale_examples(
                path,
                ScaleLimits((-1, 1), labels),
                save=str(tmp_path / "r"),
                target=str(tmp_path / "out"),
            )
        assert (
            str(refusal.value)
            == f"{path}: {message}, which is too wide for double precision; divide by 1000 first"
        )
    rows.write_text("1 3:1\n")
    with pytest.raises(
        DataError, match=r"ranges: the range of feature 3 is beyond double precision"
    ):
        restored = ("ranges", ranges_of((3, 1e308, 1.1e308), limits=(0, 100)))
        scale_examples(path, ScaleLimits((-1, 1)), restored=restored, target=str(tmp_path / "out"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["rows"]


def test_a_file_that_changes_between_the_passes_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "rows"
    path.write_text("1 1:1\n2 1:2\n")

    def changed(*arguments):
        path.write_text("1 1:1\n2 1:2\n3 1:7\n")

    monkeypatch.setattr("svmcut.files.scaling.write_ranges", changed)
    with pytest.raises(DataError, match="the file changed between the two passes over it"):
        scale_examples(str(path), ScaleLimits((-1, 1)), save="r", target=str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


GROWTH = """
import resource, sys
from svmcut.files.scaling import ScaleLimits, scale_examples
peaks = []
for path in sys.argv[1:]:
    scale_examples(path, ScaleLimits((-1, 1)), target="/dev/null")
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print(peaks[1] - peaks[0])
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="peaks in kB, as Linux counts them"
)
def test_memory_does_not_grow_with_the_file(tmp_path):
    rows = "".join(line + "\n" for line in random_lines(random.Random(5), 500, 60, 0.5, 9))
    for name, times in (("small", 3), ("large", 100)):
        (tmp_path / name).write_text(rows * times)
    assert (tmp_path / "large").stat().st_size > 20e6
    line = [sys.executable, "-c", GROWTH, str(tmp_path / "small"), str(tmp_path / "large")]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) < 2000
