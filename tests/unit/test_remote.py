# SPDX-License-Identifier: BSD-3-Clause
"""Files by URL: read, written, matched and refused, without a network."""

import builtins
import sys
from pathlib import Path

import numpy as np
import pytest
from parted import lines, written
from programs import call

import svmcut
from svmcut.base.errors import CheckpointError, DataError, OutputError, UsageError
from svmcut.files import remote
from svmcut.files.checkpoints import Generations, hold_lock, read_checkpoint, write_checkpoint
from svmcut.files.output import File, check_roles, write_atomically

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def store():
    """The files of memory://, none at first and none in the end."""
    found = fsspec.filesystem("memory")
    yield found
    found.store.clear()
    found.pseudo_dirs[:] = [""]


def sent(store, paths):
    """Copies files to memory://data and gives their names there."""
    for path in paths:
        store.pipe(f"/data/{path.rpartition('/')[2]}", Path(path).read_bytes())
    return [f"memory:///data/{path.rpartition('/')[2]}" for path in paths]


def test_rows_models_reports_and_predictions_go_by_url(store, tmp_path, capsys):
    paths = written(tmp_path, lines(), 3)
    sent(store, paths)
    pattern, there = "memory://data/part-*.dat", "memory://out/"
    assert call("svmcut learn", tmp_path / "part-*.dat", tmp_path / "model") == 0
    line = ("svmcut learn", pattern, there + "model", "--report", there + "report")
    assert call(*line, "--trace", there + "trace") == 0, capsys.readouterr().err
    assert store.cat("/out/model") == (tmp_path / "model").read_bytes()
    assert b'"primal"' in store.cat("/out/report") and store.cat("/out/trace").count(b"\n") > 1
    assert call("svmcut classify", paths[0], tmp_path / "model", tmp_path / "scores") == 0
    one = "memory://data/part-0.dat"
    assert call("svmcut classify", one, there + "model", there + "scores") == 0
    assert store.cat("/out/scores") == (tmp_path / "scores").read_bytes()
    assert call("svmcut inspect", there + "model") == 0
    outcome = svmcut.train(pattern, example_cost=1.0)
    outcome.save(there + "again")
    X = np.eye(svmcut.load(there + "again").model.w.size)
    scores = svmcut.load(there + "again").decision_function(X)
    assert scores == pytest.approx(outcome.decision_function(X), abs=1e-5)
    assert svmcut.load_svmlight_file(one)[0].shape[0] == len(
        Path(paths[0]).read_text().splitlines()
    )


def test_tables_and_packed_rows_by_url(store, tmp_path, capsys):
    import gzip
    import io

    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"a": [1.0, 2.0, -1.0, -2.0] * 5, "y": ["up", "up", "down", "down"] * 5})
    file = io.BytesIO()
    parquet.write_table(table, file)
    store.pipe("/t.parquet", file.getvalue())
    store.pipe(
        "/t.csv",
        b"a,y\n"
        + b"".join(b"%g,%s\n" % (row["a"], row["y"].encode()) for row in table.to_pylist()),
    )
    rows = "".join(lines(30)).encode()
    store.pipe("/rows.svm.gz", gzip.compress(rows))
    for name in ("t.parquet", "t.csv"):
        assert call("svmcut learn", f"memory://{name}", "--label", "y", "memory://model") == 0
        assert b"up" in store.cat("/model"), capsys.readouterr().err
    _, y = svmcut.load_svmlight_file("memory://rows.svm.gz")
    assert len(y) == 30


def test_a_checkpoint_by_url_and_the_one_before(store, tmp_path):
    url = "memory://run/checkpoint"
    owner = Generations(url)
    for value in (1, 2, 3):
        write_checkpoint(url, {}, {"n": value})
        owner.own_newest()
    assert read_checkpoint(url)[1] == {"n": 3} and read_checkpoint(url + ".1")[1] == {"n": 2}
    store.pipe("/run/checkpoint", store.cat("/run/checkpoint")[:-1])
    assert read_checkpoint(url)[1] == {"n": 2}
    with hold_lock(url) as warning:
        assert warning is None
    owner.remove()
    assert sorted(store.store) == ["/run/checkpoint"]  # damaged, so no more this run's
    store.pipe("/run/checkpoint", b"else")
    with pytest.raises(CheckpointError, match="memory://run/checkpoint: is no checkpoint of"):
        write_checkpoint(url, {}, {"n": 4})


def test_a_run_goes_on_from_a_checkpoint_by_url(store, tmp_path, capsys):
    (path,) = written(tmp_path, lines(), 0)
    rest = ("--solver", "cutting-plane", "--gap", "0.01", path, tmp_path / "model")
    line = ("svmcut learn", "--checkpoint", "memory://run/c", "--checkpoint-every", "0", *rest)
    assert call("svmcut learn", *rest) == 0
    whole = (tmp_path / "model").read_bytes()
    assert call(*line, "--max-iterations", "3") == 3 and "/run/c" in store.store
    assert "holds an unfinished run" not in capsys.readouterr().err
    assert call(*line, "--resume") == 0, capsys.readouterr().err
    assert (tmp_path / "model").read_bytes() == whole and not store.find("/run")


def test_kept_rows_of_a_url_are_those_of_its_state(store, tmp_path):
    (url,) = sent(store, written(tmp_path, lines(50), 1))
    cache = tmp_path / "kept"
    first = svmcut.train(url, example_cost=1.0, cache=str(cache))
    (folder,) = cache.iterdir()
    assert svmcut.train(url, example_cost=1.0, cache=str(cache)).primal == first.primal
    assert list(cache.iterdir()) == [folder]
    sent(store, written(tmp_path, lines(50)[:30], 1))
    svmcut.train(url, example_cost=1.0, cache=str(cache))
    (other,) = cache.iterdir()
    assert other != folder and other.name.split("-")[0] == folder.name.split("-")[0]
    with pytest.raises(UsageError, match=r"'cache' is a folder of a disk.*memory://kept is none"):
        svmcut.train(url, example_cost=1.0, cache="memory://kept")


def test_file_urls_are_files(tmp_path):
    (path,) = written(tmp_path, lines(30), 0)
    svmcut.train(f"file://{path}", example_cost=1.0).save(f"file://{tmp_path}/model")
    assert (tmp_path / "model").exists() and svmcut.load(f"file://{tmp_path}/model")
    with pytest.raises(UsageError, match="are the same file"):
        check_roles([File("A", path)], [File("B", f"file://{path}")])
    with pytest.raises(UsageError, match="are the same file"):
        check_roles([File("A", "memory://x")], [File("B", "memory://x")])


@pytest.mark.parametrize(
    "url, error, text",
    [
        ("nowhere://a/b", UsageError, "'nowhere' is no kind of URL that is known; expected one of"),
        ("oci://a/b", UsageError, "oci:// needs a Python package .*: pip install ocifs"),
        ("memory://none", DataError, "memory://none: No such file or directory"),
        ("memory://none-*", DataError, "no file fits this pattern"),
    ],
)
def test_what_cannot_be_read_is_told(store, url, error, text):
    with pytest.raises(error, match=text):
        svmcut.train(url, example_cost=1.0)


@pytest.mark.parametrize(
    "url, text",
    [
        ("https://host/model", "https:// is read only; write to a file or to a store of objects"),
        ("local:///none/at/all", "there is no folder /none/at"),
        ("memory://", "is no file name"),
    ],
)
def test_what_cannot_be_written_is_told_before_training(tmp_path, url, text, capsys):
    (path,) = written(tmp_path, lines(30), 0)
    assert call("svmcut learn", path, url) == 1
    assert f"{url}: cannot be written: {text}" in capsys.readouterr().err


def test_nothing_is_sent_of_a_run_that_fails(store, monkeypatch):
    store.pipe("/model", b"before")
    with pytest.raises(ZeroDivisionError), write_atomically("memory://model") as output:
        output.write(b"half")
        _ = 1 / 0
    assert store.cat("/model") == b"before"

    def refuse(*given, **more):
        raise RuntimeError("no\ncredentials")

    monkeypatch.setattr(type(store), "put_file", refuse)
    told = "memory://model: cannot be written: no credentials"
    with pytest.raises(OutputError, match=told), write_atomically("memory://model") as output:
        output.write(b"all")


def test_without_fsspec_the_line_to_type_is_told(monkeypatch):
    plain = builtins.__import__

    def without(name, *rest):
        if name.startswith("fsspec"):
            raise ImportError(name)
        return plain(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match="not here; install it with: pip install fsspec s3fs"):
        remote.open_file("s3://bucket/name")


def test_signs_of_patterns_and_letters_of_drives():
    assert remote.is_pattern("s3://b/x?.svm") and not remote.is_pattern("https://h/x?a=1")
    assert remote.is_url("s3://b/x") and not remote.is_url("C:/x") and not remote.is_url("a/b")
    assert "fsspec" in sys.modules
