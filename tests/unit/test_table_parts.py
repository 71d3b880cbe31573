# SPDX-License-Identifier: BSD-3-Clause
"""Tables in parts: the encoding fitted by all parts, beside that of one table; refusals."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
import pyarrow as pa
from pyarrow import csv, parquet

import svmcut
from svmcut.base.errors import DataError, UsageError
from svmcut.distributed.parts import Reading
from svmcut.distributed.plan import Files, make_driver
from svmcut.distributed.rows import SerialRows
from svmcut.distributed.scoring import Saving, fit_all
from svmcut.spec.parameters import Settings
from svmcut.spec.refusals import plain
from svmcut.tables.encoded import TrainingTable
from svmcut.tables.options import table_options
from svmcut.tables.parts import Piece, list_pieces


def table(n=300, classes=2, seed=0):
    """Numbers of which some are missing, names, booleans, labels, weights."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(3, 5, n), rng.normal(size=n), rng.choice(["red", "green", "blue"], n)
    score = a - 3 + 2 * b + 4 * (c == "red") + rng.normal(size=n)
    labels = np.array(["down", "up", "far"])[np.digitize(score, [0, 4][: classes - 1])]
    columns = {
        "a": [None if k % 37 == 0 else float(v) for k, v in enumerate(a)],
        "b": b,
        "c": [None if k % 41 == 0 else str(v) for k, v in enumerate(c)],
        "d": rng.random(n) > 0.5,
        "empty": pa.nulls(n, pa.float64()),
        "y": labels,
        "w": rng.random(n),
    }
    return pa.table(columns)


def files_in(folder, whole, ending="parquet", parts=3):
    """Paths of a table's parts, written one after the other."""
    write = parquet.write_table if ending == "parquet" else csv.write_csv
    size, found = -(-len(whole) // parts), []
    for k in range(parts):
        found.append(str(folder / f"part-{k}.{ending}"))
        write(whole.slice(k * size, size), found[-1])
    return found


def trained(paths, input="parquet", task=None, options=None, **parameters):
    """The outcome of training on tables in this process."""
    own = {"gap": 1e-3, "example_cost": 1.0, "threads": 1, **parameters}
    given = frozenset(own if task is None else {*own, "task"})
    settings = plain(Settings(task=task or "classification", **own, given=given))
    how = TrainingTable(table_options({"label": "y", "drop": ["w"], **(options or {})}), input)
    files = Files(paths, Reading(False), table=how)
    parted, driver = make_driver(SerialRows(), files, settings)
    return fit_all(driver, parted, [(None, 1.0)], Saving())[0]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("classes", [2, 3])
def test_parts_have_the_encoding_of_the_whole(tmp_path, ending, classes):
    whole = table(classes=classes)
    (one,) = files_in(tmp_path, whole, ending, 1)
    alone = svmcut.train(one, label="y", weight_column="w", drop=["empty"], gap=1e-3)
    options = {"weight_column": "w", "drop": ["empty"]}
    found = trained(files_in(tmp_path, whole, ending), ending, options=options)
    for mine, other in zip(found.model.table.columns, alone.model.table.columns, strict=True):
        for name in ("mean", "scale", "fill", "values"):
            if isinstance(got := getattr(mine, name, None), float):
                assert got == pytest.approx(getattr(other, name), rel=1e-12)
            else:
                assert got == getattr(other, name, None)
        assert (mine.name, mine.missing) == (other.name, other.missing)
    assert found.model.table.words == alone.model.table.words
    assert found.model.table.unused == alone.model.table.unused
    if classes == 2:
        assert found.dual <= alone.primal and alone.dual <= found.primal


def test_columns_that_differ_from_part_to_part_are_brought_together(tmp_path):
    first = pa.table({"a": ["1", "2"] * 9, "b": ["", ""] * 9, "t": ["true"] * 18, "y": [1, -1] * 9})
    second = pa.table(
        {"a": ["x", "2"] * 9, "b": ["7", ""] * 9, "t": ["False", ""] * 9, "y": [-1, 1] * 9}
    )
    paths = [str(tmp_path / name) for name in ("one.csv", "two.csv")]
    for path, part in zip(paths, (first, second)):
        csv.write_csv(part, path)
    found = trained(paths, "csv", options={"drop": None}).model.table
    a, b, t = found.columns
    assert a.values == ("1", "2", "x") and (b.mean, b.missing) == (7.0, True)
    assert t.boolean and t.missing and found.words == ()


def test_parts_without_rows_are_left_out(tmp_path):
    paths = files_in(tmp_path, table(), "csv")
    whole = trained(paths, "csv")
    (tmp_path / "none.csv").write_text("")
    (tmp_path / "head.csv").write_text(Path(paths[0]).read_text().splitlines()[0] + "\n")
    more = [*paths, str(tmp_path / "none.csv"), str(tmp_path / "head.csv")]
    assert trained(more, "csv").model.w.tobytes() == whole.model.w.tobytes()
    with pytest.raises(DataError, match="no examples"):
        trained(more[3:], "csv")


def test_row_groups_are_parts_whatever_their_file(tmp_path):
    whole = table()
    path = str(tmp_path / "all.parquet")
    parquet.write_table(whole, path, row_group_size=100)
    pieces = list_pieces(path, "parquet")
    assert [piece.groups for piece in pieces] == [(0, 1), (1, 2), (2, 3)]
    assert (
        pieces[1].name.endswith("all.parquet, row group 2")
        and len(list_pieces("x.csv", "csv")) == 1
    )
    assert Piece("f", "parquet", (0, 3)).name == "f, row groups 1 to 3"
    found = trained([path])
    cut = trained(files_in(tmp_path, whole))
    assert found.model.w.tobytes() == cut.model.w.tobytes()


@pytest.mark.parametrize(
    "change, error, text",
    [
        (
            lambda t: t.set_column(1, "z", t["b"]),
            DataError,
            "part-3.parquet, row group 1: has no column 'b', which",
        ),
        (
            lambda t: t.set_column(5, "y", pa.array(["up"] * 99 + [None])),
            DataError,
            "part-3.parquet, row group 1: row 100, column 'y': has no label",
        ),
        (
            lambda t: t.set_column(2, "c", pa.array([f"n{k}" for k in range(100)])),
            DataError,
            "column 'c' holds 103 different texts in 400 rows, such as",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(tmp_path, change, error, text):
    paths = files_in(tmp_path, table())
    paths.append(str(tmp_path / "part-3.parquet"))
    parquet.write_table(change(table(100)), paths[-1])
    with pytest.raises(error, match=text):
        trained(paths)


def rankings(n=300, queries=40):
    """Grades of rows in queries of several lengths, whose names do not rise."""
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=n), rng.normal(size=n)
    query = np.sort(rng.integers(queries, size=n))
    names = [f"q{7 * k % queries}" for k in query]
    return pa.table({"a": a, "b": b, "q": names, "y": np.digitize(a - b, [-0.5, 0.5])})


def test_groups_stay_whole(tmp_path):
    whole, path = rankings(), str(tmp_path / "all.parquet")
    parquet.write_table(whole, path, row_group_size=50)
    how = {"task": "rank", "options": {"group": "q", "drop": None}}
    found = trained([path], **how)
    alone = svmcut.train(path, task="rank", label="y", group="q", example_cost=1.0, gap=1e-3)
    assert found.converged and found.objective.structures == alone.objective.structures == 40
    assert found.primal >= alone.dual and alone.primal >= found.dual
    cut = [k for k in range(1, 300) if whole["q"][k] != whole["q"][k - 1]]
    pieces = [whole.slice(0, cut[10]), whole.slice(cut[10])]
    paths = [str(tmp_path / f"part-{k}.csv") for k in range(2)]
    for piece, name in zip(pieces, paths, strict=True):
        csv.write_csv(piece, name)
    files = trained(paths, "csv", **how)
    assert files.primal >= alone.dual and alone.primal >= files.dual
    csv.write_csv(whole.slice(0, cut[10] + 1), paths[0])
    with pytest.raises(DataError, match=r"part-1.csv: begins with the group '.*', with which .*0"):
        trained(paths, "csv", **how)
    csv.write_csv(pieces[1].slice(0, 5), paths[0])
    with pytest.raises(DataError, match=r"part-0.csv: the group 'q.*' returns; sort the tables"):
        trained([paths[1], paths[0]], "csv", **how)


def test_weights_numbers_and_options_are_checked(tmp_path):
    whole = table()
    paths = files_in(tmp_path, whole.set_column(6, "w", pa.array([1.0] * 299 + [-1.0])))
    with pytest.raises(DataError, match="row 100, column 'w': no weight; expected a number of"):
        trained(paths, options={"weight_column": "w", "drop": None})
    with pytest.raises(DataError, match="column 'y': 'down' is no number, and the task learns"):
        trained(paths, task="regression")
    with pytest.raises(UsageError, match="name the label as in label='y'"):
        trained(paths, options={"label": None})


@pytest.mark.parametrize(
    "options",
    [{}, {"min_count": 3, "ngrams": (1, 2), "sublinear": True}, {"hash_bits": 10}],
    ids=["words", "pairs", "hashes"],
)
def test_parts_know_the_words_of_the_whole(tmp_path, options):
    rng = np.random.default_rng(3)
    words = np.array(["rain", "sun", "fog", "snow", "hail", "föhn", "mist", "ice"])
    drawn = [rng.choice(words, 1 + k % 5, p=np.arange(1, 9) / 36) for k in range(300)]
    texts = [None if k == 7 else " ".join(some) for k, some in enumerate(drawn)]
    labels = ["wet" if {"rain", "hail", "mist"} & {*some} else "dry" for some in drawn]
    whole = pa.table({"t": texts, "b": rng.random(300), "y": labels})
    (one,) = files_in(tmp_path, whole, "parquet", 1)
    given = {"text": ["t"], **options}
    alone = svmcut.train(one, label="y", gap=1e-3, **given)
    found = trained(files_in(tmp_path, whole), options=given | {"drop": None})
    mine, other = (
        next(column for column in one.model.table.columns if column.name == "t")
        for one in (found, alone)
    )
    assert mine.terms == other.terms and mine.df.tolist() == other.df.tolist()
    assert (mine.rows, mine.idf, mine.ngrams) == (other.rows, other.idf, other.ngrams)
    assert (mine.hash_bits, mine.width) == (other.hash_bits, other.width)
    assert found.dual <= alone.primal and alone.dual <= found.primal
