# SPDX-License-Identifier: BSD-3-Clause
"""Rows kept as arrays: what is read is what the text says, and a folder is whole or not there."""

import json
import multiprocessing
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from parted import lines, written
from programs import call

import svmcut
from svmcut.base.errors import DataError, OutputError, UsageError
from svmcut.files.cache import _checksum, _hash_metadata, read_files
from svmcut.files.examples import read_examples
from svmcut.tasks.protocol import make_task

read_named = partial(make_task("classification").read, costs=True)
FIELDS = ("y", "qid", "weights")


def same(a, b):
    """Whether all arrays, and the lines of all rows, are equal."""
    names = ("n_features", "data", "indices", "indptr")
    X = all(np.array_equal(getattr(a.X, name), getattr(b.X, name)) for name in names)
    others = [(getattr(a, name), getattr(b, name)) for name in FIELDS]
    values = all((x is None) == (y is None) and (x is None or (x == y).all()) for x, y in others)
    rows = np.arange(len(a))
    return X and values and (a.source.lines_of(rows) == b.source.lines_of(rows)).all()


@pytest.fixture
def text():
    """Lines with comments between them."""
    found = lines(task="rank", cost=True)
    return [
        line
        for k, line in enumerate(found)
        for line in (["# a comment\n", "\n"] if k % 70 == 3 else []) + [line]
    ]


def test_a_kept_file_is_the_file(tmp_path, text):
    (path,) = written(tmp_path, text, 0)
    cache = str(tmp_path / "cache")
    plain, first, second = read_examples(path), *(read_named(path, cache=cache) for _ in range(2))
    assert same(plain, first) and same(plain, second) and not second.X.data.flags.writeable
    (entry,) = os.listdir(cache)
    assert "qid" in os.listdir(os.path.join(cache, entry))


def test_files_one_behind_the_other(tmp_path, text):
    (whole,) = written(tmp_path, text, 0)
    paths = written(tmp_path, text, 3)
    plain = read_examples(whole)
    for cache in (None, str(tmp_path / "cache")):
        assert same(plain, read_files("all", paths, cache=cache))
    assert same(plain, read_named(str(tmp_path / "part-?.dat")))


def test_files_with_and_without_queries(tmp_path):
    for name, content in (("a", "1 qid:3 2:1\n"), ("b", "-1 1:1\n"), ("c", "1 cost:2 4:1\n")):
        (tmp_path / name).write_text(content)
    for cache in (None, str(tmp_path / "cache")):
        found = read_named(str(tmp_path / "[abc]"), cache=cache)
        assert (
            found.qid.tolist() == [3, 0, 0]
            and found.weights.tolist() == [1, 1, 2]
            and found.X.n_features == 4
        )


def test_models_have_the_bytes_of_the_text(tmp_path, capsys):
    text, model, other = lines(), tmp_path / "model", tmp_path / "other"
    (whole,) = written(tmp_path, text, 0)
    written(tmp_path, text, 3)
    for solver in ("auto", "cutting-plane", "newton"):
        assert call("svmcut learn", "-v", "0", "--solver", solver, whole, model) == 0
        for _ in range(2):
            line = ("--cache", tmp_path / "cache", tmp_path / "part-*.dat", other)
            assert call("svmcut learn", "-v", "0", "--solver", solver, *line) == 0
            assert other.read_bytes() == model.read_bytes()
    found = svmcut.train(str(tmp_path / "part-*.dat"), cache=str(tmp_path / "cache"), gap=0.01)
    assert found.converged and len(os.listdir(tmp_path / "cache")) == 1
    assert capsys.readouterr().err == ""


def test_text_that_changed_is_read_again(tmp_path):
    (path,) = written(tmp_path, lines(50), 0)
    cache = str(tmp_path / "cache")
    before = read_named(path, cache=cache)
    with open(path, "a") as file:
        file.write("1 3:1\n")
    after = read_named(path, cache=cache)
    assert (
        len(after) == len(before) + 1 == 51
        and len(os.listdir(cache)) == 1
        and before.X.data.sum() != 0
    )
    os.utime(path, ns=(0, 0))
    assert len(read_named(path, cache=cache)) == 51 and len(os.listdir(cache)) == 1


@pytest.mark.parametrize(
    "array, damage",
    [
        ("indices", lambda values: values.__setitem__(5, 99)),
        ("indices", lambda values: values.__setitem__(5, -1)),
        ("indptr", lambda values: values.__setitem__(5, 10**9)),
        ("indptr", lambda values: values.__setitem__(-1, 3)),
    ],
)
def test_damage_never_reaches_the_compiled_side(tmp_path, array, damage):
    (path,) = written(tmp_path, lines(50), 0)
    cache = str(tmp_path / "cache")
    read_named(path, cache=cache)
    (entry,) = os.listdir(cache)
    os.chmod(os.path.join(cache, entry, array), 0o644)
    damage(
        np.memmap(
            os.path.join(cache, entry, array), np.int32 if array == "indices" else np.int64, "r+"
        )
    )
    with pytest.raises(DataError, match="these kept rows are damaged; remove the folder"):
        read_named(path, cache=cache)


@pytest.mark.parametrize(
    "array", ["data", "y", "qid", "weights", "indices", "indptr", "skips", "rows.json"]
)
def test_a_flipped_bit_is_found(tmp_path, text, array):
    (path,) = written(tmp_path, text, 0)
    cache = str(tmp_path / "cache")
    before = read_named(path, cache=cache)
    (entry,) = os.listdir(cache)
    place = tmp_path / "cache" / entry / array
    kept = place.read_bytes()
    assert same(before, read_named(path, cache=cache)) and (
        array == "rows.json" or place.stat().st_mode & 0o222 == 0
    )
    for at in (0, len(kept) // 2, len(kept) - 1):
        for bit in (1, 4):
            os.chmod(place, 0o644)
            place.write_bytes(kept[:at] + bytes([kept[at] ^ bit]) + kept[at + 1 :])
            with pytest.raises(DataError, match="these kept rows are damaged; remove the folder"):
                read_named(path, cache=cache)
    for damaged in (kept[:-8], kept + kept[-8:]):
        place.write_bytes(damaged)
        with pytest.raises(DataError, match="these kept rows are damaged; remove the folder"):
            read_named(path, cache=cache)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("field", "place", "value"),
    [
        *(("data", 7, value) for value in (np.nan, np.inf)),
        *(("y", 3, value) for value in (np.nan, -np.inf)),
        *(("weights", 2, value) for value in (np.nan, -1.0)),
        *(("indices", place, value) for place in (0, 5, -1) for value in (-1, 1 << 30)),
        ("indices", 1, 0),  # as the one before
        ("indptr", 4, 1 << 40),
        ("qid", 0, -4),
        ("skips", 0, -4),
    ],
)
@pytest.mark.parametrize("block", [3, 1 << 20])
def test_sealed_rows_are_what_training_assumes(
    tmp_path, text, monkeypatch, field, place, value, block
):
    monkeypatch.setattr("svmcut.files.cache._BLOCK", block)
    (path,) = written(tmp_path, text, 0)
    cache = tmp_path / "cache"
    sound = read_named(path, cache=str(cache))
    assert len(sound) and sound.X.nnz > 100
    (folder,) = cache.iterdir()
    about = json.loads((folder / "rows.json").read_text())
    (folder / field).chmod(0o644)
    kept = {"data": sound.X.data, "indices": sound.X.indices, "indptr": sound.X.indptr}
    array = kept.get(field, getattr(sound, field, sound.source.skips.ravel())).copy()
    array[place] = value
    array.tofile(folder / field)
    about["checksums"][field] = _checksum(array)
    del about["checksum"]
    (folder / "rows.json").write_text(json.dumps({**about, "checksum": _hash_metadata(about)}))
    with pytest.raises(DataError, match="these kept rows are damaged; remove the folder"):
        read_named(path, cache=str(cache))


def test_words_and_blocks_that_change_places_change_the_checksum():
    words = np.arange(3 << 17, dtype=np.int64)
    known = {_checksum(words), _checksum(np.roll(words, 1 << 17)), _checksum(words[:-1])}
    one, two = words.copy(), words.astype(np.int32)
    one[[7, 9]] += [1, -1]
    assert len(known | {_checksum(one), _checksum(two), _checksum(two[:-1])}) == 6


def test_other_text_of_the_same_size_and_time_is_read(tmp_path):
    one, cache = tmp_path / "train.dat", str(tmp_path / "cache")
    one.write_text("1 1:1\n-1 1:2\n")
    time = one.stat().st_mtime_ns
    assert read_named(str(one), cache=cache).X.data.tolist() == [1, 2]
    one.write_text("1 1:3\n-1 1:4\n")
    os.utime(one, ns=(time, time))
    assert read_named(str(one), cache=cache).X.data.tolist() == [3, 4]
    other = tmp_path / "other"
    other.write_text("1 1:5\n-1 1:6\n")
    os.utime(other, ns=(time, time))
    os.replace(other, one)
    assert (
        read_named(str(one), cache=cache).X.data.tolist() == [5, 6] and len(os.listdir(cache)) == 1
    )


def test_a_failure_leaves_nothing(tmp_path):
    (path,) = written(tmp_path, lines(50), 0)
    cache = str(tmp_path / "cache")
    with open(path, "a") as file:
        file.write("1 3:x\n")
    with pytest.raises(DataError, match=r"part.dat:51:5: "):
        read_named(path, cache=cache)
    assert os.listdir(cache) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="rows cannot be kept there"):
        read_named(path, cache=str(tmp_path / "file" / "cache"))
    with pytest.raises(UsageError, match="standard input is read once"):
        read_named("-", cache=cache)
    with pytest.raises(DataError, match="is no regular file, and its rows cannot be kept"):
        read_named("/dev/null", cache=cache)


def _sum(given):
    return float(read_named(*given[:1], cache=given[1]).X.data.sum())


def test_many_jobs_at_once(tmp_path):
    (path,) = written(tmp_path, lines(), 0)
    cache, right = str(tmp_path / "cache"), float(read_examples(path).X.data.sum())
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert pool.map(_sum, [(path, cache)] * 12, chunksize=1) == [right] * 12
    assert len(os.listdir(cache)) == 1


@pytest.mark.slow
def test_rows_larger_than_memory(tmp_path):
    """The same bytes under a limit of memory that is not mapped far below that of the rows, which
    are 144 MB."""
    rng = np.random.default_rng(1)
    path = tmp_path / "train.dat"
    w, some = rng.normal(size=300), []
    for x in rng.normal(size=(500, 300)).round(2):
        some.append(
            f"{1 if x @ w > 0 else -1} " + " ".join(f"{j + 1}:{x[j]}" for j in range(300)) + "\n"
        )
    path.write_text("".join(some[k] for k in rng.integers(0, 500, 60_000)))
    line = ["learn", "-v", "0", "--solver", "cutting-plane", "--threads", "1", "--gap", "0.1"]
    assert call("svmcut", *line, path, tmp_path / "model") == 0
    code = """
import resource, sys
from svmcut.cli.start import main
resource.setrlimit(resource.RLIMIT_DATA, (120_000_000, 120_000_000))
sys.exit(main(sys.argv[1:]))
"""
    for _ in range(2):
        words = [*line, "--cache", tmp_path / "cache", path, tmp_path / "other"]
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "other").read_bytes() == (tmp_path / "model").read_bytes()
    words = [sys.executable, "-c", code, *map(str, [*line, path, tmp_path / "none"])]
    assert subprocess.run(words, capture_output=True).returncode == 1
