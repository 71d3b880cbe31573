# SPDX-License-Identifier: BSD-3-Clause
"""Tables that others write: numbers keep their digits in every format, and what is damaged or no
table is one line with the file and the place."""

import decimal
import gzip
import json
import random
import struct

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

from svmcut.base.errors import DataError
from svmcut.files.names import input_by_ending
from svmcut.spec.entries import CLASSES, NUMBERS, SETS
from svmcut.tables.encoded import TestTable, encode_frame, read_encoded
from svmcut.tables.options import TableOptions


def read(path, kind=CLASSES, **options):
    how = TableOptions(**({"label": "y"} | options))
    return read_encoded(str(path), input_by_ending(str(path)), how, kind)


def arrow_bytes(table, new=ipc.new_file):
    sink = pa.BufferOutputStream()
    with new(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def written(folder, table):
    """A table in every format, by the names of its files."""
    rows = [
        {
            name: str(value) if isinstance(value, decimal.Decimal) else value
            for name, value in row.items()
        }
        for row in table.to_pylist()
    ]
    cells = [",".join("" if cell is None else str(cell) for cell in row.values()) for row in rows]
    (folder / "a.csv").write_text("\n".join([",".join(table.column_names), *cells]) + "\n")
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    parquet.write_table(table, folder / "a.parquet")
    (folder / "a.arrow").write_bytes(arrow_bytes(table))
    return [folder / f"a.{ending}" for ending in ("csv", "jsonl", "parquet", "arrow")]


def close_integers(choose, low=2**53, high=2**63):
    """Integers of which two neighbours are one float64."""
    at = [choose.randrange(low, high) // 4 * 4 for _ in range(3)]
    return [value + k for value in at for k in (0, 1)]


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.decimal128(38, 3)])
def test_categories_of_long_numbers_are_those_of_csv(tmp_path, kind):
    choose = random.Random(1)
    high = 2**64 if kind == pa.uint64() else 2**63
    ids = [*close_integers(choose, high=high), 5, 10**16]
    if pa.types.is_decimal(kind):
        ids = [decimal.Decimal(10 * value + 3).scaleb(-1) for value in ids]
    table = pa.table({"id": pa.array(ids * 3, kind), "y": ["a", "b"] * (len(ids) * 3 // 2)})
    csv, *others = written(tmp_path, table)
    expected = read(csv, categories=("id",)).table.encoding
    names = expected.columns[0].values
    assert len(names) == len(ids)
    for path in others:
        found = read(path, categories=("id",))
        own = found.table.encoding.columns[0].values
        shorter = tuple(name.rstrip("0").rstrip(".") if "." in name else name for name in names)
        assert {*own} in ({*names}, {*shorter}), path
        (block,) = TestTable(found.table.encoding, None).stream(str(path), CLASSES)
        assert np.array_equal(block.X.to_dense(), found.X.to_dense())


def test_labels_of_long_numbers_are_not_rounded_together(tmp_path):
    ids = close_integers(random.Random(2))
    table = pa.table({"x": range(12), "y": pa.array(ids * 2, pa.int64())})
    for path in written(tmp_path, table):
        found = read(path)
        words = found.table.encoding.words
        assert [words[int(k) - 1] for k in found.y] == [str(value) for value in ids * 2]
        # numbers that are predicted may be rounded
        assert read(path, NUMBERS).y.tolist() == [float(value) for value in ids * 2]
    exact = pa.table({"x": range(3), "y": [2**53, 2**60, 4]})
    more = pa.table({"x": range(3), "y": [4, 2**60, 2**53 + 1]})
    for name in ("exact", "more"):
        (tmp_path / name).mkdir()
    pairs = zip(written(tmp_path / "exact", exact), written(tmp_path / "more", more))
    for path, other in pairs:
        encoding = read(path).table.encoding
        assert encoding.words == ()
        with pytest.raises(
            DataError, match=r"row 3, column 'y': '9007199254740993' is a number of"
        ):
            [*TestTable(encoding, None).stream(str(other), CLASSES)]
        assert next(TestTable(encoding, None).stream(str(other), NUMBERS)).y[2] == 2.0**53


def test_groups_of_long_numbers_are_apart(tmp_path):
    ids = sorted(close_integers(random.Random(3)) * 2)
    table = pa.table({"x": range(12), "y": [0, 1] * 6, "q": pa.array(ids, pa.int64())})
    for path in written(tmp_path, table):
        assert read(path, NUMBERS, group="q").qid.tolist() == [k // 2 + 1 for k in range(12)]


@pytest.mark.parametrize("rows", [[1, 2**64 + 1, 2**64 + 2], [0.5, 2**53, 2**53 + 1]])
def test_json_that_mixes_integers_and_fractions_keeps_their_digits(tmp_path, rows):
    texts = [json.dumps(value) for value in rows]
    lines = "".join(
        f'{{"id": {text}, "s": [{text}], "y": {k % 2}}}\n' for k, text in enumerate(texts)
    )
    path = tmp_path / "a.jsonl"
    path.write_text(lines)
    found = read(path, categories=("id",), drop=("s",)).table.encoding
    assert found.columns[0].values == tuple(sorted(texts))
    found = read(path, label="id", drop=("s",)).table.encoding
    assert found.words == tuple(sorted(texts))
    sets = read(path, SETS, label="s", drop=("id",))
    assert sets.table.encoding.words == tuple(sorted(texts))
    assert np.allclose(
        read(path, drop=("s",), standardise=False).X.to_dense()[:, 0], [*map(float, rows)]
    )
    # two rows in a line are rows too
    path.write_text(lines.replace("\n", " "))
    assert read(path, label="id", drop=("s",)).table.encoding.words == tuple(sorted(texts))


@pytest.mark.parametrize("bits", [128, 256])
def test_decimals_are_the_nearest_numbers(tmp_path, bits):
    choose, make = random.Random(4), getattr(pa, f"decimal{bits}")
    values = [decimal.Decimal(choose.randrange(-(10**9), 10**9)).scaleb(-9) for _ in range(300)]
    table = pa.table({"x": pa.array(values, make(38, 20)), "y": [0, 1] * 150})
    csv, _, *others = written(tmp_path, table)
    expected = read(csv, standardise=False).X.to_dense()
    assert expected[:, 0].tolist() == [np.float32(float(value)) for value in values]
    for path in others:
        assert np.array_equal(read(path, standardise=False).X.to_dense(), expected)
        labels = read(path, NUMBERS, label="x", drop=(), columns=("y",)).y
        assert labels.tolist() == [float(value) for value in values]


def damaged_offsets(choose, new):
    """Arrow files of which one offset, index or length was changed, and the column it is of."""
    n = 20
    texts = ["uv", "wx"] * (n // 2)
    table = pa.table(
        {
            "c": texts,
            "d": pa.array(texts).dictionary_encode(),
            "l": pa.array([["p", "q"]] * n),
            "y": ["a", "b"] * (n // 2),
        }
    )
    data = arrow_bytes(table, new)
    of = {
        "c": (struct.pack(f"<{n + 1}i", *range(0, 2 * n + 1, 2)), n + 1),
        "d": (struct.pack(f"<{n}i", *[0, 1] * (n // 2)), n),
    }
    for name, (buffer, count) in of.items():
        # offsets of the list are those of the texts: the first buffer is that of c
        at = data.index(buffer)
        for value in (2**31 - 1, -5, -(2**31), 3000, 2 * n + 1):
            k = choose.randrange(1, count)
            start = at + 4 * k
            yield name, data[:start] + struct.pack("<i", value) + data[start + 4 :]


@pytest.mark.parametrize("new", [ipc.new_file, ipc.new_stream])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_arrow_files_whose_offsets_lie_are_refused(tmp_path, new, pack):
    path = tmp_path / ("a.arrow.gz" if pack is gzip.compress else "a.arrow")
    for name, data in damaged_offsets(random.Random(5), new):
        path.write_bytes(pack(data))
        with pytest.raises(DataError, match=f"^{path}: no Arrow file: column '{name}': ") as found:
            read(path, categories=("c", "d"), drop=("l",))
        assert "\n" not in str(found.value)


def test_frames_are_validated_and_need_not_be_aligned():
    texts = [b"ab", b"cd", b"ab", b"cd"]
    offsets = struct.pack("<5q", *range(0, 9, 2))

    def frame(offsets, text):
        buffers = [None, pa.py_buffer(b"x" + offsets).slice(1), pa.py_buffer(text)]
        return pa.table(
            {"c": pa.LargeStringArray.from_buffers(4, buffers[1], buffers[2]), "y": [0, 1] * 2}
        )

    options = TableOptions(label="y", categories=("c",))
    found = encode_frame(frame(offsets, b"".join(texts)), options)
    assert found.X.to_dense().tolist() == [[1, 0], [0, 1]] * 2
    with pytest.raises(DataError, match="the table: no table for Arrow: column 'c': "):
        encode_frame(frame(struct.pack("<5q", 0, 2, 400, 6, 8), b"".join(texts)), options)
    empty = pa.chunked_array([pa.array([], pa.large_string()), ["ab", "cd"]])
    found = encode_frame(pa.table({"c": empty, "y": [0, 1]}), options)
    assert found.X.to_dense().tolist() == [[1, 0], [0, 1]]


def nested(levels, opening="[", closing="]"):
    return f'{{"y": "a", "x": {opening * levels}1{closing * levels}}}\n'


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", nested(64), ":1: nested too deep; expected at most 64 levels"),
        ("a.jsonl", '{"y": 1}\n' + nested(100_000), ":2: nested too deep"),
        ("a.jsonl", nested(3) + nested(5000, '{"a":', "}"), ":2: nested too deep"),
        ("a.jsonl", nested(5000, "[\n", "]").replace("]1", "] 1"), ":64: nested too deep"),
        ("a.jsonl", "[" * 100_000, ":1: nested too deep"),
        ("a.jsonl", nested(63), ": column 'x' holds lists; leave it out by"),
        ("a.jsonl", '{"y": "a", "z": [{"a": 1}]}\n', ": column 'z' holds lists; leave it out by"),
        ("a.jsonl", '{"y": "a", "z": {"a": 1}}\n', ": column 'z' holds values of the type struct"),
        ("a.jsonl", '{"y": 1}\n\n{"y": 1, "y": 2}\n', ":3: JSON parse error: Column"),
        ("a.jsonl", '{"y": 1}\n{"y": 1e400}\n', ":2: JSON parse error: Number too big"),
        ("a.jsonl", "{}\n{}\n", ": has no columns"),
        ("a.jsonl", b'{"\xff": 1}\n', ": a name of a column is no UTF-8"),
        ("a.csv", "x,y\r1,a\r2,b\r", r":1:4: lines end in carriage returns alone"),
        ("a.csv", "x" * 140_000 + ",y\n1,a\n", ":1:1: no header: field larger than field limit"),
        ("a.parquet", b"PAR1" + bytes(40), ": no Parquet file: "),
        ("a.arrow", b"ARROW1\0\0" + bytes(40), ": no Arrow file: "),
    ],
)
def test_what_is_no_table_is_one_line_with_its_place(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=f"^{path}{message}") as found:
        read(path)
    assert "\n" not in str(found.value) and len(str(found.value)) < 300 + len(str(path))


def test_brackets_within_texts_are_none(tmp_path):
    rows = [{"y": k % 2, "t": f'sad :[ \\"{{ \\\\ {k}'} for k in range(200)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read(path, text=("t",)).X.n_rows == 200
    path.write_text(path.read_text() + nested(70))
    with pytest.raises(DataError, match=":201: nested too deep"):
        read(path, text=("t",))


def test_tables_without_columns_are_none(tmp_path):
    parquet.write_table(pa.table({}), tmp_path / "a.parquet")
    (tmp_path / "a.arrow").write_bytes(arrow_bytes(pa.table({})))
    for name in ("a.parquet", "a.arrow"):
        with pytest.raises(DataError, match=f"{name}: has no columns"):
            read(tmp_path / name)
    with pytest.raises(DataError, match="the table: has no columns"):
        encode_frame(pa.table({}), TableOptions(label="y"))
